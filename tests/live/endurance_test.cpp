// SPDX-License-Identifier: Apache-2.0
// Minutes of mixed noise while the wall clock is set, the daemon is stopped and its CPU goes offline: nothing is blamed
// on the wrong cause, and what nobody saw is counted as that.
#include <time.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/clocks.h"
#include "daemon.h"
#include "report_checks.h"

using namespace noised;
using namespace noised::live;
using selftest::Row;
using selftest::Span;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kNoiseNs = 8 * kSecond;
constexpr std::chrono::seconds kIntoNoise{2};
constexpr std::chrono::seconds kStopped{5};
constexpr std::chrono::seconds kOfflineFor{3};
// A signal, and a loop that returns, take effect within this.
constexpr std::uint64_t kEdgeNs = 200'000'000;

void sleep_for(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

/// Other noise on the CPU meanwhile, and work for the others.
class Mixed {
 public:
  explicit Mixed(unsigned cpu)
      : daemons_({kNoise, "task", "--cpu", std::to_string(cpu), "--duration", "3600s", "--name", "mixed", "--count",
                  "2", "--offset", "7ms", "--work", "1ms", "--period", "40ms"}),
        files_(
            {"sh", "-c", "while :; do dd if=/dev/zero of=/dev/null bs=1k count=2000 2>/dev/null; sleep 0.05; done"}) {}

 private:
  Background daemons_;
  Background files_;
};

/// Something that happens to the daemon while noise is observed: in a process of its own, for observing needs one that
/// has no other thread.
class Disturbance {
 public:
  explicit Disturbance(const std::string& script)
      : shell_({"sh", "-c", "sleep " + std::to_string(kIntoNoise.count()) + "; " + script}) {}
  void finish() { CHECK(shell_.wait().exit_code == 0); }

 private:
  Background shell_;
};

struct Blind {
  std::uint64_t count = 0;  // times the loop was stopped, or moved
  std::uint64_t ns = 0;     // the least that must be
};

class Endurance {
 public:
  /// One mode, all of which must be found where nobody was stopped.
  void observe(const std::string& mode, const std::vector<Span>& stopped) {
    client::Observation seen = daemon_.observe(mode, kNoiseNs);
    INFO(mode << ": " << seen.truth.unsupported);
    REQUIRE(seen.truth.unsupported.empty());
    seen.losses.unshown.insert(seen.losses.unshown.end(), stopped.begin(), stopped.end());
    std::ranges::sort(seen.losses.unshown, {}, &Span::start_ns);
    const Row row = selftest::compare(seen.truth, seen.detours, seen.losses);
    INFO(mode << ": injected " << row.injected << ", found " << row.found << ", in doubt " << row.in_doubt
              << ", missed " << row.missed << ", misattributed " << row.misattributed << "; " << row.reason
              << seen.not_made);
    CHECK(seen.not_made.empty());
    CHECK(row.injected > 0);
    CHECK(row.missed == 0);
    CHECK(row.misattributed == 0);
    course_ << mode << (stopped.empty() ? "" : ", stopped") << ": injected " << row.injected << ", found " << row.found
            << ", in doubt " << row.in_doubt << "\n";
    if (!stopped.empty()) return;
    found_ += row.found;
    injected_ += row.injected;
  }

  void set_clock(const std::string& mode) {
    const std::time_t now = std::time(nullptr);
    Disturbance steps("date -s @" + std::to_string(now + 86'400) + " >/dev/null && sleep 2 && date -s @" +
                      std::to_string(now - 3'600) + " >/dev/null && sleep 2 && date -s @" + std::to_string(now + 6) +
                      " >/dev/null");
    observe(mode, {});
    steps.finish();
  }

  void stop_daemon(const std::string& mode) {
    const std::string pid = std::to_string(daemon_.process().pid());
    const std::uint64_t start_ns =
        monotonic_ns() + static_cast<std::uint64_t>(std::chrono::nanoseconds(kIntoNoise).count());
    Disturbance stop("kill -STOP " + pid + " && sleep " + std::to_string(kStopped.count()) + " && kill -CONT " + pid);
    const auto lasted_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(kStopped).count());
    observe(mode, {{start_ns, start_ns + lasted_ns + 2 * kEdgeNs}});
    stop.finish();
    ++blind_.count;
    blind_.ns += lasted_ns;
  }

  void take_cpu_offline() {
    const std::string online = "/sys/devices/system/cpu/cpu" + std::to_string(daemon_.cpu()) + "/online";
    const auto set = [&](int value) {
      std::ofstream file(online);
      file << value << std::flush;
      INFO("writing " << value << " to " << online << " (Linux 6.12 refuses to take an isolated CPU offline)");
      REQUIRE(file.good());
    };
    set(0);
    sleep_for(kOfflineFor);
    set(1);
    sleep_for(std::chrono::nanoseconds(kEdgeNs));
    ++blind_.count;
    blind_.ns += static_cast<std::uint64_t>(std::chrono::nanoseconds(kOfflineFor).count());
  }

  void check_report() {
    const Outcome outcome = run(daemon_.command({"report", "--json"}));
    REQUIRE(outcome.exit_code == 0);
    const Json report = object_in(outcome.out);
    INFO(report.at("lost").dump() << report.at("cpus").dump() << "; injected " << injected_ << ", found " << found_);
    check_fields(report);
    check_ledger(report);
    std::uint64_t blind = 0;
    for (const Json& loss : report.at("lost").at("by")) {
      if (loss.at("reason") == "loop_stopped" || loss.at("reason") == "loop_moved")
        blind += loss.at("count").get<std::uint64_t>();
    }
    const Json& cpu = report.at("cpus").at(0);
    const auto blind_ns = cpu.at("blind_ns").get<std::uint64_t>();
    CHECK(blind >= blind_.count);
    CHECK(blind_ns >= blind_.ns);
    CHECK(blind_ns <= blind_.ns + blind_.count * kSecond);
    const auto elapsed_ns = report.at("elapsed_ns").get<std::uint64_t>();
    CHECK(cpu.at("observed_ns").get<std::uint64_t>() + blind_ns <= elapsed_ns);
    CHECK(cpu.at("observed_ns").get<std::uint64_t>() + blind_ns >= elapsed_ns - kSecond);
    if (report.at("lost").at("incomplete_detours") == 0) CHECK(cpu.at("unexplained_ns") == 0);
    CHECK(report.at("clock").at("containment") >= 0.999);
    // Where the daemon was not stopped. The rest is in doubt amid the other noise, 0 to 41% of a noise as measured;
    // were it most, the checks of what is missed and misattributed would say little.
    CHECK(found_ >= injected_ / 2);
    WARN(course_.str());
  }

  [[nodiscard]] Daemon& daemon() { return daemon_; }

 private:
  Daemon daemon_;
  Blind blind_;
  std::ostringstream course_;
  std::uint64_t found_ = 0;
  std::uint64_t injected_ = 0;
};

}  // namespace

TEST_CASE("endurance: clock steps, stops and a CPU that goes offline blame nobody, and what is blind is counted") {
  const char* const seconds = std::getenv("NOISED_ENDURANCE_SECONDS");
  if (seconds == nullptr) SKIP("it takes a CPU offline and sets the clock: for a guest, with NOISED_ENDURANCE_SECONDS");
  constexpr std::array kModes = {"task", "hrtimer", "fault", "wake", "ipi", "work"};
  const std::uint64_t end_ns = monotonic_ns() + std::stoull(seconds) * kSecond;
  Endurance endurance;
  for (std::size_t round = 0; monotonic_ns() < end_ns; ++round) {
    const auto next = [&](std::size_t turn) { return kModes[(3 * round + turn) % kModes.size()]; };
    {
      const Mixed mixed(endurance.daemon().cpu());
      endurance.observe(next(0), {});
      endurance.set_clock(next(1));
      endurance.stop_daemon(next(2));
    }
    endurance.take_cpu_offline();
  }
  endurance.check_report();
  endurance.daemon().process().signal(SIGTERM);
  CHECK(endurance.daemon().process().wait().exit_code == 0);
}
