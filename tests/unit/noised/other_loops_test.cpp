// SPDX-License-Identifier: Apache-2.0
// Another noised is known by its name and by those of its threads.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "noised/other_loops.h"
#include "unit/system/proc_scene.h"

using namespace noised;
using namespace noised::daemon;
using noised::test::ProcScene;
using noised::test::SceneProcess;

TEST_CASE("loops of another noised are found on our CPUs, and nothing else is taken for one", "[noised]") {
  const ProcScene scene;
  const auto add = [&](const SceneProcess& process, const std::string& thread_name) {
    scene.add(process);
    for (const std::uint32_t thread : process.other_threads) scene.rename_thread(process, thread, thread_name);
  };
  add({.pid = 100, .name = "noised", .other_threads = {101}}, "noised/7");
  add({.pid = 200, .name = "noised", .other_threads = {201}}, "noised/http");
  add({.pid = 300, .name = "lmp", .other_threads = {301}}, "noised/3");
  add({.pid = 400, .name = "noised", .other_threads = {401}}, "noised/3");
  add({.pid = 500, .name = "noised", .other_threads = {501}}, "noised/12");
  add({.pid = static_cast<std::uint32_t>(::getpid()), .name = "noised", .other_threads = {601}}, "noised/1");
  const auto found = other_loops({1, 2, 3, 7}, scene.proc());
  REQUIRE(found.size() == 2);
  CHECK(found[0].cpu == 3);
  CHECK(found[0].process == 400);
  CHECK(found[1].cpu == 7);
  CHECK(found[1].process == 100);
  CHECK(other_loops({}, scene.proc()).empty());
  CHECK(other_loops({3}, "/nowhere").empty());
}
