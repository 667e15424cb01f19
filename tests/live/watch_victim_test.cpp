// SPDX-License-Identifier: Apache-2.0
// What is reported of a watched task, beside what it suffered by its own reading of the time stamp counter.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "measurement.h"
#include "selftest/truth.h"
#include "victim/compare.h"
#include "victim/detour_lines.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr double kTolerance = 0.02;
constexpr std::uint64_t kVictimEdgeNs = 1'000'000;  // the first of the noise may begin with the window

// A kind of noise, and the source that it is to the victim.
struct VictimNoise {
  const char* what;
  Arguments arguments;
  std::string kind;
  std::string name;  ///< empty: the generator tells
  unsigned runs;
};

struct Observed {
  victim::Account account;
  std::vector<DetourView> detours;
  std::optional<selftest::Truth> truth;
};

// The victim runs longer than the noise. What the daemon has told by 0.4 s after its end is all that it tells of it.
Observed observe(const WatchingDaemon& daemon, const Arguments& victim_options, const Arguments& noise_options) {
  test::TemporaryDirectory directory;
  const std::string cpu = std::to_string(probed_cpu());
  const std::string pid_file = directory.path("pid");
  Background detours(daemon.command({"detours", "--follow", "--json", "--min", "200ns"}));
  Arguments arguments{kVictim, "--cpu", cpu, "--duration", "1500ms", "--pid-file", pid_file};
  arguments.insert(arguments.end(), victim_options.begin(), victim_options.end());
  Background victim(arguments);
  REQUIRE(eventually([&] { return std::filesystem::exists(pid_file); }));
  Observed observed;
  if (!noise_options.empty()) {
    Arguments noise{kNoise};
    noise.insert(noise.end(), noise_options.begin(), noise_options.end());
    noise.insert(noise.end(), {"--duration", "1s", "--cpu", cpu});
    const Outcome made = run(noise);
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    observed.truth = selftest::parse_truth(made.out).value();
  }
  observed.account = victim::parse_account(victim.wait().out).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  detours.signal(SIGTERM);
  std::istringstream lines(detours.wait().out);
  auto read = victim::read_detours(lines, observed.account);
  if (!read) FAIL(read.error().line());
  observed.detours = std::move(read).value();
  return observed;
}

victim::SourceRow row_of(const victim::Comparison& comparison, const std::string& kind, const std::string& name) {
  for (const victim::SourceRow& row : comparison.sources) {
    if (row.kind == kind && row.name == name) return row;
  }
  return {};
}

double ms(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

double deviation(std::uint64_t told_ns, std::uint64_t suffered_ns) {
  return static_cast<double>(told_ns) / static_cast<double>(suffered_ns) - 1;
}

void print_head() {
  std::printf("%-34s %5s %9s %9s %8s %7s  %s\n", "noise, and what it is to the victim", "count", "suffered", "events",
              "overhead", "error", "beside it, ms: lost without any event, of which steal; all else, error");
}

// What the victim lost without any event of the kernel's is the host's, and what it lost by others is told apart.
void print_victim(const VictimNoise& noise, const Observed& observed, const victim::Comparison& all,
                  const victim::SourceRow& row) {
  const std::uint64_t other_suffered_ns = all.suffered_ns - row.suffered_ns;
  const std::uint64_t other_reported_ns = all.reported_ns - row.reported_ns();
  std::printf("%-10s %-23s %5llu %6.2f ms %6.2f ms %5.2f ms %+6.2f%%  %8.2f %8.2f; %6.2f %+6.2f%%\n", noise.what,
              (row.kind + " " + row.name).c_str(), static_cast<unsigned long long>(row.count), ms(row.suffered_ns),
              ms(row.explained_ns), ms(row.overhead_ns), 100 * deviation(row.reported_ns(), row.suffered_ns),
              ms(all.unreported_ns + all.beside_ns), ms(observed.account.steal_ns), ms(other_suffered_ns),
              100 * deviation(other_reported_ns, other_suffered_ns));
  std::fflush(stdout);
}

// What the victim lost beyond the events of one detour, in the median of its gaps that hold one detour, with this
// source alone; 0 without any.
std::uint64_t usual_cost_ns(const Observed& observed, const std::string& kind, const std::string& name) {
  std::vector<std::uint64_t> costs;
  const std::vector<victim::Gap>& gaps = observed.account.gaps;
  for (const DetourView& detour : observed.detours) {
    const bool alone = std::ranges::all_of(detour.entries, [&](const DetourEntryView& each) {
      return each.depth != 0 || (each.kind == kind && each.name == name);
    });
    const auto gap =
        std::ranges::partition_point(gaps, [&](const auto& each) { return each.end_ns < detour.start_ns; });
    if (!alone || gap == gaps.end() || gap->start_ns > detour.start_ns) continue;
    if (detour.start_ns + detour.duration_ns > gap->end_ns) continue;
    std::uint64_t events_ns = 0;
    for (const DetourEntryView& each : detour.entries) events_ns += each.self_ns;
    costs.push_back(gap->end_ns - gap->start_ns - std::min(gap->end_ns - gap->start_ns, events_ns));
  }
  if (costs.empty()) return 0;
  std::ranges::nth_element(costs, costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2));
  return costs[costs.size() / 2];
}

