// SPDX-License-Identifier: Apache-2.0
// noised --mode watch.
#include "watching_daemon.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "measurement.h"
#include "report_checks.h"

namespace noised::live {
WatchingDaemon::WatchingDaemon(const std::string& cpus, const std::string& log_level)
    : quiet_(probed_cpu()), socket_(directory_.path("socket")) {
  process_.emplace(Arguments{kNoised, "--mode", "watch", "--cpus", cpus, "--socket", socket_, "--web.listen-address",
                             "", "--log-level", log_level});
  // Until it has measured what entries cost, its own threads are noise, and keep a CPU from idling. Where it saw too
  // little it begins again: that no such thread is there for now says nothing.
  REQUIRE(eventually([this] {
    const auto answer = run(command({"status", "--json"}));
    if (answer.exit_code != 0) return false;
    if (Json::parse(answer.out).at("entry_cost").at("state") != "measuring") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // whoever asks is noise, too
    return false;
  }));
}

Arguments WatchingDaemon::command(const Arguments& arguments) const {
  Arguments all{kNoisectl, "--socket", socket_};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

WatchReport report_in(const std::string& text) {
  auto lines = lines_of(text);
  // After it comes how the command ended: a timeout of busybox is killed itself, and others end with a number.
  while (!lines.empty() && !lines.back().starts_with('{')) lines.pop_back();
  REQUIRE_FALSE(lines.empty());
  auto report = views::parse_watch(lines.back());
  if (!report) FAIL(report.error().line());
  return std::move(report).value();
}

Watched watch_command(const WatchingDaemon& daemon, const Arguments& program, const Arguments& options) {
  Arguments arguments{"watch", "--json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), program.begin(), program.end());
  CommandOptions patient;
  patient.timeout = std::chrono::minutes(is_emulated() ? 6 : 2);
  const Outcome outcome = run(daemon.command(arguments), patient);
  // What went wrong stands at the end, after lines of reports.
  INFO(outcome.err.substr(outcome.err.size() - std::min<std::size_t>(outcome.err.size(), 600)));
  INFO(daemon.log());
  REQUIRE(outcome.exit_code == 0);
  return {report_in(outcome.err), outcome.out};
}

WatchReport watched_while(const WatchingDaemon& daemon, const std::vector<pid_t>& pids,
                          const std::function<void()>& act) {
  CommandOptions patient;
  patient.timeout = std::chrono::minutes(1);
  Arguments arguments{"watch", "--follow", "--json", "--duration", "90s"};
  for (const pid_t pid : pids) arguments.insert(arguments.end(), {"--pid", std::to_string(pid)});
  Background session(daemon.command(arguments), patient);
  REQUIRE(eventually([&] { return !session.out().empty(); }));
  act();
  const std::size_t before = lines_of(session.out()).size();
  REQUIRE(eventually([&] { return lines_of(session.out()).size() >= before + 2; }));  // one that began after it
  session.signal(SIGTERM);
  const Outcome outcome = session.wait();
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return report_in(outcome.out);
}

WatchReport watched_while(const WatchingDaemon& daemon, pid_t pid, const std::function<void()>& act) {
  return watched_while(daemon, std::vector{pid}, act);
}

void check_as_the_kernel(const WatchReport& report, pid_t pid, const KernelCounts& before, const KernelCounts& after) {
  const WatchCounts& counts = report.counts;
  REQUIRE(report.tasks.size() == 1);
  CHECK(report.tasks[0].pid == static_cast<std::uint32_t>(pid));
  CHECK(counts.voluntary == after.voluntary - before.voluntary);
  CHECK(counts.involuntary == after.involuntary - before.involuntary);
  CHECK(counts.runs + counts.unseen_runs == after.runs - before.runs);
  CHECK(counts.minor_faults == after.minor_faults - before.minor_faults);
  const auto waited_ns = static_cast<double>(counts.preempted_ns + counts.queued_ns + counts.unseen_wait_ns);
  const auto kernel_ns = static_cast<double>(after.wait_ns - before.wait_ns);
  INFO(waited_ns << " ns of waits told, " << kernel_ns << " ns by the kernel; " << counts.run_ns << " ns run, "
                 << report.runnable_ns << " runnable, " << report.stolen_ns << " stolen, of " << report.elapsed_ns);
  CHECK(std::abs(waited_ns - kernel_ns) <= 0.01 * kernel_ns);
  CHECK(report.runnable_ns == counts.run_ns + counts.preempted_ns + counts.queued_ns);
  CHECK(report.runnable_ns + counts.unseen_wait_ns <= report.elapsed_ns);
  CHECK(counts.max_wait_ns <= counts.preempted_ns + counts.queued_ns);
  CHECK(report.stolen_ns <= report.runnable_ns);
  CHECK(report.explained_ns + report.overhead_ns + report.hypervisor_ns + report.hardware_ns + report.unexplained_ns ==
        report.stolen_ns);
}

}  // namespace noised::live
