// SPDX-License-Identifier: Apache-2.0
// noisectl watch where no daemon watches: it brings one, for as long as it needs it, and leaves nothing behind.
#include <signal.h>

#include <fmt/format.h>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/text.h"
#include "command.h"
#include "daemon.h"
#include "left_behind.h"
#include "measurement.h"
#include "processes.h"
#include "selftest/truth.h"
#include "system/proc_tasks.h"
#include "unit/base/temporary_directory.h"
#include "unit/base/texts.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;
using noised::test::has;

namespace {

// noised is found by PATH.
CommandOptions finds_noised() {
  CommandOptions options;
  options.timeout = std::chrono::minutes(3);
  options.environment = {"PATH=" + std::filesystem::path(kNoised).parent_path().string() + ":/usr/bin:/bin"};
  return options;
}

// The daemons that noisectl has started, or one of them has, by their sockets; and what is left of those.
std::vector<pid_t> own_daemons(const std::string& of = "") {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto pid = to_number<pid_t>(entry.path().filename().string());
    if (!pid) continue;
    const auto words = read_file(entry.path() / "cmdline");
    if (words && has(words.value(), "/run/noisectl-watch-" + of)) pids.push_back(*pid);
  }
  return pids;
}

std::vector<std::string> left_in_run() {
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator("/run")) {
    if (entry.path().filename().string().starts_with("noisectl-watch-")) left.push_back(entry.path());
  }
  return left;
}

void check_nothing_left() {
  // One that is killed while it starts ends when it has started.
  CHECK(eventually([] { return own_daemons().empty(); }, std::chrono::minutes(1)));
  CHECK(left_in_run().empty());
  CHECK(programs_left_behind().empty());
}

}  // namespace

TEST_CASE("watch: where no daemon is, a command is watched by one that comes and goes with it", "[core]") {
  const test::TemporaryDirectory directory;
  const Arguments watch{kNoisectl, "--socket", directory.path("nobody"), "watch", "--json", "--"};
  Arguments command = watch;
  command.insert(command.end(), {"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 7"});
  const Outcome outcome = run(command, finds_noised());
  INFO(outcome.err);
  CHECK(outcome.exit_code == 7);
  CHECK(outcome.out.empty());
  const WatchReport report = report_in(outcome.err);
  CHECK(report.final);
  CHECK(report.tasks_seen == 1);
  CHECK(report.counts.runs > 0);
  CHECK(report.counts.unseen_runs == 0);
  CHECK(report.runnable_ns > 50'000'000);
  check_nothing_left();

  // Who may not start one is told what to do.
  CommandOptions nobody = finds_noised();
  nobody.user = 65534;
  const Outcome refused = run({kNoisectl, "--socket", "/nonexistent/socket", "watch", "--", "true"}, nobody);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.err, "no daemon at "));
  CHECK(left_in_run().empty());
  // Nor is a command started where none can be.
  CommandOptions lost = finds_noised();
  lost.environment = {"PATH=/nonexistent"};
  const std::string made = directory.path("made");
  const Outcome missing =
      run({kNoisectl, "--socket", directory.path("nobody"), "watch", "--", "/usr/bin/touch", made}, lost);
  if (!std::filesystem::exists("/usr/sbin/noised") && !std::filesystem::exists("/usr/local/sbin/noised")) {
    CHECK(missing.exit_code == 1);
    CHECK(has(missing.err, "noised is not in PATH"));
    CHECK_FALSE(std::filesystem::exists(made));
  }
}

TEST_CASE("watch: whoever is killed, the daemon that came with it does not stay") {
  const test::TemporaryDirectory directory;
  const std::string socket = directory.path("nobody");
  SECTION("noisectl") {
    Background watch({kNoisectl, "--socket", socket, "watch", "--", "sleep", "3"}, finds_noised());
    REQUIRE(eventually([&] { return !own_daemons().empty(); }, std::chrono::minutes(1)));
    watch.signal(SIGKILL);
    (void)watch.wait();
    check_nothing_left();
  }
  SECTION("its daemon") {
    const std::string made = directory.path("made");
    Background watch({kNoisectl, "--socket", socket, "watch", "--", "sh", "-c", "echo >" + made + "; sleep 3; exit 7"},
                     finds_noised());
    REQUIRE(eventually([&] { return std::filesystem::exists(made); }, std::chrono::minutes(1)));
    for (const pid_t pid : own_daemons(std::to_string(watch.pid()))) (void)::kill(pid, SIGKILL);
    const Outcome outcome = watch.wait();
    INFO(outcome.err);
    CHECK(outcome.exit_code == 1);  // what was told is printed, and that it is not all
    CHECK(has(outcome.err, "went away"));
    CHECK(has(outcome.err, "ended with 7"));
    check_nothing_left();
  }
  SECTION("the command") {
    Background watch({kNoisectl, "--socket", socket, "watch", "--", "sh", "-c", "kill -KILL $$"}, finds_noised());
    CHECK(watch.wait().exit_code == 128 + SIGKILL);
    check_nothing_left();
  }
}

