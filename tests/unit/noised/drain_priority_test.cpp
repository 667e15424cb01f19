// SPDX-License-Identifier: Apache-2.0
// For how long the thread that drains may come before others.
#include "noised/drain_priority.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "base/files.h"

using namespace noised;
using noised::daemon::DrainPriority;
using noised::daemon::Log;
using noised::daemon::LogLevel;
using noised::daemon::RealtimeBudget;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

// What was logged to it, line by line.
class LogFile {
 public:
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::array<char, 4096> text{};
    const ssize_t size = pread(file_.get(), text.data(), text.size(), 0);
    std::vector<std::string> found;
    for (auto at = text.begin(), end = at + std::max<ssize_t>(size, 0); at != end;) {
      const auto newline = std::find(at, end, '\n');
      found.emplace_back(at, newline);
      at = newline == end ? end : newline + 1;
    }
    return found;
  }

 private:
  Descriptor file_{memfd_create("log", MFD_CLOEXEC)};
};

}  // namespace

TEST_CASE("a thread that takes less than its budget comes first all the time") {
  RealtimeBudget budget(25);
  for (std::uint64_t ms = 1'000; ms < 10'000; ms += 25) REQUIRE(budget.allows(ms * kMs, ms * kMs / 4));
  CHECK(budget.times_used_up() == 0);
}

TEST_CASE("what is used up is saved up again, before the thread comes first again") {
  RealtimeBudget budget(10);
  constexpr std::uint64_t kBegin = 5'000 * kMs;
  CHECK(budget.allows(kBegin, 700 * kMs));  // what it had before is not counted
  CHECK(budget.allows(kBegin + 100 * kMs, 800 * kMs));
  CHECK(budget.allows(kBegin + 200 * kMs, 810 * kMs));        // just what it earned meanwhile
  CHECK_FALSE(budget.allows(kBegin + 200 * kMs, 811 * kMs));  // 1 ms too much
  CHECK(budget.times_used_up() == 1);
  CHECK_FALSE(budget.allows(kBegin + 1'200 * kMs, 1'500 * kMs));  // 99 of 100 ms; what it took meanwhile was nobody's
  CHECK(budget.allows(kBegin + 1'210 * kMs, 1'500 * kMs));
  CHECK(budget.times_used_up() == 1);
  CHECK(budget.allows(kBegin + 1'220 * kMs, 1'600 * kMs));
  CHECK_FALSE(budget.allows(kBegin + 1'220 * kMs, 1'601 * kMs));
  CHECK(budget.times_used_up() == 2);
}

TEST_CASE("no more than the share of a second is saved up, however long nothing is taken") {
  RealtimeBudget budget(10);
  CHECK(budget.allows(1'000 * kMs, 0));
  CHECK(budget.allows(9'000 * kMs, 100 * kMs));
  CHECK_FALSE(budget.allows(9'000 * kMs, 101 * kMs));
}

TEST_CASE("drains longer than a second, or seconds apart, take no more than the share in the long run") {
  for (const std::uint64_t drain_ms : {10U, 400U, 900U, 1'500U, 4'000U}) {
    for (const std::uint64_t rest_ms : {0U, 1U, 100U, 1'000U, 3'000U}) {
      INFO("drains of " << drain_ms << " ms, one " << rest_ms << " ms after the other");
      RealtimeBudget budget(25);
      std::uint64_t now_ms = 1;
      std::uint64_t cpu_ms = 0;
      std::uint64_t first_ms = 0;
      bool first = budget.allows(now_ms * kMs, 0);
      while (now_ms < 1'000'000) {
        now_ms += rest_ms + drain_ms;
        cpu_ms += drain_ms;
        if (first) first_ms += drain_ms;
        first = budget.allows(now_ms * kMs, cpu_ms * kMs);
      }
      const bool is_over = 4 * drain_ms > drain_ms + rest_ms;
      CHECK(first_ms <= now_ms / 4 + drain_ms + 250);
      CHECK((budget.times_used_up() != 0) == (is_over || drain_ms > 250));
      CHECK(first_ms >= std::min(now_ms / 12, cpu_ms / 2));  // and it comes first for much of its share
    }
  }
}

TEST_CASE("the thread is made an ordinary one and a real-time one again, and the log says so once a minute") {
  const LogFile file;
  std::vector<int> set;
  bool is_refused = false;
  std::uint64_t cpu_ns = 0;
  const Log log(LogLevel::info, file.descriptor());
  DrainPriority priority(7, 50, log,
                         {[&](int value) -> Status {
                            if (is_refused) return failure("refused");
                            set.push_back(value);
                            return success();
                          },
                          [&] { return cpu_ns; }});
  is_refused = true;
  CHECK_FALSE(priority.begin());
  is_refused = false;
  REQUIRE(priority.begin());
  CHECK(set == std::vector{7});
  priority.after_drain(1'000 * kMs);
  cpu_ns = 501 * kMs;
  priority.after_drain(1'000 * kMs);
  CHECK(set == std::vector{7, 0});
  REQUIRE(file.lines().size() == 1);
  CHECK(file.lines()[0].find("50% of a CPU (service.realtime_budget)") != std::string::npos);
  is_refused = true;
  priority.after_drain(3'000 * kMs);
  CHECK(set == std::vector{7, 0});
  is_refused = false;
  priority.after_drain(3'025 * kMs);
  CHECK(set == std::vector{7, 0, 7});
  cpu_ns = 1'100 * kMs;
  priority.after_drain(3'050 * kMs);
  CHECK(set == std::vector{7, 0, 7, 0});
  CHECK(file.lines().size() == 1);
  priority.after_drain(62'000 * kMs);
  cpu_ns = 1'700 * kMs;
  priority.after_drain(62'000 * kMs);
  CHECK(set == std::vector{7, 0, 7, 0, 7, 0});
  REQUIRE(file.lines().size() == 2);
  CHECK(file.lines()[1].find("3 times so far") != std::string::npos);
  priority.after_drain(64'000 * kMs);
  priority.end();
  priority.end();
  CHECK(set == std::vector{7, 0, 7, 0, 7, 0, 7, 0});
}
