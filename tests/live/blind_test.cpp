// SPDX-License-Identifier: Apache-2.0
// Time in which the loop was not measuring is blind: neither noise nor silence.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "base/cpus.h"
#include "command.h"
#include "measurement.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

std::uint64_t losses(const Report& report, const std::string& reason) {
  std::uint64_t count = 0;
  for (const ReportLoss& loss : report.lost.by) {
    if (loss.reason == reason) count += loss.count;
  }
  return count;
}

std::uint64_t longest(const Report& report, const std::string& kind, const std::string& name) {
  std::uint64_t max_ns = 0;
  for (const ReportSource& source : report.sources) {
    if (source.kind == kind && source.name == name) max_ns = source.max_ns;
  }
  return max_ns;
}

}  // namespace

TEST_CASE("blind: a daemon that is stopped for two seconds says so, and blames nobody", "[core]") {
  const unsigned cpu = probed_cpu();
  const QuietCpu quiet(cpu);
  Background daemon({kNoised, "--cpus", std::to_string(cpu), "--duration", "5s", "--report", "json", "--socket",
                     "/tmp/noised-blind-" + std::to_string(getpid()) + ".sock"});
  REQUIRE(eventually([&] { return daemon.err().find("listening") != std::string::npos; }));  // it measures
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  daemon.signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  daemon.signal(SIGCONT);
  const Outcome outcome = daemon.wait();
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const auto parsed = views::parse_report(outcome.out);
  REQUIRE(parsed.ok());
  const Report& report = parsed.value();
  const ReportCpu& of_cpu = report.cpus.at(0);
  INFO("observed " << of_cpu.observed_ns << " ns, blind " << of_cpu.blind_ns << " ns of " << report.elapsed_ns);
  constexpr std::uint64_t kStoppedNs = 2'000'000'000;
  CHECK(losses(report, "loop_stopped") >= 1);
  CHECK(of_cpu.blind_ns > kStoppedNs * 95 / 100);
  // Nobody had the CPU instead, and the loop did not see it for that long.
  CHECK(longest(report, "task", "swapper/" + std::to_string(cpu)) < kStoppedNs / 2);
  CHECK(of_cpu.max_detour_ns < kStoppedNs / 2);
  CHECK(of_cpu.observed_ns + of_cpu.blind_ns < report.elapsed_ns);
  CHECK(of_cpu.observed_ns > 1'000'000'000);
  CHECK(of_cpu.explained_ns + of_cpu.overhead_ns + of_cpu.hypervisor_ns + of_cpu.hardware_ns + of_cpu.unexplained_ns ==
        of_cpu.detour_ns);
}

TEST_CASE("blind: a loop that is moved away comes back, and says for how long it saw nothing") {
  const unsigned cpu = probed_cpu();
  Measurement measurement(cpu);
  measurement.begin();
  int moves = 0;
  measurement.run(1500, [&] {
    for (int time = 0; time < 3; ++time) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      cpu_set_t others;
      CPU_ZERO(&others);
      for (unsigned other = 0; other < CPU_SETSIZE; ++other) {
        if (other != cpu) CPU_SET(other, &others);
      }
      if (sched_setaffinity(measurement.probe_tid(), sizeof(others), &others) == 0) ++moves;
    }
  });
  measurement.end();
  const Report report = measurement.report();
  REQUIRE(moves == 3);
  INFO("blind for " << report.cpus.at(0).blind_ns << " ns");
  CHECK(losses(report, "loop_moved") == 3);
  CHECK(report.cpus.at(0).blind_ns > 0);
  CHECK(report.cpus.at(0).blind_ns < 1'000'000'000);
  CHECK(report.cpus.at(0).unexplained_ns == 0);
}
