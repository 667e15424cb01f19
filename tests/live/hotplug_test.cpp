// SPDX-License-Identifier: Apache-2.0
// A CPU that goes offline while noised looks at it, and comes back.
#include <sched.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "base/cpus.h"
#include "command.h"
#include "measurement.h"
#include "processes.h"
#include "quiet_cpu.h"
#include "report_checks.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

constexpr std::chrono::seconds kOffline{2};

void skip_unless_asked() {
  if (std::getenv("NOISED_HOTPLUG") == nullptr) SKIP("it takes CPUs offline: for a guest, with NOISED_HOTPLUG=1");
}

// Offline from here until it is told to come back, or a test fails.
class OfflineCpu {
 public:
  explicit OfflineCpu(unsigned cpu)
      : file_("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online"), begun_ns_(monotonic_ns()) {
    INFO("taking CPU " << cpu << " offline (Linux 6.12 refuses that of isolated ones)");
    REQUIRE(set(0));
  }
  ~OfflineCpu() { (void)set(1); }
  OfflineCpu(const OfflineCpu&) = delete;
  OfflineCpu& operator=(const OfflineCpu&) = delete;

  void come_back() { REQUIRE(set(1)); }
  [[nodiscard]] std::uint64_t begun_ns() const { return begun_ns_; }

 private:
  [[nodiscard]] bool set(int value) const { return static_cast<bool>(std::ofstream(file_) << value << std::flush); }

  std::string file_;
  std::uint64_t begun_ns_;
};

std::vector<unsigned> common_cpus(const std::vector<unsigned>& some, const std::vector<unsigned>& others) {
  std::vector<unsigned> both;
  std::ranges::set_intersection(some, others, std::back_inserter(both));
  return both;
}

// A daemon with loops on these CPUs. The test, and what it starts, are elsewhere meanwhile.
class TestDaemon {
 public:
  TestDaemon(const std::vector<unsigned>& cpus, const Arguments& more) : socket_(directory_.path("socket")) {
    for (const unsigned cpu : common_cpus(cpus, online_cpus().value())) quiet_.emplace_back(cpu);
    Arguments all{kNoised,
                  "--cpus",
                  format_cpu_list(cpus),
                  "--threshold",
                  is_emulated() ? "50us" : "1us",
                  "--socket",
                  socket_,
                  "--web.listen-address",
                  ""};
    all.insert(all.end(), more.begin(), more.end());
    CommandOptions patient;
    patient.timeout = std::chrono::minutes(1);
    process_.emplace(all, patient);
    REQUIRE(eventually([this] { return run(command({"status"})).exit_code == 0; }, std::chrono::minutes(1)));
    // Not before: the daemon measures only where it may run.
    REQUIRE(sched_getaffinity(0, sizeof(before_), &before_) == 0);
    move_to(0, online_cpus().value().front());
  }
  ~TestDaemon() { sched_setaffinity(0, sizeof(before_), &before_); }
  TestDaemon(const TestDaemon&) = delete;
  TestDaemon& operator=(const TestDaemon&) = delete;

