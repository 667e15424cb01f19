// SPDX-License-Identifier: Apache-2.0
// Selections by cgroup: version 2, version 1, both, and Slurm's trees on each.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "system/cgroup_trees.h"
#include "system/task_selection.h"
#include "unit/system/proc_scene.h"

using namespace noised;
using namespace noised::system;
using test::ProcScene;
using Pids = std::vector<std::uint32_t>;

namespace {

Selection by_cgroup(const std::string& path) { return make_selection({}, {}, path).value(); }

Pids threads_of(const ProcScene& scene, const std::string& path) {
  return TaskSelector(scene.proc()).threads(by_cgroup(path)).value();
}

std::string settled(const ProcScene& scene, const std::string& path) {
  return TaskSelector(scene.proc()).settle(by_cgroup(path)).value().text;
}

void add_ranks(const ProcScene& scene) {
  scene.add({.pid = 10, .name = "slurmstepd"});
  scene.add({.pid = 12, .parent = 10, .other_threads = {13, 14}});
  scene.add({.pid = 20, .parent = 10});
}

const std::string kJob = "/slurm/uid_1000/job_42";
const std::string kTask = kJob + "/step_0/task_0";

}  // namespace

TEST_CASE("version 2: a service and what is below it", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.mount_cgroup2();
  scene.list("/sys/fs/cgroup/system.slice/x.service/cgroup.threads", {12, 13});
  scene.list("/sys/fs/cgroup/system.slice/x.service/payload/cgroup.threads", {14, 0, 99});
  scene.list("/sys/fs/cgroup/system.slice/x.service2/cgroup.threads", {20});
  for (const char* path : {"/system.slice/x.service", "/system.slice/x.service/", "//system.slice/./x.service"})
    CHECK(threads_of(scene, path) == Pids{12, 13, 14});
  CHECK(threads_of(scene, scene.path("/sys/fs/cgroup/system.slice/x.service")) == Pids{12, 13, 14});
  CHECK(threads_of(scene, scene.path("/sys/fs/cgroup/system.slice/x.service/")) == Pids{12, 13, 14});
  CHECK(settled(scene, scene.path("/sys/fs/cgroup/system.slice/x.service/")) == "/system.slice/x.service");
  CHECK(threads_of(scene, "/system.slice") == Pids{12, 13, 14, 20});
  CHECK(threads_of(scene, "/") == Pids{12, 13, 14, 20});
  CHECK(settled(scene, scene.path("/sys/fs/cgroup")) == "/");
  CHECK(TaskSelector(scene.proc()).tasks(by_cgroup("/system.slice/x.service/payload")).value() ==
        std::vector<ChosenTask>{{14, 12}});
}

TEST_CASE("version 2 without cgroup.threads: processes with their threads", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.mount_cgroup2();
  scene.list("/sys/fs/cgroup/a/cgroup.procs", {12, 12, 99});
  CHECK(threads_of(scene, "/a") == Pids{12, 13, 14});
}

TEST_CASE("version 2: Slurm's job, its steps and its tasks", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.mount_cgroup2();
  const std::string job = "/system.slice/slurmstepd.scope/job_42";
  for (const std::string& empty : {job, job + "/step_0", job + "/step_0/user"})
    scene.list("/sys/fs/cgroup" + empty + "/cgroup.threads", {});
  scene.list("/sys/fs/cgroup" + job + "/step_0/slurm/cgroup.threads", {10});
  scene.list("/sys/fs/cgroup" + job + "/step_0/user/task_0/cgroup.threads", {12, 13, 14});
  scene.list("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_4/step_0/user/task_0/cgroup.threads", {20});
  CHECK(threads_of(scene, job) == Pids{10, 12, 13, 14});
  CHECK(threads_of(scene, job + "/step_0/user/task_0") == Pids{12, 13, 14});
  CHECK(threads_of(scene, "/system.slice/slurmstepd.scope/job_4") == Pids{20});
  CHECK(describe(TaskSelector(scene.proc()).settle(by_cgroup(scene.path("/sys/fs/cgroup" + job))).value()) ==
        "cgroup " + job);
}

TEST_CASE("version 1: Slurm's job in all of its hierarchies", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.mount_cgroup1({"freezer", "cpuset", "memory", "systemd"});
  scene.list("/sys/fs/cgroup/freezer" + kTask + "/tasks", {12, 13, 14});
  scene.list("/sys/fs/cgroup/cpuset" + kTask + "/tasks", {12, 13});
  scene.list("/sys/fs/cgroup/memory" + kTask + "/tasks", {12});
  scene.list("/sys/fs/cgroup/memory" + kJob + "/step_0/tasks", {10});
  scene.list("/sys/fs/cgroup/systemd/system.slice/slurmd.service/tasks", {10, 12, 13, 14, 20});
  CHECK(threads_of(scene, kJob) == Pids{10, 12, 13, 14});
  CHECK(threads_of(scene, kTask) == Pids{12, 13, 14});
  for (const char* controller : {"freezer", "cpuset", "memory"}) {
    const std::string path = scene.path(std::string("/sys/fs/cgroup/") + controller + kJob + "/");
    CHECK(settled(scene, path) == kJob);
    CHECK(threads_of(scene, path) == Pids{10, 12, 13, 14});
  }
}