// While noise was made. What a gap has beyond twice the usual cost of an entry, by the victim's own clock, is not its
// cost, as in probe mode (account/overhead_bounds.h), and goes beside it.
victim::Comparison compare_with(const Observed& observed, const std::string& kind, const std::string& name) {
  victim::CompareOptions options;
  options.from_ns = observed.truth->first_ns;
  options.to_ns = observed.truth->last_ns;
  if (kind != "task") options.largest_overhead_ns = 2 * usual_cost_ns(observed, kind, name);
  return victim::compare(observed.account, observed.detours, options);
}

// How often the noise was made, each time anew and wholly within the time that is compared; and how often it lies in a
// gap of the victim's in which nothing at all was told.
struct Untold {
  std::uint64_t made = 0;
  std::uint64_t untold = 0;
};
Untold untold(const Observed& observed) {
  Untold counts;
  const auto holds = [](std::uint64_t start_ns, std::uint64_t end_ns, const selftest::Occurrence& each) {
    return start_ns <= each.end_ns && each.start_ns <= end_ns;
  };
  for (const selftest::Occurrence& each : observed.truth->occurrences) {
    const bool within =
        each.start_ns > observed.truth->first_ns + kVictimEdgeNs && each.end_ns < observed.truth->last_ns;
    counts.made += within && each.slept ? each.count : 0;
    const bool struck = std::ranges::any_of(
        observed.account.gaps, [&](const victim::Gap& gap) { return holds(gap.start_ns, gap.end_ns, each); });
    const bool told = std::ranges::any_of(observed.detours, [&](const DetourView& detour) {
      return holds(detour.start_ns, detour.start_ns + detour.duration_ns, each);
    });
    counts.untold += struck && !told ? 1 : 0;
  }
  return counts;
}

// Most of an interrupt of a few microseconds is no event of the kernel's, and differs from one to the next. What events
// tell was all suffered; of the timer's, what the daemon has measured beside them brings the report nearer to the
// truth.
void check_interrupts(const victim::SourceRow& row, bool is_timer) {
  CHECK(row.explained_ns <= row.suffered_ns);
  if (!is_timer) return;
  const double told = std::abs(deviation(row.reported_ns(), row.suffered_ns));
  const double events_alone = std::abs(deviation(row.explained_ns, row.suffered_ns));
  CHECK(told < events_alone);
}

// How far the report is from what was suffered.
double check_victim(const VictimNoise& noise, const Observed& observed) {
  const std::string name = noise.name.empty() ? observed.truth->sources.at(0).name : noise.name;
  const victim::Comparison all = compare_with(observed, noise.kind, name);
  const victim::SourceRow row = row_of(all, noise.kind, name);
  INFO(noise.what);
  REQUIRE(row.suffered_ns > 0);
  print_victim(noise, observed, all, row);
  CHECK(observed.account.gaps_missed == 0);
  const Untold counts = untold(observed);
  INFO(counts.made << " made, " << row.count << " told, " << counts.untold << " in gaps of which nothing is told");
  CHECK(counts.untold == 0);
  if (noise.kind == "task") CHECK(row.count >= counts.made);
  const double error = std::abs(deviation(row.reported_ns(), row.suffered_ns));
  if (noise.kind == "task") {
    CHECK(error <= kTolerance);
  } else {
    check_interrupts(row, name == "local_timer");
  }
  return error;
}