  [[nodiscard]] Arguments command(const Arguments& arguments) const {
    Arguments all{kNoisectl, "--socket", socket_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  [[nodiscard]] StatusView status() const {
    const Outcome outcome = run(command({"status", "--json"}));
    INFO(outcome.err);
    auto status = views::parse_status(outcome.out);
    if (!status) FAIL(status.error().line());
    return std::move(status).value();
  }
  // Of which the ledger was checked to add up.
  [[nodiscard]] Report report() const {
    const Outcome outcome = run(command({"report", "--json"}));
    INFO(outcome.err);
    check_ledger(object_in(outcome.out));
    auto report = views::parse_report(outcome.out);
    if (!report) FAIL(report.error().line());
    return std::move(report).value();
  }
  [[nodiscard]] ReportCpu cpu(unsigned cpu) const { return cpu_of(report(), cpu); }
  [[nodiscard]] Background& process() { return *process_; }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_.path(name); }

  void end() {
    process_->signal(SIGTERM);
    const Outcome outcome = process_->wait();
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
  }

 private:
  TemporaryDirectory directory_;
  std::deque<QuietCpu> quiet_;
  std::string socket_;
  std::optional<Background> process_;
  cpu_set_t before_{};
};

std::uint64_t lost_of(const Report& report, unsigned cpu, const std::string& reason) {
  std::uint64_t count = 0;
  for (const ReportLoss& loss : report.lost.by) count += loss.cpu == cpu && loss.reason == reason ? loss.count : 0;
  return count;
}

// Two tasks compete for this CPU while it goes offline, and go on elsewhere; then the CPU is there again.
void lose_cpu(WatchedTask& task, WatchedTask& rival, unsigned cpu) {
  std::jthread competition([&] { rival.work({.busy_ns = 1'500'000'000}); });
  std::jthread job([&] { task.work({.busy_ns = 1'500'000'000, .naps = 20, .pages = 100}); });
  task.wait_until_it_runs();
  rival.wait_until_it_runs();
  OfflineCpu offline(cpu);
  CHECK(may_run_on(task.pid(), online_cpus().value().front()));
  job.join();
  competition.join();
  offline.come_back();
}

using OwnTasks = std::map<std::pair<unsigned, std::string>, ReportSource>;

// What a report tells of the loads, by the CPU that it saw them on.
OwnTasks own_tasks(const Report& report) {
  OwnTasks own;
  for (const ReportSource& source : report.sources) {
    if (source.kind == "task" && source.name.starts_with("only-cpu")) own[{source.cpu, source.name}] = source;
  }
  return own;
}

// Of any kind: where tasks are watched, what is observed may be more than the time, for several wait at once.
Report report_in_parts(const Outcome& outcome) {
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  auto report = views::parse_report(outcome.out);
  REQUIRE(report);
  for (const ReportCpu& cpu : report.value().cpus) {
    INFO("CPU " << cpu.cpu);
    CHECK(cpu.explained_ns + cpu.overhead_ns + cpu.hypervisor_ns + cpu.hardware_ns + cpu.unexplained_ns ==
          cpu.detour_ns);
  }
  return std::move(report).value();
}

}  // namespace

TEST_CASE("hotplug: a task whose CPU goes offline is told as the kernel counts it, and its CPU is watched again") {
  skip_unless_asked();
  const unsigned cpu = probed_cpu();
  const WatchingDaemon daemon("all", "info");
  {
    WatchedTask task(cpu);
    WatchedTask rival(cpu);
    const KernelCounts before = counts_of(task.pid());
    const WatchReport report = watched_while(daemon, task.pid(), [&] {
      lose_cpu(task, rival, cpu);
      move_to(task.pid(), cpu);
      task.work({.busy_ns = 100'000'000, .naps = 20, .pages = 50});
    });
    check_as_the_kernel(report, task.pid(), before, counts_of(task.pid()));
    CHECK(report.counts.migrations >= 2);
    // All CPUs are watched: what is not seen of it was lost, and is counted.
    if (report.lost.by.empty()) CHECK(report.counts.unseen_runs == 0);
  }
  WatchedTask task(cpu);
  WatchedTask rival(cpu);
  const KernelCounts before = counts_of(task.pid());
  const WatchReport report = watched_while(daemon, task.pid(), [&] {
    std::jthread competition([&] { rival.work({.busy_ns = 600'000'000}); });
    rival.wait_until_it_runs();
    task.work({.busy_ns = 200'000'000, .naps = 20});
    competition.join();
  });
  check_as_the_kernel(report, task.pid(), before, counts_of(task.pid()));
  CHECK(report.counts.involuntary > 0);
  CHECK(report.counts.migrations == 0);
  CHECK(report.explained_ns > 0);
  const auto logged = [&](const std::string& text) {
    return eventually([&] { return daemon.log().find("CPU " + std::to_string(cpu) + text) != std::string::npos; });
  };
  CHECK(logged(" is offline: no task runs there"));
  CHECK(logged(" is watched again"));
  (void)report_in_parts(run(daemon.command({"report", "--json"})));
}

TEST_CASE(
    "hotplug: where only the CPU that went offline is watched, what its task did elsewhere is counted as unseen") {
  skip_unless_asked();
  const unsigned cpu = probed_cpu();
  const WatchingDaemon daemon(std::to_string(cpu));
  WatchedTask task(cpu);
  WatchedTask rival(cpu);
  const KernelCounts before = counts_of(task.pid());
  std::uint64_t elsewhere = 0;
  const WatchReport report = watched_while(daemon, task.pid(), [&] {
    lose_cpu(task, rival, cpu);
    const KernelCounts lost = counts_of(task.pid());
    move_to(task.pid(), online_cpus().value().front());
    task.work({.naps = 30});
    elsewhere = counts_of(task.pid()).runs - lost.runs;
    move_to(task.pid(), cpu);
    task.work({.busy_ns = 100'000'000, .naps = 20, .pages = 50});
  });
  check_as_the_kernel(report, task.pid(), before, counts_of(task.pid()));
  CHECK(elsewhere >= 30);
  CHECK(report.counts.unseen_runs >= elsewhere);
  CHECK(report.counts.runs >= 20);
}

TEST_CASE("hotplug: a loop that is aside when its CPU goes offline comes back with it, and what was blind is no more") {
  skip_unless_asked();
  const unsigned cpu = probed_cpu();
  TestDaemon daemon({cpu}, {"--mode", "auto", "--quiet-time", "50ms", "--log-level", "info"});
  const auto aside = [&] {
    const StatusView status = daemon.status();
    REQUIRE(status.mode == "auto");
    REQUIRE(status.aside);
    return status.aside->cpus;
  };
  REQUIRE(eventually([&] { return aside().empty() && daemon.cpu(cpu).iterations != 0; }));
  WatchedTask task(cpu);
  std::jthread job([&] { task.work({.busy_ns = 3'000'000'000}); });
  REQUIRE(eventually([&] { return aside() == std::to_string(cpu); }));
  // Time that the loop was aside for the task: were it taken for blind time, that would be twice as much.
  std::this_thread::sleep_for(kOffline);
  CHECK(aside() == std::to_string(cpu));
  const ReportCpu before = daemon.cpu(cpu);
  std::uint64_t begun_ns = 0;
  std::uint64_t surely_blind_ns = 0;
  {
    OfflineCpu offline(cpu);
    begun_ns = offline.begun_ns();
    move_to(task.pid(), online_cpus().value().front());
    // The task has gone: the loop is to come back, and cannot.
    REQUIRE(eventually([&] { return aside().empty() && daemon.cpu(cpu).blind_ns > before.blind_ns; }));
    const std::uint64_t blind_since_ns = monotonic_ns();
    std::this_thread::sleep_for(kOffline);
    CHECK(daemon.cpu(cpu).iterations == before.iterations);
    CHECK(aside().empty());
    surely_blind_ns = monotonic_ns() - blind_since_ns;
    offline.come_back();
  }
  job.join();
  REQUIRE(eventually([&] { return lost_of(daemon.report(), cpu, "loop_moved") != 0; }));
  const std::uint64_t most_ns = monotonic_ns() - begun_ns;
  const Report report = daemon.report();
  const ReportCpu after = cpu_of(report, cpu);
  const std::uint64_t blind_ns = after.blind_ns - before.blind_ns;
  INFO("blind for " << blind_ns << " ns, " << surely_blind_ns << " at least, " << most_ns << " at most; observed for "
                    << after.observed_ns << " of " << report.elapsed_ns);
  CHECK(blind_ns >= surely_blind_ns);
  CHECK(blind_ns <= most_ns);
  CHECK(after.observed_ns + after.blind_ns <= report.elapsed_ns);
  CHECK(lost_of(report, cpu, "loop_moved") == 1);
  // It observes again, and steps aside again.
  REQUIRE(eventually([&] { return aside().empty(); }));
  CHECK(eventually([&] {
    const ReportCpu now = daemon.cpu(cpu);
    return now.iterations > before.iterations && now.observed_ns > after.observed_ns;
  }));
  const std::uint64_t count = daemon.status().aside->count;
  {
    const Background next({"taskset", "-c", std::to_string(cpu), "sh", "-c", "while :; do :; done"});
    CHECK(eventually([&] { return aside() == std::to_string(cpu); }));
  }
  CHECK(eventually([&] { return aside().empty(); }));
  CHECK(daemon.status().aside->count > count);
  const Report last = daemon.report();
  CHECK(cpu_of(last, cpu).blind_ns == after.blind_ns);
  CHECK(cpu_of(last, cpu).observed_ns + after.blind_ns <= last.elapsed_ns);
  daemon.end();
  CHECK(daemon.process().err().find("is not measured: it is offline") != std::string::npos);
  CHECK(daemon.process().err().find("is measured again") != std::string::npos);
}

TEST_CASE("hotplug: a CPU that is offline at the start is taken in when it is there, and counted from then on") {
  skip_unless_asked();
  const std::vector<unsigned> cpus = measured_cpus();
  if (cpus.size() < 2) SKIP("one CPU is measured here: there is no other that is there at the start");
  const unsigned late = cpus.back();
  const std::string mode = GENERATE("probe", "watch", "auto");
  INFO(mode);
  OfflineCpu offline(late);
  TestDaemon daemon(cpus, {"--mode", mode, "--log-level", "info"});
  const auto is_said = [&](const std::string& text) {
    const std::string said = "CPU " + std::to_string(late) + text;
    return eventually([&] { return daemon.process().err().find(said) != std::string::npos; });
  };
  CHECK(is_said(mode == "watch" ? " is offline: no task runs there" : " is not measured: it is offline"));
  const auto run_there = [&](const std::string& name) {
    // It takes time from a task that always wants it, where that is watched, or from a loop.
    const Arguments there{"taskset", "-c", std::to_string(late)};
    Arguments spinner = there;
    spinner.insert(spinner.end(), {"sh", "-c", "while :; do :; done"});
    const Background victim(spinner);
    Arguments taker = there;
    taker.insert(taker.end(), {kSwarm, "rename", name, "100"});
    const Outcome outcome = run(taker);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
  };
  const ReportCpu before = cpu_of(report_in_parts(run(daemon.command({"report", "--json"}))), late);
  CHECK(before.detours == 0);
  CHECK(before.observed_ns == 0);
  if (mode != "watch") CHECK(before.blind_ns > 0);
  std::this_thread::sleep_for(kOffline);
  offline.come_back();
  CHECK(is_said(mode == "watch" ? " is watched again" : " is measured again"));
  run_there("0");
  const auto seen = [&](const ReportSource& source) {
    return source.cpu == late && source.name.starts_with("renamed-");
  };
  CHECK(eventually([&] { return std::ranges::any_of(daemon.report().sources, seen); }));
  const Report report = daemon.report();
  const ReportCpu after = cpu_of(report, late);
  CHECK(after.observed_ns > 0);
  if (mode == "probe") {
    CHECK(after.blind_ns >= before.blind_ns + 2'000'000'000);
    CHECK(after.observed_ns + after.blind_ns <= report.elapsed_ns);
  }
  CHECK(cpu_of(report, cpus.front()).cpu == cpus.front());
  daemon.end();
}

TEST_CASE("hotplug: a recording has what was blind of a CPU that went offline, and the other CPUs as they were told") {
  skip_unless_asked();
  const std::vector<unsigned> cpus = measured_cpus();
  if (cpus.size() < 2) SKIP("one CPU is measured here: there is no other that stays");
  const unsigned gone = cpus[cpus.size() / 2];
  TestDaemon daemon(cpus, {"--log-level", "error"});
  const std::string file = daemon.path("recording");
  CommandOptions patient;
  patient.timeout = std::chrono::minutes(1);
  // What is told twice around each end of the recording bounds what it may have.
  const Report earlier = daemon.report();
  Background recorder(daemon.command({"record", "-o", file}), patient);
  REQUIRE(eventually([&] { return std::filesystem::exists(file) && std::filesystem::file_size(file) > 1'000; }));
  const Report before = daemon.report();
  std::uint64_t surely_blind_ns = 0;
  {
    std::deque<Background> loads;
    for (const unsigned cpu : cpus) {
      loads.emplace_back(Arguments{"taskset", "-c", std::to_string(online_cpus().value().front()), kNoise, "task",
                                   "--cpu", std::to_string(cpu), "--name", own_task(cpu), "--work", "3ms", "--period",
                                   "60ms", "--duration", "6s"},
                         patient);
    }
    REQUIRE(eventually([&] { return own_tasks(daemon.report()).size() == cpus.size(); }));
    OfflineCpu offline(gone);
    const std::uint64_t begun_ns = monotonic_ns();
    std::this_thread::sleep_for(kOffline);
    surely_blind_ns = monotonic_ns() - begun_ns;
    offline.come_back();
    for (Background& load : loads) CHECK(load.wait().exit_code == 0);
  }
  REQUIRE(eventually([&] { return lost_of(daemon.report(), gone, "loop_moved") != 0; }));
  const auto bytes = std::filesystem::file_size(file);
  const Report live = daemon.report();
  REQUIRE(eventually([&] { return std::filesystem::file_size(file) > bytes; }));
  recorder.signal(SIGINT);
  const Outcome recorded = recorder.wait();
  INFO(recorded.err);
  REQUIRE(recorded.exit_code == 0);
  const Report later = daemon.report();
  for (const char* const command : {"report", "histogram", "status", "detours"}) {
    INFO(command);
    CHECK(run({kNoisectl, "--replay", file, command}, patient).exit_code == 0);
  }
  const Report played = report_in_parts(run({kNoisectl, "--replay", file, "report", "--json"}, patient));
  REQUIRE(played.cpus.size() == cpus.size());
  for (std::size_t place = 0; place < cpus.size(); ++place) {
    const unsigned cpu = cpus[place];
    const ReportCpu& told = played.cpus[place];
    INFO("CPU " << cpu << ": blind for " << told.blind_ns << " ns by the recording; " << earlier.cpus[place].blind_ns
                << ", " << before.cpus[place].blind_ns << ", " << live.cpus[place].blind_ns << ", "
                << later.cpus[place].blind_ns << " in all, live; offline for " << surely_blind_ns);
    CHECK(told.cpu == cpu);
    CHECK(told.blind_ns >= live.cpus[place].blind_ns - before.cpus[place].blind_ns);
    CHECK(told.blind_ns <= later.cpus[place].blind_ns - earlier.cpus[place].blind_ns);
    const std::uint64_t moved = lost_of(played, cpu, "loop_moved");
    CHECK(moved == (cpu == gone ? 1 : 0));
    CHECK(moved == lost_of(later, cpu, "loop_moved") - lost_of(earlier, cpu, "loop_moved"));
    // The loop of another CPU may have slept for a page, on several nodes, but not for so long.
    CHECK((told.blind_ns >= surely_blind_ns) == (cpu == gone));
  }
  // The loads ran while it was recorded, and no longer: of them, the recording has what the daemon tells of all its
  // life.
  const OwnTasks told = own_tasks(live);
  const OwnTasks again = own_tasks(played);
  CHECK(again.size() == told.size());
  for (const auto& [key, source] : told) {
    INFO(key.second << " on CPU " << key.first);
    const auto found = again.find(key);
    REQUIRE(found != again.end());
    CHECK(found->second.count == source.count);
    CHECK(found->second.total_ns == source.total_ns);
    CHECK(found->second.min_ns == source.min_ns);
    CHECK(found->second.max_ns == source.max_ns);
  }
  daemon.end();
}
