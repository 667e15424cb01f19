// SPDX-License-Identifier: Apache-2.0
// One run of noised is what the contract in design.md says, and leaves nothing behind.
#include <sched.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "base/cpus.h"
#include "command.h"
#include "left_behind.h"
#include "loads.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "report_checks.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

// Other user tasks off the CPU, this process and what it starts included, until the test is over.
class Quiet {
 public:
  explicit Quiet(unsigned cpu) : others_(cpu) {
    REQUIRE(sched_getaffinity(0, sizeof(before_), &before_) == 0);
    cpu_set_t set = before_;
    CPU_CLR(cpu, &set);
    REQUIRE(sched_setaffinity(0, sizeof(set), &set) == 0);
  }
  ~Quiet() { sched_setaffinity(0, sizeof(before_), &before_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  QuietCpu others_;
  cpu_set_t before_{};
};

Arguments noised_on(unsigned cpu, const std::string& socket, const Arguments& more) {
  Arguments arguments{kNoised, "--cpus", std::to_string(cpu), "--socket", socket};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Json measure(unsigned cpu, const std::string& socket) {
  // Emulated, each round of the loop may be longer than 200 ns: 310,000 detours were lost of one run.
  const std::string threshold = is_emulated() ? "5us" : "200ns";
  const Outcome outcome =
      run(noised_on(cpu, socket, {"--duration", "3s", "--report", "json", "--threshold", threshold}));
  INFO("standard error: " << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return object_in(outcome.out);
}

void check_nothing_missed(const Json& report, unsigned cpu) {
  INFO(report.at("lost").dump() << report.at("clock").dump());
  for (const auto& [reason, count] : report.at("lost").items()) {
    INFO(reason);
    if (reason == "by") {
      CHECK(count.empty());
    } else {
      CHECK(count == 0);
    }
  }
  if (!has_tick(cpu) && report.at("cpus").front().at("explained_ns") == 0) {
    CHECK(report.at("clock").at("containment").is_null());  // nothing happened there, so nothing had to be contained
    return;
  }
  REQUIRE(report.at("clock").at("containment").is_number());
  CHECK(report.at("clock").at("containment") >= 0.999);
  CHECK(report.at("clock").at("containment") <= 1);
}

void check_measured(const Json& report, unsigned cpu) {
  REQUIRE(report.at("cpus").size() == 1);
  const Json& line = report.at("cpus").front();
  INFO(line.dump() << report.at("sources").dump().substr(0, 600));
  CHECK(line.at("cpu") == cpu);
  CHECK(line.at("threshold_ns") == (is_emulated() ? 5'000 : 200));
  CHECK(line.at("detours") > 0);
  CHECK(report.at("elapsed_ns") >= 3'000'000'000U);
  CHECK(report.at("elapsed_ns") < 4'000'000'000U);
  CHECK(line.at("observed_ns") <= report.at("elapsed_ns"));
  CHECK(line.at("observed_ns") >= 2'900'000'000U);
  // A turn of the loop takes 9 ns or more on any machine of today, and less than 100 ns.
  CHECK(line.at("iterations") > 30'000'000U);
  CHECK(line.at("iterations") < 1'500'000'000U);
}

void keep_busy(std::uint64_t milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  std::jthread writer([milliseconds] { write_to_disk(milliseconds); });
  while (std::chrono::steady_clock::now() < end) {
  }
}

void check_three_runs(unsigned cpu, bool busy) {
  const TemporaryDirectory directory;
  const Quiet quiet(cpu);
  for (int turn = 1; turn <= 3; ++turn) {
    INFO("run " << turn);
    std::optional<std::jthread> load;
    if (busy) load.emplace([] { keep_busy(3500); });
    const Json report = measure(cpu, directory.path("socket"));
    load.reset();
    check_fields(report);
    check_ledger(report);
    check_measured(report, cpu);
    check_nothing_missed(report, cpu);
    CHECK(names_in(directory.path()).empty());
  }
  CHECK(programs_left_behind().empty());
}

void check_ends_on(int signal, const Arguments& report_flags) {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  const std::string socket = directory.path("made/socket");
  Arguments flags{"--duration", "1h"};
  flags.insert(flags.end(), report_flags.begin(), report_flags.end());
  Background daemon(noised_on(cpu, socket, flags));
  REQUIRE(eventually([&] { return run({kNoisectl, "--socket", socket, "status"}).exit_code == 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  daemon.signal(signal);
  const Outcome outcome = daemon.wait();
  INFO("standard error: " << outcome.err);
  CHECK(outcome.exit_code == 0);
  if (report_flags.empty()) {
    CHECK(outcome.out.empty());
  } else {
    const Json report = object_in(outcome.out);
    check_fields(report);
    check_ledger(report);
    CHECK(report.at("elapsed_ns") >= 700'000'000U);
    CHECK(report.at("elapsed_ns") < 10'000'000'000U);
  }
  CHECK(names_in(directory.path()).empty());
  CHECK(programs_left_behind().empty());
}

}  // namespace

TEST_CASE("a report is what the contract says and misses nothing, three times in a row, idle", "[core]") {
  check_three_runs(probed_cpu(), false);
}

TEST_CASE("a report is what the contract says and misses nothing, three times in a row, with a load elsewhere") {
  check_three_runs(probed_cpu(), true);
}

TEST_CASE("a text report prints a report for people", "[core]") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  const std::jthread timers = keep_sleeping_on(cpu);
  const Outcome outcome = run(noised_on(cpu, directory.path("socket"), {"--duration", "1s", "--report", "text"}));
  INFO(outcome.out);
  CHECK(outcome.exit_code == 0);
  for (const char* word : {"CPU", "local_timer", "overhead", "containment", "lost", "detours", "share"}) {
    INFO(word);
    CHECK(outcome.out.find(word) != std::string::npos);
  }
  CHECK(outcome.out.find_first_of("{}\"\t\r\x1b") == std::string::npos);
  CHECK(outcome.out.ends_with('\n'));
  for (const std::string& line : lines_of(outcome.out)) CHECK_FALSE(line.ends_with(' '));
}

TEST_CASE("SIGINT ends a run cleanly, with the report so far") { check_ends_on(SIGINT, {"--report", "json"}); }

TEST_CASE("SIGTERM ends a run cleanly, with the report so far") { check_ends_on(SIGTERM, {"--report", "json"}); }

TEST_CASE("SIGTERM ends a run without a report cleanly", "[core]") { check_ends_on(SIGTERM, {}); }

TEST_CASE("SIGTERM while it starts leaves nothing behind either") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  for (const int delay : {1, 5, 10, 20, 40, 80, 120, 160}) {
    INFO("after " << delay << " ms");
    Background daemon(noised_on(cpu, directory.path("made/socket"), {"--report", "json", "--duration", "1h"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    daemon.signal(SIGTERM);
    const int exit_code = daemon.wait().exit_code;
    CHECK((exit_code == 0 || exit_code == 128 + SIGTERM));  // the latter before it has read its arguments
    CHECK(names_in(directory.path()).empty());
  }
  CHECK(programs_left_behind().empty());
}

TEST_CASE("a directory that was there before the daemon stays") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path("before"));
  CHECK(run(noised_on(cpu, directory.path("before/socket"), {"--duration", "100ms"})).exit_code == 0);
  CHECK(names_in(directory.path()) == std::vector<std::string>{"before"});
  CHECK(names_in(directory.path("before")).empty());
}
