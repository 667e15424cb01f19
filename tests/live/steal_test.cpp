// SPDX-License-Identifier: Apache-2.0
// Steal time as ticks count it, beside the kernel's own account of it.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "command.h"
#include "measurement.h"
#include "system/steal_clock.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

// /proc/stat counts in steps of 10 ms, and ticks are at most 10 ms apart.
constexpr std::uint64_t kToleranceNs = 20'000'000;

// What noised told of a CPU, and what the kernel counted just before and just after.
struct Reading {
  ReportCpu told;
  std::uint64_t before_ns = 0;
  std::uint64_t after_ns = 0;
};

}  // namespace

TEST_CASE("steal: what noised reads at ticks is what the kernel counts", "[core]") {
  const unsigned cpu = probed_cpu();
  auto clock = StealClock::open();
  REQUIRE(clock.ok());
  if (!clock.value().counts()) SKIP("no steal time was counted here since boot");
  const test::TemporaryDirectory directory;
  const std::string socket = directory.path("socket");
  const Background daemon(
      {kNoised, "--cpus", std::to_string(cpu), "--socket", socket, "--web.listen-address", "", "--log-level", "error"});
  const auto ask = [&](const char* what) { return run({kNoisectl, "--socket", socket, what, "--json"}); };
  const auto read = [&] {
    Reading reading;
    reading.before_ns = clock.value().read().at(cpu);
    auto report = views::parse_report(ask("report").out);
    if (!report) FAIL(report.error().line());
    reading.told = report.value().cpus.at(0);
    reading.after_ns = clock.value().read().at(cpu);
    return reading;
  };
  REQUIRE(eventually([&] { return ask("status").exit_code == 0; }));
  const Reading first = read();
  std::this_thread::sleep_for(std::chrono::seconds(8));
  const Reading last = read();
  const std::uint64_t told_ns = last.told.steal_ns - first.told.steal_ns;
  INFO(told_ns << " ns told, " << last.before_ns - first.after_ns << " to " << last.after_ns - first.before_ns
               << " counted, from " << last.told.steal_source);
  if (has_tick(cpu)) {
    CHECK(last.told.steal_source == "ticks");
    CHECK(last.told.steal_step_ns == 1);
  }
  CHECK(told_ns + kToleranceNs >= last.before_ns - first.after_ns);
  CHECK(told_ns <= last.after_ns - first.before_ns + kToleranceNs);
  CHECK(last.told.hardware_ns == 0);  // who counts steal time is a virtual machine
}
