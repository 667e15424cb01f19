// SPDX-License-Identifier: Apache-2.0
// Selections by pid and by name, in a /proc that was made up.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>

#include "base/files.h"
#include "system/task_selection.h"
#include "unit/system/proc_scene.h"

using namespace noised;
using namespace noised::system;
using test::ProcScene;
using Pids = std::vector<std::uint32_t>;

namespace {

Selection by_pids(Pids pids) { return {SelectBy::pids, std::move(pids), {}, false, {}}; }
Selection by_comm(const std::string& name) { return {SelectBy::comm, {}, name, false, {}}; }

// Without it, /proc hides processes.
void show_first(const ProcScene& scene) {
  std::filesystem::create_directories(scene.path("/proc/1"));
  std::ofstream(scene.path("/proc/1/stat")) << "1 (init) S 0";
}

Pids threads(const ProcScene& scene, const Selection& selection) {
  return TaskSelector(scene.proc()).threads(selection).value();
}

const test::SceneProcess kRank{.pid = 12, .other_threads = {13, 14}};

// A file that whoever reads it waits for: what happens between two reads of /proc, a test can decide.
class SlowStat {
 public:
  SlowStat(const ProcScene& scene, std::function<void(int)> meanwhile)
      : path_(scene.path("/proc/900/task/900/stat")), meanwhile_(std::move(meanwhile)) {
    scene.add({.pid = 900});
    make();
    server_ = std::thread([this] { serve(); });
  }
  SlowStat(const SlowStat&) = delete;
  SlowStat& operator=(const SlowStat&) = delete;
  ~SlowStat() {
    over_ = true;
    const Descriptor release(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    server_.join();
  }
  [[nodiscard]] int reads() const { return reads_; }

 private:
  void make() const {
    const std::string made = path_ + ".new";
    if (::mkfifo(made.c_str(), 0600) == 0) std::filesystem::rename(made, path_);
  }
  void serve() {
    for (;;) {
      const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));  // waits for a reader
      if (over_ || !file) return;
      make();  // for the next one
      meanwhile_(++reads_);
      (void)write_all(file.get(), test::stat_text(900, "slow", 'S', 1));
    }
  }

  std::string path_;
  std::function<void(int)> meanwhile_;
  std::atomic<bool> over_ = false;
  std::atomic<int> reads_ = 0;
  std::thread server_;
};

}  // namespace

TEST_CASE("a pid means its process, and all that comes of it", "[selection]") {
  const ProcScene scene;
  scene.add({.pid = 1, .parent = 0, .name = "init"});
  scene.add(kRank);
  scene.add({.pid = 40, .parent = 12, .name = "sh) S 1 (", .other_threads = {}});
  scene.add({.pid = 7, .parent = 40, .name = "sleep\n", .other_threads = {41}});
  scene.add({.pid = 50, .parent = 1});
  CHECK(threads(scene, by_pids({12})) == Pids{7, 12, 13, 14, 40, 41});
  CHECK(threads(scene, by_pids({14})) == Pids{7, 12, 13, 14, 40, 41});
  CHECK(threads(scene, by_pids({50, 7})) == Pids{7, 41, 50});
  CHECK(TaskSelector(scene.proc()).tasks(by_pids({7})).value() == std::vector<ChosenTask>{{7, 7}, {41, 7}});
  CHECK(threads(scene, {}) == Pids{1, 7, 12, 13, 14, 40, 41, 50});
}

TEST_CASE("a pid that is none is told at the first look only", "[selection]") {
  const ProcScene scene;
  show_first(scene);
  scene.add(kRank);
  scene.add({.pid = 40});
  const TaskSelector selector(scene.proc());
  CHECK(selector.threads(by_pids({12, 99})).error().line() ==
        "pid 99: no such process: ps -e lists those that there are");
  const Selection settled = selector.settle(by_pids({13, 12, 40})).value();
  CHECK(describe(settled) == "pid 12, 40");
  scene.remove(12);
  CHECK(selector.threads(settled).value() == Pids{40});
  scene.remove(40);
  CHECK(selector.threads(settled).value().empty());
}

TEST_CASE("a pid that comes to be another's is not chosen again", "[selection]") {
  const ProcScene scene;
  scene.add(kRank);
  const TaskSelector selector(scene.proc());
  const Selection settled = selector.settle(by_pids({12})).value();
  CHECK_FALSE(selector.ended(settled));
  scene.remove(12);
  scene.add({.pid = 12, .start = 99999});
  CHECK(selector.ended(settled));
  CHECK(selector.threads(settled).value().empty());
  CHECK(selector.settle(settled).value().starts == settled.starts);
  CHECK(selector.threads(by_pids({12})).value() == Pids{12});
}

TEST_CASE("processes have ended when none of their threads lives", "[selection]") {
  const ProcScene scene;
  scene.add(kRank);
  scene.add({.pid = 40, .state = 'Z'});
  const TaskSelector selector(scene.proc());
  CHECK_FALSE(selector.ended(by_pids({12})));
  CHECK_FALSE(selector.ended(by_pids({12, 40})));
  CHECK(selector.ended(by_pids({40})));
  CHECK(selector.ended(by_pids({99})));
  CHECK_FALSE(selector.ended(by_comm("nobody")));
  CHECK_FALSE(selector.ended({}));

  const Selection settled = selector.settle(by_pids({14})).value();
  scene.remove(14);  // a thread: its process goes on
  CHECK_FALSE(selector.ended(settled));
  test::SceneProcess dead = kRank;
  dead.state = 'Z';
  dead.other_threads = {};
  scene.add(dead);  // the first thread ended before the others
  CHECK_FALSE(selector.ended(settled));
  dead.other_threads = {13, 14};
  dead.state = 'X';
  scene.add(dead);
  CHECK(selector.ended(settled));
}

