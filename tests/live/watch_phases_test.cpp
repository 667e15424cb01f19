// SPDX-License-Identifier: Apache-2.0
// Applications that mark their phases, beside their own account of them and beside noise that was made on purpose.
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "measurement.h"
#include "selftest/truth.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

const MarkedPhase& phase_of(const WatchReport& report, const std::string& name) {
  for (const MarkedPhase& phase : report.phases) {
    if (phase.name == name) return phase;
  }
  FAIL("no phase '" << name << "' among " << report.phases.size());
  return report.phases.front();
}

void check_phases_complete(const WatchReport& report) {
  REQUIRE(report.marks);
  CHECK(report.marks->marks == 0);
  CHECK(report.marks->unpaired == 0);
  CHECK(report.marks->unsettled == 0);
  CHECK(report.marks->early == 0);
  CHECK(report.marks->unwatched == 0);
  CHECK(report.marks->files == 0);
  CHECK(report.marks->losses == 0);
  for (const MarkedPhase& phase : report.phases) {
    std::uint64_t sources_ns = 0;
    for (const MarkedSource& source : phase.sources) sources_ns += source.total_ns;
    CHECK(sources_ns == phase.all.stolen_ns);
    CHECK(phase.all.stolen_ns <= phase.all.total_ns);
  }
}

bool has_program(const std::string& name) { return run({"sh", "-c", "command -v " + name}).exit_code == 0; }

// Whatever is built of it lies there.
Outcome built(const test::TemporaryDirectory& directory, Arguments command) {
  Arguments all{"sh", "-c", R"(cd "$0" && exec "$@")", directory.path()};
  all.insert(all.end(), command.begin(), command.end());
  CommandOptions options;
  options.timeout = std::chrono::seconds(60);
  return run(all, options);
}

}  // namespace

TEST_CASE("watch phases: each phase is counted, with its own duration, and late ones name the task that made them so") {
  constexpr std::uint64_t kPhases = 1500;
  const WatchingDaemon daemon;
  const std::string cpu = std::to_string(probed_cpu());
  // Far above the host's stalls of up to 10 ms in 1 run of 4, which make phases late and are nothing that events tell:
  // with 2 ms of noise, a sum over the late ones was judged wrong in 8 of 56 runs.
  Background noise({kNoise, "task", "--work", "10ms", "--period", "100ms", "--duration", "10s", "--cpu", cpu});
  const Outcome outcome =
      run(daemon.command({"watch", "--phases", "--json", "--", kMarker, std::to_string(kPhases), "1000", cpu}));
  noise.signal(SIGINT);
  REQUIRE(outcome.exit_code == 0);
  const WatchReport report = report_in(outcome.err);
  check_phases_complete(report);
  const auto own = nlohmann::json::parse(outcome.out);
  const MarkedPhase& compute = phase_of(report, "compute");
  CHECK(compute.all.count == kPhases);
  CHECK(compute.threads == 1);
  REQUIRE_FALSE(compute.sources.empty());
  CHECK(compute.sources.front().name.starts_with("noised-task"));
  CHECK(phase_of(report, "main").all.stolen_ns >= compute.all.stolen_ns);
  if (is_emulated()) SKIP("emulated: what a switch costs beside its own time is too much");
  // The program's clock is read around the marks, microseconds apart at most where nothing comes between.
  CHECK(compute.all.total_ns <= own["total_ns"].get<std::uint64_t>());
  CHECK(static_cast<double>(compute.all.total_ns) >= 0.999 * own["total_ns"].get<double>());
  CHECK(compute.max_ns <= own["max_ns"].get<std::uint64_t>());

  const MarkedSource& worst = compute.sources.front();
  CHECK(worst.kind == "task");
  CHECK(worst.name.starts_with("noised-task"));
  CHECK(worst.typical_ns == 0);
  CHECK(worst.late_ns > compute.late.stolen_ns / 2);
  // The longest of all may be somebody else's: a stall of the host, a burst of the kernel's.
  const auto of_the_task = std::count_if(compute.longest.begin(), compute.longest.end(), [&](const LongPhase& phase) {
    return !phase.sources.empty() && phase.sources.front().first == "task:" + worst.name;
  });
  CHECK(2 * of_the_task > std::ssize(compute.longest));
  // Fixed work: what late phases take longer is what was stolen from them (94.7% to 99.8% in 40 runs).
  const auto mean = [](const PhaseGroup& group, std::uint64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(group.count);
  };
  const double longer_ns = mean(compute.late, compute.late.total_ns) - mean(compute.typical, compute.typical.total_ns);
  const double stolen_ns =
      mean(compute.late, compute.late.stolen_ns) - mean(compute.typical, compute.typical.stolen_ns);
  INFO(longer_ns << " ns longer, " << stolen_ns << " ns more stolen");
  CHECK(stolen_ns >= 0.8 * longer_ns);
  CHECK(stolen_ns <= 1.2 * longer_ns);
}

