// SPDX-License-Identifier: Apache-2.0
// Marked phases and single losses: JSON, back again, and the text.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "unit/base/texts.h"
#include "unit/views/watch_example.h"
#include "views/losses.h"
#include "views/watch.h"

using namespace noised;
using noised::test::has;

namespace {

WatchReport marked_example() {
  WatchReport report = examples::watch();
  report.marks = MarkLosses{1, 2, 3, 4, 7, 5, 6};
  MarkedPhase phase;
  phase.name = "solve\x1b";
  phase.threads = 2;
  phase.incomplete = 1;
  phase.min_ns = 1'000'000;
  phase.mean_ns = 1'050'000;
  phase.median_ns = 1'010'000;
  phase.max_ns = 3'100'000;
  phase.all = {1000, 1'050'000'000, 45'000'000};
  phase.late = {10, 30'000'000, 20'000'000};
  phase.typical = {500, 500'000'000, 500'000};
  phase.delayed = 300;
  phase.sources = {{"preemption", "task", "crond", 40'000'000, 20, 19'000'000, 0},
                   {"periodic", "vector", "local_timer", 5'000'000, 290, 1'000'000, 500'000}};
  phase.longest = {{77, 5'000'001'000, 3'100'000, 2'000'000, true, {{"task:crond", 2'000'000}}}};
  phase.delays = {{0.01, 30, 0.03, 0.02, 0.04}, {0.125, 20, 0.02, 0.01, 0.03}};
  phase.costs = {{1, 0.03, 1.045, 1.04, 1.05}, {1024, 1, std::nullopt, std::nullopt, std::nullopt}};
  report.phases = {phase};
  return report;
}

}  // namespace

TEST_CASE("a watch with marked phases comes back from its JSON as it was", "[views]") {
  const std::string json = views::to_json(marked_example());
  const Result<WatchReport> back = views::parse_watch(json);
  REQUIRE(back.ok());
  CHECK(views::to_json(back.value()) == json);
  CHECK(has(
      json,
      R"("marks":{"lost":1,"unpaired":2,"unsettled":3,"early":4,"unwatched":7,"files":5,"losses":6},"phases":[{"name":)"));
  CHECK(has(json, R"("late":{"count":10,"total_ns":30000000,"stolen_ns":20000000})"));
  CHECK(has(json, R"("delayed":300,"delays":[{"of_own":0.01,"phases":30,"p":0.03,"low":0.02,"high":0.04},{"of_own":)"));
  CHECK(has(json, R"("costs":[{"ranks":1,"delayed":0.03,"slowdown":1.045,"low":1.04,"high":1.05},)"
                  R"({"ranks":1024,"delayed":1.0,"slowdown":null,"low":null,"high":null}])"));
  std::string wrong = json;
  wrong.replace(wrong.find(R"("late_ns":19000000)"), 18, R"("late_ns":"19000000")");
  CHECK_FALSE(views::parse_watch(wrong).ok());
}

TEST_CASE("the text says who made the late phases late, and what is not known", "[views]") {
  const std::string text = views::to_text(marked_example());
  INFO(text);
  CHECK(has(text, "phase solve?\n"));
  CHECK(has(text,
            "late: the slowest 10 take 2.00 ms more than the fastest 500: 1.90 ms task:crond, "
            "99.0 us vector:local_timer, 1.00 us not stolen"));
  CHECK(has(text, "3.10 ms  at 5.000001 s, thread 77: 2.00 ms stolen, task:crond 2.00 ms  INCOMPLETE"));
  CHECK(has(text, "p of a delay: 3.00% by more than 1% (2.00% to 4.00%), 2.00% by more than 12.5% (1.00% to 3.00%)\n"));
  CHECK(has(text, "      1    3.00%     1.045  1.040 to 1.050\n"));
  CHECK(has(text, "   1024   100.0%         -  too few phases\n"));
  CHECK(has(text, "not in the phases: 1 marks overwritten, 2 marks without the other, "));
  CHECK_FALSE(has(views::to_text(examples::watch()), "phase"));
}

TEST_CASE("losses come back from their JSON as they were", "[views]") {
  LossesView losses;
  losses.since_ns = 10;
  losses.settled_ns = 5'000;
  losses.running = {{7, 4'900}, {8, 4'950}};
  losses.dropped = 3;
  losses.watched = {7, 8};
  losses.sources = {{1, "preemption", "task", "a \"b\" \xff"}};
  losses.losses = {{7, 4'000, 30, true, {{1, 20}, {2, 10}}}, {8, 4'100, 0, false, {}}};
  const std::string json = views::to_json(losses);
  CHECK(json == R"({"schema":"noised.losses/1","since_ns":10,"settled_ns":5000,"dropped":3,)"
                R"("running":[[7,4900],[8,4950]],"watched":[7,8],"sources":[[1,"preemption","task","a \"b\" )"
                "\xEF\xBF\xBD"
                R"("]],"losses":[[7,4000,30,true,1,20,2,10],[8,4100,0,false]]})");
  CHECK(views::is_losses(json));
  CHECK_FALSE(views::is_losses(views::to_json(examples::watch())));
  const Result<LossesView> back = views::parse_losses(json);
  REQUIRE(back.ok());
  CHECK(views::to_json(back.value()) == json);
}

TEST_CASE("losses whose parts are not their time are refused", "[views]") {
  const auto parses = [](const std::string& loss) {
    return views::parse_losses(
               R"({"schema":"noised.losses/1","since_ns":1,"settled_ns":1,"dropped":0,"running":[],"watched":[],"sources":[],)"
               R"("losses":[)" +
               loss + "]}")
        .ok();
  };
  CHECK(parses("[1,2,30,false,1,20,2,10]"));
  CHECK_FALSE(parses("[1,2,30,false,1,20]"));
  CHECK_FALSE(parses("[1,2,30,false,1,20,2]"));
  CHECK_FALSE(parses("[1,2,30,false,1,20,2,11]"));
  CHECK_FALSE(parses("[1,2,30,0,1,30]"));
  CHECK_FALSE(parses("[1,2,30]"));
  CHECK_FALSE(parses("[-1,2,30,false,1,30]"));
  CHECK_FALSE(parses("[1,18446744073709551615,30,false,1,30]"));
  CHECK_FALSE(parses("7"));
}
