// SPDX-License-Identifier: Apache-2.0
// The loop's own work against the ledger, and what needs every event, asked of a running daemon.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "command.h"
#include "daemon.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

/// A recording of 3 s in which a task takes 2 ms of the CPU again and again.
std::string record_with(const TemporaryDirectory& directory, const std::string& flag, const std::string& value) {
  const unsigned cpu = probed_cpu();
  const QuietCpu quiet(cpu);
  const std::string file = directory.path("run");
  const Background noise({kNoise, "task", "--cpu", std::to_string(cpu), "--duration", "5s"});
  const Outcome live = run({kNoised, "--cpus", std::to_string(cpu), "--duration", "3s", flag, value, "--record", file,
                            "--socket", directory.path("socket"), "--log-level", "error"});
  INFO(live.err);
  REQUIRE(live.exit_code == 0);
  return file;
}

/// A row for each quantum that passed, also where the task took all of it; where something was not observed, that is
/// told.
void check_ftq_rows(const std::string& text, std::uint64_t quantum_ns) {
  std::uint64_t rows = 0;
  std::uint64_t empty = 0;
  std::uint64_t unobserved = 0;
  std::uint64_t gaps = 0;  // whose ends lay somewhere in a quantum
  std::uint64_t last_ns = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line.ends_with("not observed here")) {
      std::string hash;
      std::uint64_t quanta = 0;
      REQUIRE(words >> hash >> quanta);
      unobserved += quanta;
      ++gaps;
    }
    if (line.starts_with('#')) continue;
    std::uint64_t count = 0;
    REQUIRE(words >> last_ns >> count);
    ++rows;
    empty += count == 0 ? 1 : 0;
  }
  INFO(rows << " rows, " << empty << " without work, the last at " << last_ns << " ns, " << unobserved
            << " quanta not observed");
  CHECK(empty > 0);
  // Its work may have begun late in the last quantum.
  const std::uint64_t passed = last_ns / quantum_ns + 1;
  CHECK(rows + unobserved + gaps >= passed);
  CHECK(rows + unobserved <= passed + 1 + gaps);
}

}  // namespace

TEST_CASE("series: the work that FTQ misses is what the ledger says was taken") {
  const TemporaryDirectory directory;
  const std::string file = record_with(directory, "--quantum", "1ms");
  const Outcome compared = run({kNoisectl, "--replay", file, "ftq", "--compare", "--json"});
  INFO(compared.out << compared.err);
  REQUIRE(compared.exit_code == 0);
  const auto agreement = nlohmann::json::parse(compared.out);
  // Quanta that a detour of several ms swallows have no sample of their own.
  CHECK(agreement["quanta"].get<std::uint64_t>() > 500);
  CHECK(agreement["quanta"].get<std::uint64_t>() <= 3'100);
  CHECK(agreement["detours"]["correlation"].get<double>() > 0.9);
  CHECK(agreement["intervals"]["correlation"].get<double>() > 0.5);
  check_ftq_rows(run({kNoisectl, "--replay", file, "ftq"}).out, 1'000'000);
  const Outcome none = run({kNoisectl, "--replay", file, "fwq"});
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("--work 100000") != std::string::npos);
  const Outcome latency = run({kNoisectl, "--replay", file, "latencytest"});
  INFO(latency.out);
  CHECK(latency.exit_code == 0);
  CHECK(latency.out.find("involuntary context switches: not known") == std::string::npos);
}

TEST_CASE("series: each portion of work has its time") {
  const TemporaryDirectory directory;
  const std::string file = record_with(directory, "--work", "100000");
  const Outcome played = run({kNoisectl, "--replay", file, "fwq"});
  INFO(played.err);
  REQUIRE(played.exit_code == 0);
  CHECK(lines_in(played.out) > 100);
  CHECK(run({kNoisectl, "--replay", file, "ftq"}).exit_code == 1);
}

TEST_CASE("series: what needs every event records a running daemon first") {
  const Daemon daemon;
  const TemporaryDirectory directory;
  const std::string page = directory.path("page.html");
  const auto succeeds = [&](const Arguments& arguments) {
    const Outcome outcome = run(daemon.command(arguments));
    INFO(arguments.front() << ": " << outcome.err);
    CHECK(outcome.exit_code == 0);
    return outcome.out;
  };
  const auto density = nlohmann::json::parse(succeeds({"density", "--duration", "1s", "--json"}));
  CHECK(density["cpus"].size() == 1);
  CHECK(succeeds({"latencytest", "--duration", "1s"}).find("events over 1 us") != std::string::npos);
  CHECK(succeeds({"selfish", "--duration", "1s"}).starts_with("# Selfish Benchmark\n"));
  succeeds({"report", "--html", page, "--duration", "1s"});
  CHECK(std::filesystem::file_size(page) > 10'000);
  for (const char* const format : {"perfetto", "paraver", "ctf", "csv"}) {
    succeeds({"export", "--format", format, "-o", directory.path(format), "--duration", "1s"});
  }
  CHECK(std::filesystem::exists(directory.path("paraver.prv")));
  CHECK(std::filesystem::exists(directory.path("ctf/metadata")));
  CHECK(std::filesystem::exists(directory.path("csv/detours.csv")));
  CHECK(succeeds({"report", "--by", "sources"}).find("stddev") != std::string::npos);
  CHECK(succeeds({"report", "--by", "events", "--csv"}).starts_with("category,source,cpu,"));
  CHECK_FALSE(succeeds({"histogram", "--range", "1us-1ms"}).empty());
}
