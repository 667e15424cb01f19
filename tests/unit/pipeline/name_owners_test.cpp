// SPDX-License-Identifier: Apache-2.0
// Who may know which name: what /proc says, what it says no more, and how much is looked up.
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "pipeline/name_owners.h"
#include "unit/system/proc_scene.h"

using namespace noised;
using namespace noised::pipeline;
using noised::test::ProcScene;
using noised::test::stat_text;

namespace {

constexpr uid_t kStranger = 60'001;
constexpr std::uint32_t kKernelThread = 0x200000 | 0x20;  // a workqueue's worker

class OwnedScene {
 public:
  /// A user's task, or one of the kernel's.
  void task(std::uint32_t pid, const std::string& comm, uid_t user, std::uint32_t flags = 0x400000) const {
    proc_.directory().write("proc/" + std::to_string(pid) + "/stat", stat_text(pid, comm, 'S', 1, flags));
    if (user != ::getuid()) REQUIRE(::chown((proc_.proc() + "/" + std::to_string(pid)).c_str(), user, user) == 0);
  }
  void remove(std::uint32_t pid) const { proc_.remove(pid); }
  void note(const std::string& name, std::uint32_t pid) { owners.note(sources_.intern(Kind::task, name), name, pid); }

  CategoryChoices chosen{{"task:agent", Category::io}};
  SourceTable sources_{chosen};

 private:
  mutable ProcScene proc_;

 public:
  NameOwners owners{sources_.chosen(), proc_.proc()};
};

}  // namespace

TEST_CASE("a name is told to those whose tasks have it", "[pipeline]") {
  OwnedScene scene;
  const uid_t user = ::getuid();
  scene.task(10, "payroll", user);
  CHECK_FALSE(scene.owners.may_know("payroll", user));  // nobody was seen to have it
  scene.note("payroll", 10);
  CHECK(scene.owners.may_know("payroll", user));
  CHECK(scene.owners.may_know_now("payroll", user));
  CHECK_FALSE(scene.owners.may_know("payroll", kStranger));
  CHECK_FALSE(scene.owners.may_know_now("payroll", kStranger));
  scene.owners.add("payroll", kStranger);
  CHECK(scene.owners.may_know("payroll", kStranger));
  CHECK_FALSE(scene.owners.may_know("payrol", kStranger));
}

TEST_CASE("a pid that another task has now says nothing of the name before", "[pipeline]") {
  OwnedScene scene;
  const uid_t user = ::getuid();
  scene.task(10, "later", user);
  scene.note("payroll", 10);
  scene.note("ended", 11);
  CHECK_FALSE(scene.owners.may_know("payroll", user));
  CHECK_FALSE(scene.owners.may_know("ended", user));
  CHECK_FALSE(scene.owners.may_know("later", user));
}

TEST_CASE("a name that stands for many is that of each", "[pipeline]") {
  OwnedScene scene;
  scene.task(10, "worker-4711", ::getuid());
  scene.note("worker-*", 10);
  scene.task(11, "kworker/3:1-events", ::getuid(), kKernelThread);
  scene.note("kworker/3:*", 11);
  CHECK(scene.owners.may_know("worker-*", ::getuid()));
  CHECK_FALSE(scene.owners.may_know("worker-*", kStranger));
  CHECK(scene.owners.may_know("kworker/3:*", kStranger));
}

TEST_CASE("names of the kernel, of noised and of the configuration are everybody's", "[pipeline]") {
  OwnedScene scene;
  for (const char* const name :
       {"noised", "noised/http", "noisectl", "other", "leaving idle state", "swapper/3", "agent"}) {
    INFO(name);
    CHECK(scene.owners.may_know(name, kStranger));
    CHECK(scene.owners.may_know_now(name, kStranger));
  }
  scene.owners.note("kworker/1:0", 0);
  CHECK_FALSE(scene.owners.may_know("kworker/1:0", kStranger));
  scene.task(12, "kworker/1:0", ::getuid(), kKernelThread);
  scene.owners.note("kworker/1:0", 12);  // as a waker, by the name that the kernel has
  CHECK(scene.owners.may_know("kworker/1:0", kStranger));
}

TEST_CASE("in a drain so many tasks are looked up, and the others in the next", "[pipeline]") {
  OwnedScene scene;
  const uid_t user = ::getuid();
  const std::uint32_t count = NameOwners::kLooksPerDrain + 5;
  const auto name_of = [](std::uint32_t task) {
    return "t" + std::string(task, 'x').substr(0, 2) + std::to_string(task);
  };
  const auto known = [&] {
    std::uint32_t number = 0;
    for (std::uint32_t task = 0; task < count; ++task) number += scene.owners.may_know(name_of(task), user) ? 1 : 0;
    return number;
  };
  const auto note_all = [&] {
    scene.owners.begin_drain();
    for (std::uint32_t task = 0; task < count; ++task) scene.note(name_of(task), 100 + task);
  };
  for (std::uint32_t task = 0; task < count; ++task) scene.task(100 + task, name_of(task), user);
  note_all();
  CHECK(known() == NameOwners::kLooksPerDrain);
  note_all();
  CHECK(known() == count);
}

TEST_CASE("names without end are forgotten, and noted again", "[pipeline]") {
  OwnedScene scene;
  const uid_t user = ::getuid();
  scene.task(10, "steady", user);
  scene.note("steady", 10);
  REQUIRE(scene.owners.may_know("steady", user));
  int made = 0;
  while (scene.owners.may_know("steady", user) && made < 100'000) scene.owners.add("n" + std::to_string(made++), user);
  CHECK(made < 10'000);
  scene.note("steady", 10);
  CHECK(scene.owners.may_know("steady", user));
}