TEST_CASE("watch: beside a daemon with loops, a command is watched on the other CPUs, and the loops go on") {
  Daemon daemon;
  std::vector<unsigned> others = online_cpus().value();
  std::erase(others, daemon.cpu());
  const Outcome outcome =
      run({"taskset", "-c", format_cpu_list(others), kNoisectl, "--socket", daemon.socket(), "watch", "--json", "--",
           "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"},
          finds_noised());
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const WatchReport report = report_in(outcome.err);
  CHECK(report.final);
  CHECK(report.counts.runs > 0);
  CHECK(report.counts.unseen_runs == 0);
  // Its loop was on its CPU all the time.
  const Outcome loops = run(daemon.command({"check", "--max-detour", "1h"}));
  INFO(loops.out << loops.err);
  CHECK(loops.exit_code == 0);
  check_nothing_left();

  // Who may not start one is told that this daemon has none.
  CommandOptions nobody = finds_noised();
  nobody.user = 65534;
  const std::filesystem::path socket = daemon.socket();
  std::filesystem::permissions(socket, std::filesystem::perms::all);
  std::filesystem::permissions(socket.parent_path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const Outcome refused = run({kNoisectl, "--socket", socket, "watch", "--", "true"}, nobody);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.err, "mode = \"watch\""));
}

namespace {

// What a command that computes on this CPU lost to a task there, and what that took by its own account. Beyond the work
// that it was to do, this is time that the host took from it: its clock counts that, and no switch tells of it.
struct Stolen {
  double told_ns = 0;
  double took_ns = 0;
  double by_host_ns = 0;
  double from_begin_to_end_ns = 0;
};
constexpr double kWorkNs = 10e6;

Stolen stolen_by_thief(const Arguments& noisectl, unsigned cpu) {
  const test::TemporaryDirectory directory;
  const std::string made = directory.path("made");
  const std::string there = std::to_string(cpu);
  Arguments watch = noisectl;
  watch.insert(watch.end(), {"watch", "--json", "--", "timeout", "6", "taskset", "-c", there, "sh", "-c",
                             "echo >" + made + "; while :; do :; done"});
  Background watched(watch, finds_noised());
  REQUIRE(eventually([&] { return std::filesystem::exists(made); }, std::chrono::minutes(1)));
  // It needs another CPU than this one, which may be the only one that is not isolated.
  const Outcome thief = run({"taskset", "-c", format_cpu_list(online_cpus().value()), kNoise, "task", "--cpu", there,
                             "--duration", "3s", "--name", "thief", "--period", "50ms", "--work", "10ms"},
                            finds_noised());
  INFO(thief.err);
  REQUIRE(thief.exit_code == 0);
  auto truth = selftest::parse_truth(thief.out);
  REQUIRE(truth);
  Stolen stolen;
  for (const selftest::Occurrence& each : truth.value().occurrences) {
    stolen.took_ns += static_cast<double>(each.cpu_ns);
    stolen.from_begin_to_end_ns += static_cast<double>(each.end_ns - each.start_ns);
    stolen.by_host_ns += std::max(0.0, static_cast<double>(each.cpu_ns) - 1.05 * kWorkNs);
  }
  const Outcome outcome = watched.wait();
  INFO(outcome.err);
  const WatchReport report = report_in(outcome.err);
  CHECK(report.final);
  CHECK(report.lost.by.empty());
  std::string told;
  for (const ReportSource& source : report.sources) {
    if (source.name != "thief") continue;
    stolen.told_ns += static_cast<double>(source.total_ns);
    told += fmt::format("{} in {} times, {} at most; ", source.total_ns, source.count, source.max_ns);
  }
  WARN(told << truth.value().occurrences.size() << " activations; " << noisectl[2] << ": " << stolen.told_ns << " of "
            << stolen.took_ns << " ns, of which " << stolen.by_host_ns << " may be the host's; "
            << stolen.from_begin_to_end_ns << " ns from its begins to its ends");
  return stolen;
}

}  // namespace

// Of what it took some is the interrupts' that came meanwhile, and some nobody's: switches to it and from it, which
// take 180 us in an emulated guest.
TEST_CASE("watch: a command lost the same to a task whether a daemon watches, has loops, or is not there") {
  const unsigned cpu = online_cpus().value().front();
  std::vector<Stolen> all;
  {
    const WatchingDaemon daemon;
    all.push_back(stolen_by_thief(daemon.command({}), cpu));
  }
  {
    Daemon daemon;
    REQUIRE(daemon.cpu() != cpu);
    all.push_back(stolen_by_thief(daemon.command({}), cpu));
  }
  const test::TemporaryDirectory directory;
  all.push_back(stolen_by_thief({kNoisectl, "--socket", directory.path("nobody")}, cpu));
  for (const Stolen& each : all) {
    CHECK(each.told_ns > 0.9 * (each.took_ns - each.by_host_ns));
    CHECK(each.told_ns < 1.1 * each.took_ns);
  }
  check_nothing_left();
}
