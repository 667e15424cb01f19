// SPDX-License-Identifier: Apache-2.0
// Phases of work on a real CPU, from the start and in a running daemon, against the ledger of the same recording.
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "daemon.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "recording/player.h"
#include "recount.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::account;
using namespace noised::probe;
using namespace noised::recording;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

/// The phases of a recording of one CPU.
struct Phases : PlayerVisitor {
  std::vector<std::uint64_t> durations_ns;
  std::vector<std::uint64_t> quiet_ns;  // of each, what was no detour
  std::vector<std::uint64_t> iterations;
  std::uint64_t series = 0;
  std::uint64_t gaps = 0;

  void detour(std::size_t /*cpu*/, const DetourLedger& ledger, std::string_view /*details*/) override {
    detour_ns_ += ledger.detour.end_ns - ledger.detour.start_ns;
  }
  void gap(std::size_t /*cpu*/, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override {
    ++gaps;
    before_ns_.reset();
  }
  void sample(std::size_t /*cpu*/, std::uint64_t end_ns, std::uint64_t done) override {
    if (done == 0) ++series;
    if (done != 0 && before_ns_) {
      durations_ns.push_back(end_ns - *before_ns_);
      quiet_ns.push_back(durations_ns.back() - std::min(durations_ns.back(), detour_ns_));
      iterations.push_back(done);
    }
    before_ns_ = end_ns;
    detour_ns_ = 0;
  }

 private:
  std::optional<std::uint64_t> before_ns_;
  std::uint64_t detour_ns_ = 0;
};

struct RecordedLoop {
  Phases phases;
  Description description;
  CpuCounts counts;
  Report report;
};

void play(const std::string& file, RecordedLoop& recorded) {
  auto player = Player::open(file);
  REQUIRE(player);
  while (player.value().step(&recorded.phases)) {
  }
  CHECK(player.value().damage().empty());
  recorded.description = player.value().playback().description();
  recorded.counts = player.value().playback().counts().cpus.at(0);
  recorded.report = player.value().report();
}

/// Phases of 100 us for 2 s, from the start.
void record_phases(const Arguments& flags, RecordedLoop& recorded) {
  const TemporaryDirectory directory;
  const unsigned cpu = probed_cpu();
  const QuietCpu quiet(cpu);
  const std::string file = directory.path("run");
  Arguments command{kNoised,
                    "--cpus",
                    std::to_string(cpu),
                    "--duration",
                    "2s",
                    "--grain",
                    "100us",
                    "--record",
                    file,
                    "--socket",
                    directory.path("socket"),
                    "--log-level",
                    "error",
                    "--threshold",
                    is_emulated() ? "5us" : "1us"};
  command.insert(command.end(), flags.begin(), flags.end());
  const Outcome live = run(command);
  INFO(live.err);
  REQUIRE(live.exit_code == 0);
  play(file, recorded);
}

std::uint64_t sum(const std::vector<std::uint64_t>& values) {
  std::uint64_t total = 0;
  for (const std::uint64_t value : values) total += value;
  return total;
}

/// Whatever the machine does: all phases are the same work, all the time is in phases, and the ledger goes on.
void check_phases(const RecordedLoop& recorded) {
  const Phases& phases = recorded.phases;
  REQUIRE(phases.durations_ns.size() > 1'000);
  const std::uint64_t work = phases.iterations.front();
  CHECK(std::all_of(phases.iterations.begin(), phases.iterations.end(), [&](auto each) { return each == work; }));
  const ReportCpu& cpu = recorded.report.cpus.at(0);
  CHECK(cpu.explained_ns + cpu.overhead_ns + cpu.hypervisor_ns + cpu.hardware_ns + cpu.unexplained_ns == cpu.detour_ns);
  CHECK(cpu.detours > 0);
  // What is observed is in phases but for the first and the last of a series; what phases have beside it is storing.
  const std::uint64_t all_ns = sum(phases.durations_ns);
  const std::uint64_t longest_ns = *std::max_element(phases.durations_ns.begin(), phases.durations_ns.end());
  INFO(phases.durations_ns.size() << " phases in " << phases.series << " series, " << phases.gaps
                                  << " gaps, the longest phase " << longest_ns << " ns, the longest detour "
                                  << cpu.max_detour_ns << " ns, lost " << recorded.report.lost.detours << " detours");
  CHECK(all_ns + 2 * longest_ns * (phases.gaps + 1) >= cpu.observed_ns);
  CHECK(all_ns <= cpu.observed_ns + cpu.observed_ns / 20);
  // What is no detour is the work, most of it quicker than a phase that something struck.
  CHECK(quantile(phases.quiet_ns, 50) <= quantile(phases.durations_ns, 50));
  CHECK(quantile(phases.quiet_ns, 50) >= recorded.description.grain_ns / 4);
  CHECK(quantile(phases.quiet_ns, 50) <= recorded.description.grain_ns * 4);
}

}  // namespace

TEST_CASE("phases: they are whole, of the same work, and the ledger of their run adds up") {
  RecordedLoop recorded;
  record_phases({}, recorded);
  check_phases(recorded);
  CHECK(recorded.description.grain_ns == 100'000);
  CHECK(recorded.description.footprint_bytes == 0);
  CHECK(recorded.description.policy == "other");
  CHECK(recorded.description.work == 0);
  CHECK(recorded.phases.gaps == 0);
  CHECK(recorded.phases.series == 1);
  // The work that was done is in phases but for the one that was cut off.
  const std::uint64_t work = recorded.phases.iterations.front();
  const std::uint64_t whole = recorded.phases.durations_ns.size() * work;
  CHECK(recorded.counts.iterations >= whole);
  CHECK(recorded.counts.iterations < whole + work);
}

TEST_CASE("phases: whatever they walk through, they are calibrated, and walking takes time") {
  RecordedLoop none;
  RecordedLoop first;
  RecordedLoop second;
  record_phases({"--footprint", "64"}, none);
  record_phases({"--footprint", "L1"}, first);
  record_phases({"--footprint", "L2", "--policy", "fifo"}, second);
  for (const RecordedLoop* const recorded : {&none, &first, &second}) {
    INFO(recorded->description.footprint_bytes);
    check_phases(*recorded);
  }
  CHECK(none.description.footprint_bytes == 64);
  CHECK(first.description.footprint_bytes > 1'024);
  CHECK(second.description.footprint_bytes > first.description.footprint_bytes);
  CHECK(second.description.policy == "fifo");
  CHECK(second.description.priority == 1);
}

TEST_CASE("phases: a running daemon does them while they are recorded, and its loop again afterwards") {
  const Daemon daemon;
  const TemporaryDirectory directory;
  const auto record = [&](const std::string& name, const Arguments& flags) {
    Arguments arguments{"record", "-o", directory.path(name), "--duration", "1500ms"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run(daemon.command(arguments));
  };
  const Outcome made = record("phases", {"--grain", "100us", "--footprint", "L1"});
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  RecordedLoop phases;
  play(directory.path("phases"), phases);
  check_phases(phases);
  CHECK(phases.description.grain_ns == 100'000);
  CHECK(phases.description.footprint_bytes > 1'024);
  CHECK(phases.phases.series <= 1);  // where it began before the recording did, its begin is not there

  // At once: the loop is back before anything is recorded of it.
  REQUIRE(record("loop", {}).exit_code == 0);
  RecordedLoop loop;
  play(directory.path("loop"), loop);
  CHECK(loop.description.grain_ns == 0);
  CHECK(loop.phases.iterations.empty());
  CHECK(loop.report.cpus.at(0).observed_ns > 0);

  // So it is where the client is killed.
  const std::string cut = directory.path("cut");
  {
    Background client(daemon.command({"record", "-o", cut, "--grain", "1ms"}));
    REQUIRE(eventually([&] { return std::filesystem::exists(cut) && std::filesystem::file_size(cut) > 2'000; }));
    client.signal(SIGKILL);
    (void)client.wait();
  }
  REQUIRE(eventually([&] { return record("after", {}).exit_code == 0; }));
  RecordedLoop after;
  play(directory.path("after"), after);
  CHECK(after.description.grain_ns == 0);
  CHECK(after.phases.iterations.empty());
}

TEST_CASE("phases: what a daemon cannot do is refused with what to do, and nothing is left of it") {
  const Daemon daemon;
  const TemporaryDirectory directory;
  const std::string file = directory.path("file");
  const Outcome fifo =
      run(daemon.command({"record", "-o", file, "--duration", "1s", "--grain", "1ms", "--policy", "fifo"}));
  rlimit limit{};
  getrlimit(RLIMIT_RTPRIO, &limit);
  INFO(fifo.err);
  if (limit.rlim_cur == 0) {
    CHECK(fifo.exit_code == 1);
    CHECK(fifo.err.find("LimitRTPRIO") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(file));
  } else {
    REQUIRE(fifo.exit_code == 0);
    RecordedLoop recorded;
    play(file, recorded);
    CHECK(recorded.description.policy == "fifo");
  }
  const std::string other = directory.path("other");
  const Outcome after = run(daemon.command({"record", "-o", other, "--duration", "1s"}));
  INFO(after.err);
  REQUIRE(after.exit_code == 0);
  RecordedLoop loop;
  play(other, loop);
  CHECK(loop.phases.iterations.empty());
}