TEST_CASE("version 1: a link to where two controllers are together", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.mount_cgroup1({"cpu,cpuacct"});
  scene.list("/sys/fs/cgroup/cpu,cpuacct/a/tasks", {20});
  std::filesystem::create_directory_symlink("cpu,cpuacct", scene.path("/sys/fs/cgroup/cpu"));
  CHECK(settled(scene, scene.path("/sys/fs/cgroup/cpu/a")) == "/a");
  CHECK(threads_of(scene, scene.path("/sys/fs/cgroup/cpu/a")) == Pids{20});
}

TEST_CASE("both versions beside each other", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.mount_cgroup1({"memory"});
  scene.mount_cgroup2("/sys/fs/cgroup/unified");
  scene.list("/sys/fs/cgroup/memory/system.slice/x.service/tasks", {20});
  scene.list("/sys/fs/cgroup/unified/system.slice/x.service/cgroup.threads", {12, 20});
  scene.list("/sys/fs/cgroup/unified/only/cgroup.threads", {13});
  CHECK(threads_of(scene, "/system.slice/x.service") == Pids{12, 20});
  CHECK(threads_of(scene, scene.path("/sys/fs/cgroup/unified/system.slice/x.service")) == Pids{12, 20});
  CHECK(threads_of(scene, scene.path("/sys/fs/cgroup/unified/only")) == Pids{13});
  CHECK(threads_of(scene, "/only") == Pids{13});
}

TEST_CASE("mounts of a part of a hierarchy, and more than one of the same", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.add_mount("/sys/fs/cgroup/memory", "cgroup", "/docker/abc");
  scene.list("/sys/fs/cgroup/memory/job/tasks", {20});
  CHECK(threads_of(scene, "/docker/abc/job") == Pids{20});
  CHECK(threads_of(scene, "/docker/abc") == Pids{20});
  CHECK(settled(scene, scene.path("/sys/fs/cgroup/memory/job")) == "/docker/abc/job");
  CHECK_FALSE(TaskSelector(scene.proc()).threads(by_cgroup("/job")));
  CHECK_FALSE(TaskSelector(scene.proc()).threads(by_cgroup("/docker")));

  const auto trees = parse_cgroup_trees(
      "30 1 0:9 / /a\\040b\\134 rw - cgroup2 none rw\n31 1 0:9 / /c rw shared:1 master:2 - cgroup2 none rw\n"
      "32 1 0:9 /.. /d rw - cgroup2 none rw\n33 1 0:7 / /e rw - cgroup2fs none rw\n34 1 0:8 / /f\\9 rw - cgroup none");
  REQUIRE(trees.size() == 3);
  CHECK(trees[0].mount == "/a b\\");
  CHECK(trees[1].mount == "/c");
  CHECK(trees[2].mount == "/f\\9");
  CHECK(trees[2].device == "0:8");
}

TEST_CASE("a cgroup that is none is told with how to find one", "[selection]") {
  ProcScene scene;
  const TaskSelector selector(scene.proc());
  CHECK_FALSE(selector.settle(by_cgroup("/a")));  // no mountinfo
  scene.add_mount("/mnt", "ext4", "/");
  CHECK(selector.settle(by_cgroup("/a")).error().what ==
        scene.proc() + "/self/mountinfo: no cgroup hierarchy is mounted");
  scene.mount_cgroup1({"memory", "pids"});
  scene.list("/sys/fs/cgroup/memory/a/tasks", {});
  const Error error = selector.settle(by_cgroup("/slurm/job_7")).error();
  CHECK(error.what == "cgroup '/slurm/job_7': in no hierarchy (" + scene.path("/sys/fs/cgroup/memory") + ", " +
                          scene.path("/sys/fs/cgroup/pids") + ")");
  CHECK(error.remedy.find("systemd-cgls") != std::string::npos);
  CHECK(error.remedy.find("scontrol") != std::string::npos);
  CHECK(error.code == ExitCode::failed);
  CHECK_FALSE(selector.settle(by_cgroup("/a/tasks")));  // a file
  CHECK_FALSE(selector.settle(by_cgroup(scene.path("/sys/fs/cgroup/memory/b"))));
  CHECK_FALSE(selector.settle(by_cgroup("/etc")));  // a directory, but no cgroup
}

TEST_CASE("a cgroup that is removed has no threads any more", "[selection]") {
  ProcScene scene;
  add_ranks(scene);
  scene.mount_cgroup2();
  scene.list("/sys/fs/cgroup/a/cgroup.threads", {20});
  const TaskSelector selector(scene.proc());
  const Selection selection = selector.settle(by_cgroup("/a")).value();
  CHECK(selector.threads(selection).value() == Pids{20});
  std::filesystem::remove_all(scene.path("/sys/fs/cgroup/a"));
  CHECK(selector.threads(selection).value().empty());
  CHECK_FALSE(selector.ended(selection));
}