std::vector<VictimNoise> noises() {
  const std::string call = "call_function_single";
  return {{"task", {"task", "--work", "2ms", "--period", "20ms"}, "task", "", 5},
          {"short task", {"task", "--work", "1ms", "--period", "10ms"}, "task", "", 4},
          {"fair task", {"task", "--work", "2ms", "--period", "20ms", "--policy", "other"}, "task", "", 2},
          {"woken task", {"wake", "--work", "2ms", "--period", "20ms"}, "task", "", 3},
          {"hrtimer", {"hrtimer"}, "vector", "local_timer", 3},
          {"ipi", {"ipi"}, "vector", call, 3}};
}

}  // namespace

TEST_CASE("watch: what a victim suffers is what is reported, by source, in 20 runs") {
  if (is_emulated()) SKIP("emulated: entering the kernel takes as long as the noise");
  unsigned runs = 0;
  unsigned right = 0;
  print_head();
  for (const VictimNoise& noise : noises()) {
    const WatchingDaemon daemon;
    std::this_thread::sleep_for(std::chrono::milliseconds(800));  // it measures what entries cost
    for (unsigned run = 0; run < noise.runs; ++run, ++runs) {
      right += check_victim(noise, observe(daemon, {}, noise.arguments)) <= kTolerance ? 1 : 0;
    }
  }
  std::printf("%u of %u runs are right within %.0f%%\n", right, runs, 100 * kTolerance);
}

namespace {

// Each wait that is told of a time in which the victim slept, with where in its sleep.
std::string told_asleep(const std::vector<DetourView>& waits, const std::vector<victim::Sleep>& sleeps) {
  std::ostringstream text;
  for (const DetourView& wait : waits) {
    for (const victim::Sleep& sleep : sleeps) {
      if (wait.start_ns >= sleep.due_ns || wait.start_ns + wait.duration_ns <= sleep.start_ns) continue;
      const auto since = static_cast<std::int64_t>(wait.start_ns - sleep.start_ns);
      text << wait.loss << ", " << wait.duration_ns << " ns from " << since << " ns after it was to sleep for "
           << sleep.due_ns - sleep.start_ns << " ns, " << sleep.end_ns - sleep.due_ns << " ns late:";
      for (const DetourEntryView& entry : wait.entries)
        text << ' ' << entry.kind << ' ' << entry.name << ' ' << entry.self_ns << " ns";
      text << '\n';
    }
  }
  return text.str();
}

}  // namespace

TEST_CASE("watch: a victim that sleeps of its own will is told no loss meanwhile") {
  const WatchingDaemon daemon;
  for (const Arguments& noise : {Arguments{}, Arguments{"task", "--work", "2ms", "--period", "20ms"}}) {
    Observed observed = observe(daemon, {"--blocked", "1ms"}, noise);
    const victim::Account& account = observed.account;
    REQUIRE(account.sleeps.size() > 100);
    REQUIRE(account.voluntary_ns() > (account.last_ns - account.first_ns) / 2);
    // What interrupts it on its way to sleep is taken from its system call, not from its sleep.
    std::erase_if(observed.detours, [](const DetourView& each) { return each.loss == "interrupted"; });
    const victim::Comparison waits = victim::compare(account, observed.detours);
    std::printf("asleep %.1f ms of its own will, %.1f ms late; waits told %.2f ms, %.3f ms of it while it slept\n",
                ms(account.voluntary_ns()), ms(account.late_ns()), ms(waits.reported_ns), ms(waits.asleep_ns));
    INFO(told_asleep(observed.detours, account.sleeps));
    CHECK(waits.asleep_ns == 0);
    if (!noise.empty()) CHECK(waits.reported_ns > 0);
  }
}
