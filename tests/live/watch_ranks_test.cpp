// SPDX-License-Identifier: Apache-2.0
// Ranks of parallel jobs, by what launchers put into environments.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>

#include "command.h"
#include "measurement.h"
#include "unit/base/temporary_directory.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

const WatchRank* rank_in(const WatchReport& report, std::uint32_t number) {
  const auto found = std::ranges::find(report.ranks, number, &WatchRank::rank);
  return found == report.ranks.end() ? nullptr : &*found;
}

std::uint64_t stolen_of(const WatchReport& report, std::uint32_t rank) {
  std::uint64_t sum = 0;
  for (const WatchTask& task : report.tasks) sum += task.rank == rank ? task.stolen_ns : 0;
  return sum;
}

CommandOptions with(const std::string& variable) {
  CommandOptions options;
  options.environment = {variable};
  return options;
}

}  // namespace

TEST_CASE("watch ranks: of two, the one that was disturbed lost more, and is first") {
  const WatchingDaemon daemon;
  // One sleeps nearly all the time, so that nobody can take much from it; one works.
  const test::TemporaryDirectory directory;
  const std::string nothing = directory.path("nothing");  // bash's own way to such a file needs a /dev/fd
  REQUIRE(mkfifo(nothing.c_str(), 0600) == 0);
  const Background calm({"bash", "-c", "exec 3<>\"$0\"; while :; do read -t 0.01 -u 3; done", nothing},
                        with("PMI_RANK=0"));
  const Background disturbed({"taskset", "-c", std::to_string(probed_cpu()), "sh", "-c", "while :; do :; done"},
                             with("PMI_RANK=1"));
  WatchedTask rival(probed_cpu());
  const WatchReport report =
      watched_while(daemon, {calm.pid(), disturbed.pid()}, [&] { rival.work({.busy_ns = 600'000'000}); });
  REQUIRE(report.ranks.size() == 2);
  CHECK(report.rank_unknown == 0);
  const WatchRank& worst = report.ranks.front();
  CHECK(worst.rank == 1);
  CHECK(worst.processes == 1);
  CHECK(worst.tasks == 1);
  CHECK(worst.stolen_ns >= 500'000'000);  // the rival's, who had the CPU so long
  REQUIRE_FALSE(worst.categories.empty());
  CHECK(worst.categories.front().first == "preemption");
  CHECK(report.ranks.back().rank == 0);
  for (const WatchRank& rank : report.ranks) CHECK(rank.stolen_ns == stolen_of(report, rank.rank));
  CHECK(report.ranks[0].stolen_ns + report.ranks[1].stolen_ns == report.stolen_ns);
  CHECK(report.ranks[0].runnable_ns + report.ranks[1].runnable_ns == report.runnable_ns);
}

TEST_CASE("watch ranks: Open MPI's, with the processes that they start, and not mpirun") {
  if (run({"sh", "-c", "command -v mpirun"}).exit_code != 0) SKIP("no Open MPI");
  const WatchingDaemon daemon;
  CommandOptions options;
  options.timeout = std::chrono::seconds(60);
  const Outcome outcome =
      run(daemon.command({"watch", "--json", "--interval", "100ms", "--", "mpirun", "--allow-run-as-root",
                          "--oversubscribe", "--bind-to", "none", "-n", "3", "sh", "-c", "sleep 1; sleep 1"}),
          options);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const WatchReport report = report_in(outcome.err);
  REQUIRE(report.ranks.size() == 3);
  for (std::uint32_t number = 0; number < 3; ++number) {
    const WatchRank* const rank = rank_in(report, number);
    REQUIRE(rank != nullptr);
    CHECK(rank->processes >= 2);  // the shell, and sleep
    CHECK_FALSE(rank->job.empty());
    CHECK(rank->job == report.ranks[0].job);
  }
  for (const WatchTask& task : report.tasks) {
    INFO(task.pid << " " << task.name);
    if (task.name == "mpirun") CHECK_FALSE(task.rank);
    if (task.name == "sh" || task.name == "sleep") CHECK(task.rank);
  }
}