TEST_CASE("watch phases: a program that runs already marks where it was told to, and is joined by pid") {
  const WatchingDaemon daemon;
  const test::TemporaryDirectory marks;
  CommandOptions options;
  options.environment = {"NOISED_MARKS=" + marks.path()};
  Background program({kMarker, "1500", "1000", std::to_string(probed_cpu())}, options);
  const Outcome outcome =
      run(daemon.command({"watch", "--json", "--marks", marks.path(), "--pid", std::to_string(program.pid())}));
  REQUIRE(program.wait().exit_code == 0);
  REQUIRE(outcome.exit_code == 0);
  const WatchReport report = report_in(outcome.out);
  REQUIRE(report.marks);
  const MarkedPhase& compute = phase_of(report, "compute");
  CHECK(compute.all.count > 0);
  CHECK(compute.all.count + report.marks->early >= 1500);  // "main" began early too
  CHECK(compute.all.count <= 1500);
  CHECK(report.marks->losses == 0);
  CHECK(report.marks->unsettled == 0);
}

TEST_CASE("watch phases: no marks, no phases; and no directory that stays") {
  const WatchingDaemon daemon;
  const Outcome outcome =
      run(daemon.command({"watch", "--phases", "--json", "--", "sh", "-c", "echo $NOISED_MARKS; exit 3"}));
  CHECK(outcome.exit_code == 3);
  const WatchReport report = report_in(outcome.err);
  check_phases_complete(report);
  CHECK(report.phases.empty());
  const std::string directory = outcome.out.substr(0, outcome.out.find('\n'));
  CHECK(directory.starts_with("/"));
  CHECK_FALSE(std::filesystem::exists(directory));
  const Outcome without = run(daemon.command({"watch", "--json", "--", "true"}));
  CHECK_FALSE(report_in(without.err).marks);
}

TEST_CASE("watch phases: Python") {
  if (!has_program("python3")) SKIP("no python3");
  const WatchingDaemon daemon;
  const Outcome outcome =
      run(daemon.command({"watch", "--phases", "--json", "--", "env", "PYTHONPATH=" + kTree + "/src/marks/python",
                          "PYTHONDONTWRITEBYTECODE=1", "python3", kTree + "/tests/marker/python.py"}));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const WatchReport report = report_in(outcome.err);
  check_phases_complete(report);
  CHECK(phase_of(report, "solve").all.count == 150);
  CHECK(phase_of(report, "solve").threads == 3);
}

TEST_CASE("watch phases: Fortran") {
  if (!has_program("gfortran")) SKIP("no gfortran");
  const test::TemporaryDirectory directory;
  const std::string fortran = kTree + "/src/marks/fortran/";
  const Outcome build = built(
      directory, {"gfortran", "-O2", "-Wall", "-Werror", "-I" + kTree + "/include", fortran + "noised_mark_fortran.c",
                  fortran + "noised_mark.f90", kTree + "/tests/marker/fortran.f90", "-o", "marker"});
  INFO(build.err);
  REQUIRE(build.exit_code == 0);
  const WatchingDaemon daemon;
  const Outcome outcome = run(daemon.command({"watch", "--phases", "--json", "--", directory.path("marker")}));
  REQUIRE(outcome.exit_code == 0);
  const WatchReport report = report_in(outcome.err);
  check_phases_complete(report);
  CHECK(phase_of(report, "solve").all.count == 50);
}

namespace {

// Two ranks; mpirun itself runs where they do not.
WatchReport watch_mpi(const WatchingDaemon& daemon, const std::string& program) {
  CommandOptions options;
  options.timeout = std::chrono::seconds(60);
  const Outcome outcome = run(daemon.command({"watch", "--phases", "--json", "--", "mpirun", "--allow-run-as-root",
                                              "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader",
                                              "-n", "2", "-x", "LD_PRELOAD=" + kMpiLibrary, program}),
                              options);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return report_in(outcome.err);
}

}  // namespace

TEST_CASE("watch phases: MPI programs in C and Fortran, which know nothing of marks") {
  if (kMpiLibrary.empty() || !has_program("mpirun") || !has_program("mpicc")) SKIP("no Open MPI");
  const test::TemporaryDirectory directory;
  const Outcome c = built(directory, {"mpicc", "-O2", kTree + "/tests/marker/mpi.c", "-o", "c"});
  INFO(c.err);
  REQUIRE(c.exit_code == 0);
  const WatchingDaemon daemon;
  const WatchReport report = watch_mpi(daemon, directory.path("c"));
  check_phases_complete(report);
  // From MPI_Init to the first collective, between them, and from the last to MPI_Finalize.
  CHECK(phase_of(report, "compute").all.count == 2 * 101);
  CHECK(phase_of(report, "compute").threads == 2);
  if (!has_program("mpifort")) SKIP("no mpifort");
  const Outcome fortran = built(directory, {"mpifort", "-O2", kTree + "/tests/marker/mpi.f90", "-o", "fortran"});
  INFO(fortran.err);
  REQUIRE(fortran.exit_code == 0);
  CHECK(phase_of(watch_mpi(daemon, directory.path("fortran")), "compute").all.count == 2 * 101);
}
