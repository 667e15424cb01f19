// SPDX-License-Identifier: Apache-2.0
// Names that leave the table, and what becomes of their ids.
#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "model/sources.h"

namespace noised {
namespace {

void let_go(SourceTable& sources, SourceId id) {
  const auto departure = sources.departure(id);
  REQUIRE(departure);
  sources.let_go(std::span(&*departure, 1));
}

// "aaa", "baa", ...
std::string letters(std::size_t number) {
  std::string name;
  for (int at = 0; at < 3; ++at, number /= 26) name += static_cast<char>('a' + number % 26);
  return name;
}

}  // namespace

TEST_CASE("an id whose name has left is other, whoever has its slot now") {
  SourceTable sources;
  const SourceId first = sources.intern(Kind::task, "first");
  CHECK(sources.live(first) == first);
  let_go(sources, first);
  CHECK(sources.departed() == 1);
  CHECK(sources.live(first) == sources.other(Kind::task));
  CHECK(sources.at(first).name == "other");
  const SourceId second = sources.intern(Kind::task, "second");
  CHECK(second != first);
  CHECK(SourceTable::slot_of(second) == SourceTable::slot_of(first));
  CHECK(sources.at(second).name == "second");
  CHECK(sources.at(first).name == "other");
  const SourceId again = sources.intern(Kind::task, "first");
  CHECK(again != first);
  CHECK(sources.at(again).name == "first");
  CHECK(sources.intern(Kind::task, "first") == again);
}

TEST_CASE("only the names of tasks leave that are counted as the others are") {
  SourceTable sources(CategoryChoices{{"task:crond", Category::io}, {"task:as-ever", Category::preemption}});
  CHECK_FALSE(sources.departure(sources.intern(Kind::work, "function")));
  CHECK_FALSE(sources.departure(sources.gap(Kind::hypervisor)));
  CHECK_FALSE(sources.departure(sources.other(Kind::task)));
  CHECK_FALSE(sources.departure(sources.intern(Kind::task, kLeavingIdle)));
  CHECK_FALSE(sources.departure(sources.intern(Kind::task, "crond")));
  CHECK_FALSE(sources.departure(sources.intern(Kind::task, "as-ever")));
  const SourceId gone = sources.intern(Kind::task, "agent");
  let_go(sources, gone);
  CHECK_FALSE(sources.departure(gone));
  // What noised took itself is told apart for good.
  const SourceId own = sources.intern(Kind::task, "noised/loop7");
  const auto departure = sources.departure(own);
  REQUIRE(departure);
  CHECK(sources.at(departure->into).name == "noised/other");
  CHECK_FALSE(sources.departure(departure->into));
  let_go(sources, own);
  CHECK(sources.departure(sources.intern(Kind::task, "noised/loop8"))->into == departure->into);
}

TEST_CASE("a table that was full has names for those who come later") {
  SourceTable sources;
  std::vector<SourceId> ids;
  for (std::size_t number = 0; sources.tasks() < SourceTable::kTasks; ++number)
    ids.push_back(sources.intern(Kind::task, letters(number)));
  CHECK(sources.intern(Kind::task, "late") == sources.other(Kind::task));
  CHECK(sources.overflowed() == 1);
  // More names than there are ids in a slot's first round, and each is its own.
  std::set<SourceId> seen(ids.begin(), ids.end());
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t number = 0; number < ids.size(); ++number) {
      SourceId& id = ids[number];
      const std::string name = letters(number) + std::to_string(round);
      let_go(sources, id);
      id = sources.intern(Kind::task, name);
      REQUIRE(sources.at(id).name == name);
      REQUIRE(seen.insert(id).second);
    }
    CHECK(sources.tasks() == SourceTable::kTasks);
  }
  CHECK(sources.overflowed() == 1);
  CHECK(sources.size() <= SourceTable::kCapacity);
}

TEST_CASE("no name leaves while another thread reads names") {
  const SourceTable sources;
  auto held = sources.hold();
  std::thread([&] { CHECK_FALSE(sources.try_hold()); }).join();
  held.unlock();
  std::thread([&] { CHECK(sources.try_hold()); }).join();
}

}  // namespace noised
