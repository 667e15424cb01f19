// SPDX-License-Identifier: Apache-2.0
// Real measurements, recorded and played again by the real programs.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.h"
#include "daemon.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "report_checks.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

constexpr uid_t kOther = 65534;

std::vector<DetourView> detours_of(const std::string& lines) {
  std::vector<DetourView> detours;
  for (const std::string& line : lines_of(lines)) {
    if (const auto detour = views::parse_detour(line)) detours.push_back(detour.value());
  }
  return detours;
}

}  // namespace

TEST_CASE("recording: a whole run, played by anybody, gives the report that it gave itself", "[core]") {
  const TemporaryDirectory directory;
  const unsigned cpu = probed_cpu();
  const QuietCpu quiet(cpu);
  const std::string file = directory.path("run");
  const Outcome live = run({kNoised, "--cpus", std::to_string(cpu), "--duration", "3s", "--report", "json", "--record",
                            file, "--socket", directory.path("socket"), "--log-level", "error"});
  INFO(live.err);
  REQUIRE(live.exit_code == 0);
  // It names the tasks of all users: who made it decides who may read it.
  CHECK(std::filesystem::status(file).permissions() == std::filesystem::perms(0600));
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  CommandOptions nobody;
  nobody.user = kOther;
  const Outcome played = run({kNoisectl, "--replay", file, "report", "--json"}, nobody);
  INFO(played.err);
  REQUIRE(played.exit_code == 0);
  CHECK(played.out == live.out);
  CHECK(run({kNoised, "--replay", file, "--report", "json"}, nobody).out == live.out);
  const auto report = views::parse_report(played.out);
  REQUIRE(report);
  CHECK(report.value().cpus.at(0).detours > 0);
  CHECK(detours_of(run({kNoisectl, "--replay", file, "detours", "--json"}).out).size() ==
        report.value().cpus.at(0).detours);
  for (const char* const command : {"report", "histogram", "status", "detours"}) {
    INFO(command);
    CHECK(run({kNoisectl, "--replay", file, command}, nobody).exit_code == 0);
  }
}

TEST_CASE("recording: what a client records of a running daemon is what others were shown") {
  const Daemon daemon;
  const TemporaryDirectory directory;
  const std::string file = directory.path("part");
  Background follower(daemon.command({"detours", "--follow", "--json"}));
  const Background noise({kNoise, "wake", "--cpu", std::to_string(daemon.cpu()), "--duration", "12s"});
  REQUIRE(eventually([&] { return !follower.out().empty(); }));
  // Longer than the second one has patience for, which is 3 s and what 30 requests take.
  Background recorder(daemon.command({"record", "-o", file, "--duration", "8s"}));
  REQUIRE(eventually([&] { return std::filesystem::exists(file); }));
  const Outcome second = run(daemon.command({"record", "-o", directory.path("second")}));
  CHECK(second.exit_code == 1);
  CHECK(second.err.find(fmt::format("process {} of user 0 is recording: wait", recorder.pid())) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(directory.path("second")));
  const Outcome recorded = recorder.wait();
  INFO(recorded.err);
  REQUIRE(recorded.exit_code == 0);
  const Outcome again = run(daemon.command({"record", "-o", file}));
  CHECK(again.exit_code == 2);
  CHECK(again.err.find("exists") != std::string::npos);
  follower.signal(SIGINT);
  std::map<std::uint64_t, std::string> shown;
  for (const DetourView& detour : detours_of(follower.wait().out)) shown[detour.start_ns] = views::to_json(detour);

  const Outcome played = run({kNoisectl, "--replay", file, "detours", "--json"});
  INFO(played.err);
  REQUIRE(played.exit_code == 0);
  const std::vector<DetourView> detours = detours_of(played.out);
  REQUIRE(detours.size() > 100);
  std::size_t different = 0;
  for (const DetourView& detour : detours) {
    const auto found = shown.find(detour.start_ns);
    if (found == shown.end() || found->second != views::to_json(detour)) ++different;
  }
  INFO(different << " of " << detours.size());
  CHECK(different == 0);
  const auto report = views::parse_report(run({kNoisectl, "--replay", file, "report", "--json"}).out);
  REQUIRE(report);
  CHECK(report.value().cpus.at(0).detours == detours.size());
  CHECK(report.value().elapsed_ns > 2'000'000'000);
}

TEST_CASE("recording: a daemon that is killed leaves what it had told, and both say so") {
  Daemon daemon;
  const TemporaryDirectory directory;
  const std::string file = directory.path("cut");
  Background recorder(daemon.command({"record", "-o", file}));
  REQUIRE(eventually([&] { return std::filesystem::exists(file) && std::filesystem::file_size(file) > 3'000; }));
  daemon.process().signal(SIGKILL);
  const Outcome recorded = recorder.wait();
  CHECK(recorded.exit_code == 1);
  CHECK(recorded.err.find("went away") != std::string::npos);
  const Outcome played = run({kNoisectl, "--replay", file, "report", "--json"});
  CHECK(played.exit_code == 1);
  CHECK(played.err.find("the recording was not finished") != std::string::npos);
  CHECK(played.out.find("the rest of the recording: ") != std::string::npos);
  CHECK(views::parse_report(played.out).ok());
}

TEST_CASE("recording: a daemon that ends finishes the recording of its client") {
  Daemon daemon;
  const TemporaryDirectory directory;
  const std::string file = directory.path("ended");
  Background recorder(daemon.command({"record", "-o", file}));
  REQUIRE(eventually([&] { return std::filesystem::exists(file) && std::filesystem::file_size(file) > 1'000; }));
  daemon.process().signal(SIGTERM);
  const Outcome recorded = recorder.wait();
  INFO(recorded.err);
  CHECK(recorded.exit_code == 0);
  CHECK(run({kNoisectl, "--replay", file, "report"}).exit_code == 0);
  CHECK(daemon.process().wait().exit_code == 0);
}
