// SPDX-License-Identifier: Apache-2.0
// Files of /proc with names and damage of all kinds.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>

#include "system/cgroup_trees.h"
#include "system/proc_tasks.h"
#include "system/task_selection.h"
#include "unit/system/proc_scene.h"

using namespace noised;
using namespace noised::system;
using test::stat_text;

namespace {

std::string comm(const std::string& name, std::uint32_t flags) {
  return comm_of(parse_task_stat(stat_text(9, name, 'I', 2, flags)).value());
}

char random_byte(std::mt19937& random) { return static_cast<char>(random() & 0xffU); }

// Names are made of what could be mistaken for the rest of the file.
std::string random_name(std::mt19937& random) {
  constexpr std::string_view kBytes = "()) \n\t0S1-\\ab";
  std::string name;
  for (std::size_t left = random() % 64; left > 0; --left)
    name += random() % 8 == 0 ? random_byte(random) : kBytes[random() % kBytes.size()];
  return name;
}

std::string damaged(std::string text, std::mt19937& random) {
  for (std::size_t left = 1 + random() % 4; left > 0 && !text.empty(); --left) {
    const std::size_t at = random() % text.size();
    if (const auto how = random() % 4; how == 0) {
      text.resize(at);
    } else if (how == 1) {
      text.erase(at, 1 + random() % 9);
    } else if (how == 2) {
      text[at] = random_byte(random);
    } else {
      text.insert(at, text.substr(random() % text.size(), random() % 30));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a stat file is read from its last parenthesis", "[selection]") {
  for (const char* name :
       {"lmp", "", " ", ")", "(", "a b", "a) R 1 (b", "x)\ny) Z 3 4 5", "(sd-pam)", ") S 1 1 1 1 1"}) {
    const auto task = parse_task_stat(stat_text(12, name, 'R', 7, 0x200040, 99));
    REQUIRE(task);
    CHECK(task->pid == 12);
    CHECK(task->name == name);
    CHECK(task->state == 'R');
    CHECK(task->parent == 7);
    CHECK(task->flags == 0x200040);
    CHECK(task->start == 99);
  }
  CHECK(parse_task_stat(stat_text(12, "a", 'Z', 7))->ended());
  CHECK(parse_task_stat(stat_text(12, "a", 'X', 7))->ended());
  CHECK_FALSE(parse_task_stat(stat_text(12, "a", 'D', 7))->ended());
}

TEST_CASE("what is no stat file is none", "[selection]") {
  for (const char* text : {"", "12", "12 (a", "12 a) S 1", ")(", "12 (a) S 1", "(a) S 1 2 3 4 5 6", "12 (a) S"})
    CHECK_FALSE(parse_task_stat(text));
  const std::string good = stat_text(12, "a", 'S', 7);
  CHECK_FALSE(parse_task_stat("0" + good.substr(2)));
  CHECK_FALSE(parse_task_stat("4294967296" + good.substr(2)));
  CHECK_FALSE(parse_task_stat("12 (a) SS" + good.substr(8)));
  CHECK_FALSE(parse_task_stat("12 (a) S -7" + good.substr(10)));
}

TEST_CASE("random names never hide a stat file, and random damage is never followed", "[selection]") {
  std::mt19937 random(Catch::getSeed());
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = random_name(random);
    const std::string text = stat_text(12, name, 'S', 7, 64, 1234567890123);
    const auto task = parse_task_stat(text);
    REQUIRE(task);
    REQUIRE(task->name == name);
    REQUIRE(task->parent == 7);
    REQUIRE(task->start == 1234567890123);
    REQUIRE(comm_of(*task) == name.substr(0, 15));
    const std::string broken = damaged(text, random);
    if (const auto read = parse_task_stat(broken)) {
      REQUIRE(read->pid != 0);
      REQUIRE(broken.find("(" + read->name + ")") != std::string::npos);
    }
  }
}

TEST_CASE("random damage to a mountinfo makes no path that is not clean", "[selection]") {
  std::mt19937 random(Catch::getSeed());
  const std::string good =
      "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n35 31 0:32 /docker/a\\040b /sys/fs/cgroup/memory rw shared:9 - "
      "cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  for (int i = 0; i < 20'000; ++i) {
    for (const CgroupTree& tree : parse_cgroup_trees(damaged(good, random))) {
      REQUIRE(clean_path(tree.root) == tree.root);
      REQUIRE(clean_path(tree.mount) == tree.mount);
    }
  }
}

TEST_CASE("a name is the one that tracepoints tell", "[selection]") {
  constexpr std::uint32_t kWorker = 0x4208060;
  CHECK(comm("kworker/0:1-events", kWorker) == "kworker/0:1");
  CHECK(comm("kworker/u8:2+flush-8:0", kWorker) == "kworker/u8:2");
  CHECK(comm("kworker/1:1H-kblockd", kWorker) == "kworker/1:1H");
  CHECK(comm("kworker/R-xfs-buf/a:1-b", kWorker) == "kworker/R-xfs-b");
  CHECK(comm("nvme-wq:1-2", kWorker) == "nvme-wq:1-2");  // a rescuer of before Linux 6.9
  CHECK(comm("kworker/0:1-mine", 0x400000) == "kworker/0:1-min");
  CHECK(comm("rcu_tasks_trace_kthread", 0x200040) == "rcu_tasks_trace");
}

TEST_CASE("descendants are children, theirs, and nobody else", "[selection]") {
  const std::vector<ProcessParent> all = {{1, 0}, {12, 1}, {13, 12}, {5, 13}, {14, 1}, {15, 14}};
  CHECK(descendants(all, {12}) == std::set<std::uint32_t>{13, 5});
  CHECK(descendants(all, {12, 13}) == std::set<std::uint32_t>{13, 5});
  CHECK(descendants(all, {12, 14}) == std::set<std::uint32_t>{13, 5, 15});
  CHECK(descendants(all, {5, 99}).empty());
  CHECK(descendants(all, {1}) == std::set<std::uint32_t>{12, 13, 5, 14, 15});
  CHECK(descendants({{2, 3}, {3, 2}, {4, 4}}, {2, 4}) == std::set<std::uint32_t>{2, 3, 4});
  CHECK(descendants({}, {1}).empty());
}

TEST_CASE("lists of pids have what is a number", "[selection]") {
  CHECK(parse_pids("12\n13\n") == std::vector<std::uint32_t>{12, 13});
  CHECK(parse_pids("0\n12\nx\n-1\n99999999999\n13") == std::vector<std::uint32_t>{12, 13});
  CHECK(parse_pids("").empty());
}