TEST_CASE("a name means the threads that have it, and the children of their processes", "[selection]") {
  const ProcScene scene;
  scene.add({.pid = 1, .parent = 0, .name = "init"});
  scene.add(kRank);
  scene.rename_thread(kRank, 13, "hwloc");
  scene.add({.pid = 20, .parent = 12, .name = "sh", .other_threads = {21}});
  scene.add({.pid = 30, .parent = 1, .name = "lmp2"});
  scene.add({.pid = 31, .parent = 1, .name = "a) S 1 (b\n"});
  CHECK(threads(scene, by_comm("lmp")) == Pids{12, 14, 20, 21});
  CHECK(threads(scene, by_comm("hwloc")) == Pids{13, 20, 21});
  CHECK(threads(scene, by_comm("a) S 1 (b\n")) == Pids{31});
  CHECK(threads(scene, by_comm("lm")).empty());
}

TEST_CASE("a process that /proc hides is told from one that is none", "[selection]") {
  const ProcScene scene;  // without the first process: it hides them
  const auto self = static_cast<std::uint32_t>(::getpid());
  CHECK(TaskSelector(scene.proc()).settle(by_pids({self})).error().what.find("hides this process") !=
        std::string::npos);
  CHECK(TaskSelector(scene.proc()).settle(by_pids({0x7fffffff})).error().what == "pid 2147483647: no such process");
  show_first(scene);
  CHECK(TaskSelector(scene.proc()).settle(by_pids({self})).error().what.ends_with(": no such process"));
  CHECK(exists(self));
  CHECK(exists(1));  // of another user, often
  CHECK_FALSE(exists(0x7fffffff));
}

TEST_CASE("what ends while it is read is left out", "[selection]") {
  const ProcScene scene;
  show_first(scene);
  scene.add(kRank);
  std::filesystem::create_directories(scene.path("/proc/20/task/20"));          // no stat any more
  std::filesystem::create_directories(scene.path("/proc/21/task/21/stat"));     // opens, and reading it fails
  std::filesystem::create_directories(scene.path("/proc/22"));                  // no task any more
  std::filesystem::create_directories(scene.path("/proc/12/task/15"));          // a thread that is half gone
  std::filesystem::create_directories(scene.path("/proc/99999999999/task/1"));  // no pid at all
  scene.add({.pid = 23, .parent = 12});
  std::ofstream(scene.path("/proc/23/task/23/stat")) << "23 (lmp) S";
  CHECK(threads(scene, by_comm("lmp")) == Pids{12, 13, 14});
  CHECK(threads(scene, by_pids({12})) == Pids{12, 13, 14, 15});
  CHECK(TaskSelector(scene.proc()).settle(by_pids({21})).error().what == "pid 21: no such process");
  CHECK(TaskSelector(scene.proc()).settle(by_pids({23})).error().what == "pid 23: no such process");
}

TEST_CASE("a child that is born during a look is found", "[selection]") {
  const ProcScene scene;
  scene.add(kRank);
  const SlowStat slow(scene, [&](int reads) {
    if (reads == 1) scene.add({.pid = 5, .parent = 12});
    if (reads == 2) scene.add({.pid = 6, .parent = 5, .other_threads = {7}});
  });
  CHECK(threads(scene, by_pids({12})) == Pids{5, 6, 7, 12, 13, 14});
  CHECK(slow.reads() == 4);  // the last one found nothing new
}

TEST_CASE("a child stays chosen when its parent ends during a look", "[selection]") {
  const ProcScene scene;
  scene.add(kRank);
  scene.add({.pid = 20, .parent = 12});
  scene.add({.pid = 21, .parent = 20});
  const SlowStat slow(scene, [&](int reads) {
    if (reads == 1) scene.add({.pid = 5, .parent = 12});  // for another pass
    if (reads != 2) return;
    scene.remove(20);
    scene.add({.pid = 21, .parent = 1});
    scene.add({.pid = 22, .parent = 21});
  });
  const Pids found = threads(scene, by_pids({12}));
  CHECK(found == Pids{5, 12, 13, 14, 20, 21, 22});  // 20 was there when it began
}

TEST_CASE("who bears children without end is not looked at without end", "[selection]") {
  const ProcScene scene;
  scene.add(kRank);
  const SlowStat slow(scene, [&](int reads) { scene.add({.pid = 100 + std::uint32_t(reads), .parent = 12}); });
  CHECK(threads(scene, by_pids({12})).size() == 3 + 4);
  CHECK(slow.reads() == 5);
}

TEST_CASE("a machine without /proc is told", "[selection]") {
  const test::TemporaryDirectory directory;
  const TaskSelector selector(directory.path("proc"));
  CHECK(selector.threads(by_comm("lmp")).error().what ==
        "cannot list " + directory.path("proc") + ": No such file or directory");
  CHECK_FALSE(selector.threads({}));
}

TEST_CASE("a process whose thread goes while one looks may have become that thread, by an exec", "[selection]") {
  const ProcScene scene;
  scene.add({.pid = 12, .other_threads = {13}});
  const TaskSelector selector(scene.proc());
  const Selection settled = selector.settle(by_pids({12})).value();
  scene.add({.pid = 12, .other_threads = {13}, .state = 'Z'});
  CHECK(selector.ended(settled));
  std::filesystem::remove(scene.proc() + "/12/task/13/stat");
  CHECK_FALSE(selector.ended(settled));
  std::filesystem::remove(scene.proc() + "/12/task/13");
  CHECK(selector.ended(settled));
}
