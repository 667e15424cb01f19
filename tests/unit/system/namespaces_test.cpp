// SPDX-License-Identifier: Apache-2.0
// Whose pids and whose clock: by the files of a made-up /proc.
#include "system/namespaces.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::system;

namespace {

struct Scene {
  Scene() {
    std::filesystem::create_directories(directory.path("self/ns"));
    std::filesystem::create_directories(directory.path("12"));
    pids("pid:[4026531836]");
    write("self/timens_offsets", "monotonic           0         0\nboottime            0         0\n");
    write("12/timens_offsets", "monotonic           0         0\nboottime            0         0\n");
    write("12/status", "Name:\tnoisectl\nPid:\t12\nNSpid:\t12\nThreads:\t1\n");
  }
  void pids(const char* link) {
    std::filesystem::remove(directory.path("self/ns/pid"));
    REQUIRE(symlink(link, directory.path("self/ns/pid").c_str()) == 0);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(directory.path(name)) << text; }
  [[nodiscard]] std::string proc() const { return directory.path(""); }

  test::TemporaryDirectory directory;
};

}  // namespace

TEST_CASE("the daemon starts where the kernel's pids and clock are its own", "[system]") {
  Scene scene;
  CHECK(check_namespaces(scene.proc()));
  SECTION("boot time may be shifted") {
    scene.write("self/timens_offsets", "monotonic 0 0\nboottime 5 0\n");
    CHECK(check_namespaces(scene.proc()));
  }
  SECTION("an old kernel has neither file") {
    std::filesystem::remove_all(scene.directory.path("self"));
    CHECK(check_namespaces(scene.proc()));
  }
  SECTION("a PID namespace of its own") {
    scene.pids("pid:[4026532999]");
    const Status checked = check_namespaces(scene.proc());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().what.starts_with("this PID namespace is not the kernel's first"));
  }
  SECTION("a shifted clock") {
    scene.write("self/timens_offsets", "monotonic 0 -7\nboottime 0 0\n");
    const Status checked = check_namespaces(scene.proc());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().what.starts_with("this time namespace shifts CLOCK_MONOTONIC"));
  }
}

TEST_CASE("a client's pids and clock are the daemon's, or it is refused", "[system]") {
  Scene scene;
  CHECK(check_client(12, true, scene.proc()));
  CHECK(check_client(13, true, scene.proc()));  // ended, or hidden
  SECTION("pids of a container") {
    scene.write("12/status", "Name:\tnoisectl\nPid:\t12\nNSpid:\t12\t3\nThreads:\t1\n");
    const Status checked = check_client(12, true, scene.proc());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().what == "pids of another PID namespace than noised's mean other tasks here");
    CHECK(check_client(12, false, scene.proc()));
  }
  SECTION("a shifted clock") {
    scene.write("12/timens_offsets", "monotonic 3600 0\nboottime 0 0\n");
    CHECK_FALSE(check_client(12, false, scene.proc()));
  }
}

TEST_CASE("where the first process cannot be seen, /proc hides tasks", "[system]") {
  Scene scene;
  CHECK(proc_hides_tasks(scene.proc()));
  std::filesystem::create_directories(scene.directory.path("1"));
  scene.write("1/stat", "1 (init) S 0\n");
  CHECK_FALSE(proc_hides_tasks(scene.proc()));
}
