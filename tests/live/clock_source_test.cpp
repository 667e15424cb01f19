// SPDX-License-Identifier: Apache-2.0
// A kernel that has another clock source than the time stamp counter, before noised starts or while it measures.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "command.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "report_checks.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

const std::string kDirectory = "/sys/devices/system/clocksource/clocksource0/";

std::string current_source() { return read_file(kDirectory + "current_clocksource").value(); }

bool set_source(const std::string& name) {
  return static_cast<bool>(std::ofstream(kDirectory + "current_clocksource") << name << std::flush) &&
         current_source() == name + "\n";
}

// One that is not the counter's, neither by itself nor as a hypervisor hands it on.
std::string another_source() {
  std::istringstream available(read_file(kDirectory + "available_clocksource").value());
  for (std::string name; available >> name;) {
    if (name == "hpet" || name == "acpi_pm") return name;
  }
  return "";
}

// The kernel has another clock source from here on, until it is told otherwise, or a test fails.
class OtherSource {
 public:
  explicit OtherSource(const std::string& name) {
    INFO("clock source " << name);
    REQUIRE(set_source(name));
  }
  ~OtherSource() { (void)set_source("tsc"); }
  OtherSource(const OtherSource&) = delete;
  OtherSource& operator=(const OtherSource&) = delete;

  static void restore() { REQUIRE(set_source("tsc")); }
};

class LoopDaemon {
 public:
  LoopDaemon()
      : cpu_(probed_cpu()),
        quiet_(cpu_),
        socket_(directory_.path("socket")),
        process_({kNoised, "--cpus", std::to_string(cpu_), "--threshold", is_emulated() ? "5us" : "1us", "--socket",
                  socket_, "--web.listen-address", "", "--log-level", "warning"}) {
    REQUIRE(eventually([this] { return run(command("status")).exit_code == 0; }));
  }

  // Of which the ledger was checked to add up.
  [[nodiscard]] Report report() const {
    const Outcome outcome = run(command("report"));
    INFO(outcome.err);
    check_ledger(object_in(outcome.out));
    auto report = views::parse_report(outcome.out);
    if (!report) FAIL(report.error().line());
    return std::move(report).value();
  }
  [[nodiscard]] std::uint64_t changes() const {
    for (const ReportLoss& loss : report().lost.by) {
      if (loss.reason == "clock_source") return loss.count;
    }
    return 0;
  }
  // 20 times a task, which are all shown.
  void check_load() const {
    const std::string name = "clock-load";
    const std::uint64_t before = seen(report(), "task", name).count;
    CHECK(run({kNoise, "task", "--cpu", std::to_string(cpu_), "--name", name, "--work", "3ms", "--period", "50ms",
               "--duration", "1s"})
              .exit_code == 0);
    const Report after = report();
    const std::uint64_t shown = seen(after, "task", name).count - before;
    WARN("clock within " << after.clock.uncertainty_ns << " ns, " << after.lost.incomplete_detours << " of "
                         << after.cpus[0].detours << " detours in doubt, " << after.cpus[0].unexplained_ns << " of "
                         << after.cpus[0].detour_ns << " ns unexplained, containment "
                         << after.clock.containment.value_or(-1) << "; the load is shown " << shown << " times");
    CHECK(shown > 0);
  }
  // True once this was said on standard error.
  [[nodiscard]] bool says(const std::string& text) const { return process_.err().find(text) != std::string::npos; }
  // Ends it, and gives what it said.
  void end() {
    process_.signal(SIGTERM);
    const Outcome outcome = process_.wait();
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
  }

 private:
  [[nodiscard]] Arguments command(const std::string& what) const {
    return {kNoisectl, "--socket", socket_, what, "--json"};
  }

  test::TemporaryDirectory directory_;
  unsigned cpu_;
  QuietCpu quiet_;
  std::string socket_;
  Background process_;
};

bool tells_of(const Report& report, const std::string& source) {
  return std::ranges::any_of(report.unsupported, [&](const std::string& what) {
    return what.starts_with("clock source: the kernel's clock source is " + source) &&
           what.find("'echo tsc >") != std::string::npos;
  });
}

std::string other_source_if_asked() {
  if (std::getenv("NOISED_CLOCK_SOURCE") == nullptr)
    SKIP("it changes the clock source: for a guest, with NOISED_CLOCK_SOURCE=1");
  if (current_source() != "tsc\n") SKIP("the clock source is not the counter here, but " + current_source());
  const std::string other = another_source();
  if (other.empty()) SKIP("this machine has neither hpet nor acpi_pm");
  return other;
}

}  // namespace

TEST_CASE("clock source: one that is not the counter when noised starts is told, with the remedy") {
  const std::string other = other_source_if_asked();
  const OtherSource source(other);
  LoopDaemon daemon;
  CHECK(tells_of(daemon.report(), other));
  CHECK(daemon.says("the kernel's clock source is " + other));
  CHECK(daemon.changes() == 0);
  daemon.check_load();
  OtherSource::restore();
  CHECK(eventually([&] { return daemon.changes() == 1; }));
  CHECK(daemon.says("it is the time stamp counter again"));
  daemon.end();
}

TEST_CASE("clock source: a kernel that goes over to another while noised measures is counted and told") {
  const std::string other = other_source_if_asked();
  LoopDaemon daemon;
  CHECK_FALSE(tells_of(daemon.report(), other));
  daemon.check_load();
  CHECK(daemon.changes() == 0);
  {
    const OtherSource source(other);
    CHECK(eventually([&] { return daemon.changes() == 1; }));
    CHECK(daemon.says("the kernel went over to another clock"));
    CHECK(daemon.says("the kernel's clock source is " + other));
    daemon.check_load();
  }
  CHECK(eventually([&] { return daemon.changes() == 2; }));
  daemon.check_load();
  daemon.end();
}
