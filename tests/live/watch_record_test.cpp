// SPDX-License-Identifier: Apache-2.0
// Watched tasks, recorded and played again by the real programs.
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "command.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"
#include "views/watch.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

// By what tells losses apart: a task loses no time twice.
using Losses = std::map<std::pair<std::uint32_t, std::uint64_t>, std::string>;

Losses losses_in(const std::string& lines) {
  Losses losses;
  for (const std::string& line : lines_of(lines)) {
    if (const auto detour = views::parse_detour(line))
      losses[{detour.value().pid, detour.value().start_ns}] = views::to_json(detour.value());
  }
  return losses;
}

// Without what tells of the session, not of the tasks; nor, of a recording, anything of steal time.
std::string of_tasks(WatchReport report) {
  report.steal.reset();  // a recording knows neither
  report.untold.reset();
  report.elapsed_ns = 0;
  report.final = true;
  report.lost = {};
  return views::to_json(report);
}

void work_together(WatchedTask& task, WatchedTask& rival) {
  std::thread competition([&] { rival.work({.busy_ns = 300'000'000, .naps = 50}); });
  task.work({.busy_ns = 200'000'000, .naps = 50, .pages = 200});
  competition.join();
}

}  // namespace

TEST_CASE("watch record: what is replayed is what the daemon told") {
  const WatchingDaemon daemon;
  const TemporaryDirectory directory;
  const std::string file = directory.path("run");
  WatchedTask task(probed_cpu());
  WatchedTask rival(probed_cpu());
  const std::string pid = std::to_string(task.pid());
  Background session(daemon.command({"watch", "--pid", pid, "--follow", "--json"}));
  Background follower(daemon.command({"detours", "--follow", "--json"}));
  REQUIRE(eventually([&] { return !session.out().empty() && !follower.out().empty(); }));
  Background recorder(daemon.command({"record", "-o", file}));
  REQUIRE(eventually([&] { return std::filesystem::exists(file) && std::filesystem::file_size(file) > 1'000; }));
  work_together(task, rival);
  const std::size_t told = lines_of(session.out()).size();
  const auto recorded_bytes = std::filesystem::file_size(file);
  REQUIRE(eventually([&] { return lines_of(session.out()).size() >= told + 2; }));
  REQUIRE(eventually([&] { return std::filesystem::file_size(file) > recorded_bytes; }));
  recorder.signal(SIGINT);
  const Outcome recorded = recorder.wait();
  INFO(recorded.err);
  REQUIRE(recorded.exit_code == 0);
  follower.signal(SIGINT);
  session.signal(SIGTERM);

  const Outcome played = run({kNoisectl, "--replay", file, "detours", "--json"});
  INFO(played.err);
  REQUIRE(played.exit_code == 0);
  const Losses replayed = losses_in(played.out);
  const Losses shown = losses_in(follower.wait().out);
  CHECK(replayed.size() > 100);
  std::size_t different = 0;
  for (const auto& [key, text] : replayed) {
    const auto found = shown.find(key);
    different += found == shown.end() || found->second != text ? 1 : 0;
  }
  INFO(different << " of " << replayed.size() << " losses are not as they were shown");
  CHECK(different == 0);

  const WatchReport live = report_in(session.wait().out);
  const WatchReport again = report_in(run({kNoisectl, "--replay", file, "watch", "--pid", pid, "--json"}).out);
  REQUIRE(live.tasks.size() == 1);
  CHECK(live.counts.involuntary > 0);
  CHECK(live.stolen_ns > 0);
  CHECK(of_tasks(again) == of_tasks(live));
}

TEST_CASE("watch record: a whole run, played, gives the report that it gave itself") {
  const TemporaryDirectory directory;
  const QuietCpu quiet(probed_cpu());
  const std::string file = directory.path("run");
  Background daemon({kNoised, "--mode", "watch", "--cpus", "all", "--duration", "4s", "--report", "json", "--record",
                     file, "--socket", directory.path("socket"), "--log-level", "error"});
  WatchedTask task(probed_cpu());
  WatchedTask rival(probed_cpu());
  REQUIRE(eventually([&] { return std::filesystem::exists(file) && std::filesystem::file_size(file) > 1'000; }));
  work_together(task, rival);
  const Outcome live = daemon.wait();
  INFO(live.err);
  REQUIRE(live.exit_code == 0);
  const Outcome played = run({kNoisectl, "--replay", file, "report", "--json"});
  INFO(played.err);
  REQUIRE(played.exit_code == 0);
  CHECK(played.out == live.out);
  const auto report = views::parse_report(played.out);
  REQUIRE(report);
  CHECK(report.value().cpus.at(0).mode == "watch");
  const WatchReport watched = report_in(run({kNoisectl, "--replay", file, "watch", "--json"}).out);
  CHECK(watched.tasks_seen > 2);
  CHECK(watched.stolen_ns > 0);
  const Outcome none = run({kNoisectl, "--replay", file, "watch", "--comm", "nobody"});
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("comm nobody") != std::string::npos);
  for (const char* const command : {"histogram", "status", "watch", "detours"}) {
    INFO(command);
    CHECK(run({kNoisectl, "--replay", file, command}).exit_code == 0);
  }
  for (const char* const command : {"density", "advise", "phases", "selfish"}) {
    const Outcome refused = run({kNoisectl, "--replay", file, command});
    INFO(command << ": " << refused.err);
    CHECK(refused.exit_code == 1);
    CHECK(refused.err.find("mode = \"probe\"") != std::string::npos);
  }
  for (const char* const format : {"csv", "ctf", "paraver", "perfetto"}) {
    INFO(format);
    CHECK(run({kNoisectl, "export", "--format", format, "-o", directory.path(format), file}).exit_code == 0);
  }
  CHECK(std::filesystem::file_size(directory.path("csv") + "/runs.csv") > 1'000);
}
