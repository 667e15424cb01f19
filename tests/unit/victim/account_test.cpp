// SPDX-License-Identifier: Apache-2.0
// The account as it is written and read, what the kernel counts, the lines of detours, and what strikes.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>

#include "unit/victim/scene.h"
#include "victim/detour_lines.h"
#include "victim/measure.h"
#include "victim/struck.h"
#include "victim/tables.h"
#include "victim/work_loop.h"
#include "views/views.h"

using namespace noised;
using namespace noised::system;
using namespace noised::test;
using Catch::Matchers::ContainsSubstring;
using victim::Account;
using victim::Struck;

TEST_CASE("an account is read as it was written", "[victim]") {
  Account account = account_of({{10, 20}, {20, 35}}, {{40, 50, 53}});
  account.first_ns = 5;
  account.last_ns = 105;
  account.iterations = 23;
  account.calls_ns = 16;
  account.faults = 3;
  account.gaps_missed = 1;
  account.clock_uncertainty_ns = 36;
  account.steal_ns = 10'000'000;
  account.status = {1, 2, 3, 4, 5, 6, 7};
  const std::string json = to_json(account);
  CHECK_THAT(json, ContainsSubstring(R"("lost_ns":25)"));
  CHECK_THAT(json, ContainsSubstring(R"("voluntary_ns":10)"));
  CHECK_THAT(json, ContainsSubstring(R"("late_ns":3)"));
  CHECK_THAT(json, ContainsSubstring(R"("iteration_ns":2.0)"));
  CHECK_THAT(json, ContainsSubstring(R"("gaps":[[10,20],[20,35]])"));
  const Result<Account> read = victim::parse_account(json);
  REQUIRE(read);
  CHECK(to_json(read.value()) == json);
}

TEST_CASE("an account that is out of order is refused", "[victim]") {
  const auto problem = [](const Account& account) {
    const Result<Account> read = victim::parse_account(to_json(account));
    return read ? std::string() : read.error().what;
  };
  CHECK(problem(account_of({{10, 20}, {20, 25}})).empty());
  CHECK_THAT(problem(account_of({{10, 20}, {19, 25}})), ContainsSubstring("not in order"));
  CHECK_THAT(problem(account_of({{20, 10}})), ContainsSubstring("not in order"));
  CHECK_THAT(problem(account_of({}, {{10, 30, 20}})), ContainsSubstring("not in order"));
  CHECK_FALSE(victim::parse_account("{}"));
  CHECK_FALSE(victim::parse_account("no JSON"));
}

TEST_CASE("the kernel's counts are found in its files", "[victim]") {
  victim::KernelCounts counts;
  CHECK(victim::parse_status_counts("Name:\ta\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t345\n",
                                    counts));
  CHECK(counts.voluntary == 12);
  CHECK(counts.involuntary == 345);
  CHECK(victim::parse_schedstat("11 22 33\n", counts));
  CHECK(counts.run_ns == 11);
  CHECK(counts.wait_ns == 22);
  CHECK(counts.timeslices == 33);
  CHECK_FALSE(victim::parse_schedstat("11 22", counts));
  CHECK_FALSE(victim::parse_status_counts("", counts));
  CHECK(counts.since({2, 45, 0, 0, 1, 2, 3}).involuntary == 300);
}

TEST_CASE("lines of other tasks are left out", "[victim]") {
  const std::string line = views::to_json(detour(10, 20, {entry("irq", "disk", 10)}));
  const auto with_pid = [&](const char* pid) {
    return std::string(R"({"pid":)") + pid + R"(,"task":"t","loss":"queued",)" + line.substr(1);
  };
  std::istringstream lines(line + "\n" + with_pid("42") + "\n\n" + with_pid("43") + "\n");
  const auto detours = victim::read_detours(lines, account_of({}));
  REQUIRE(detours);
  CHECK(detours.value().size() == 2);
  Account elsewhere = account_of({});
  elsewhere.cpu = kCpu + 1;
  std::istringstream again(line + "\n" + with_pid("42") + "\n");
  CHECK(victim::read_detours(again, elsewhere).value().size() == 1);
  std::istringstream broken(line + "\n{\n");
  CHECK_THAT(victim::read_detours(broken, elsewhere).error().what, ContainsSubstring("line 2"));
}

TEST_CASE("activations strike with all of their gaps, each gap once", "[victim]") {
  TaskScene scene(3);
  const Account account = account_of({{10 * kMs - 10 * kUs, 10 * kMs + 400 * kUs},
                                      {10 * kMs + 401 * kUs, 11 * kMs + 10 * kUs},
                                      {20 * kMs, 32 * kMs},
                                      {40 * kMs, 50 * kMs}});
  const Struck struck = victim::strike(scene.truth, account, scene.detours);
  CHECK(struck.occurrences == 3);
  CHECK(struck.struck == 3);
  CHECK(struck.gaps == 3);
  CHECK(struck.gap_ns == 1019 * kUs + 12 * kMs);
  CHECK(struck.cpu_ns == 3 * kMs);
  CHECK(struck.wall_ns == 3 * (kMs + 2'000));
  CHECK(struck.shown == 3);
  CHECK(struck.shown_ns == 3 * (kMs + 5'000));
}

TEST_CASE("an event strikes with the first gap that it can be in", "[victim]") {
  EventScene scene(3);
  const Account account =
      account_of({{kMs + 5 * kUs, kMs + 9 * kUs}, {kMs + 15 * kUs, kMs + 16 * kUs}, {3 * kMs, 3 * kMs + 30 * kUs}});
  const Struck struck = victim::strike(scene.truth, account, scene.detours);
  CHECK(struck.occurrences == 3);
  CHECK(struck.struck == 2);
  CHECK(struck.gap_ns == 34 * kUs);
  CHECK(struck.shown == 3);
}

TEST_CASE("a log takes what it has room for and counts the rest", "[victim]") {
  victim::Log<int> log(2);
  for (const int each : {7, 8, 9}) log.add(each);
  CHECK(log.items().size() == 2);
  CHECK(log.items()[1] == 8);
  CHECK(log.missed() == 1);
}

TEST_CASE("of each stretch the narrowest sample tells the time", "[victim]") {
  std::vector<ClockSample> samples;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const bool good = i % 10 == 7;
    samples.push_back({1000 * i, 500 * i + (good ? 0 : 90), good ? 20U : 70U});
  }
  const ClockMap map = victim::map_of(samples, 10'000);
  REQUIRE(map.ready());
  CHECK(map.to_ns(50'000) == 25'000);
  CHECK(map.uncertainty_ns() <= 12);
}

TEST_CASE("the tables name what was lost and what was shown", "[victim]") {
  const Account account = account_of({{10 * kUs, 20 * kUs}});
  const auto sums = compare(account, {detour(12 * kUs, 19 * kUs, {entry("vector", "local_timer", 7 * kUs)})});
  const std::string text = victim::to_text(account, sums, {});
  CHECK_THAT(text, ContainsSubstring("vector local_timer"));
  CHECK_THAT(text, ContainsSubstring("70.00%"));
  const std::string json = victim::to_json(account, sums, {Struck{}});
  CHECK_THAT(json, ContainsSubstring(R"("schema":"noised.victim_comparison/1")"));
  CHECK_THAT(json, ContainsSubstring(R"("suffered_ns":10000)"));
}
