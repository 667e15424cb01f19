// SPDX-License-Identifier: Apache-2.0
// Noise that is made again, as the daemon measures it: as often, and as long.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.h"
#include "daemon.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr std::uint64_t kPeriodNs = 20'000'000;
constexpr std::size_t kReplayedDetours = 150;

// The ways into the thread and out of it are some 20 us here, and up to 18 us more or less than when they were
// measured.
constexpr std::uint64_t kStepNs = 1'500'000;
std::uint64_t length_of(std::size_t number) { return kStepNs * (1 + number % 3); }

/// Lengths of the detours that a task of this name had a part in.
std::vector<std::uint64_t> lengths_with(const std::string& text, const std::string& task) {
  std::vector<std::uint64_t> lengths;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"name\":\"" + task + "\"") == std::string::npos || line.back() != '}') continue;
    lengths.push_back(nlohmann::json::parse(line)["duration_ns"].get<std::uint64_t>());
  }
  return lengths;
}

}  // namespace

TEST_CASE("replay-noise: what was imported is measured as often, and as long") {
  const Daemon daemon;
  const test::TemporaryDirectory directory;
  {
    std::ofstream list(directory.path("list.csv"));
    list << "start_ns,duration_ns\n";
    for (std::size_t i = 0; i < kReplayedDetours; ++i) list << (i + 1) * kPeriodNs << ',' << length_of(i) << '\n';
    list << (kReplayedDetours + 1) * kPeriodNs << ",500\n";  // shorter than it takes to wake up
  }
  const std::string recording = directory.path("recording");
  REQUIRE(run({kNoisectl, "import", directory.path("list.csv"), "-o", recording}).exit_code == 0);
  Background follower(daemon.command({"detours", "--follow", "--json", "--min", "100us"}));
  const Outcome outcome = run({kNoisectl, "replay-noise", recording, "--cpus", std::to_string(daemon.cpu()), "--json"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const auto said = nlohmann::json::parse(outcome.out)["cpus"][0];
  CHECK(said["detours"] == kReplayedDetours);
  CHECK(said["too_short"] == 1);
  CHECK(said["too_short_ns"] == 500);
  // Those by which the ways were measured are shorter than 100 us, unless the host makes them longer.
  const auto all_told = [&] { return lengths_with(follower.out(), "replayed").size() >= kReplayedDetours; };
  CHECK(eventually(all_told));
  follower.signal(SIGINT);
  const std::vector<std::uint64_t> lengths = lengths_with(follower.wait().out, "replayed");
  CHECK(lengths.size() >= kReplayedDetours);
  std::map<std::uint64_t, std::vector<std::uint64_t>> by_plan;  // each belongs to the length it is nearest to
  for (const std::uint64_t length : lengths) {
    const std::uint64_t steps = std::clamp<std::uint64_t>((length + kStepNs / 2) / kStepNs, 1, 3);
    if (length > kStepNs / 2) by_plan[steps * kStepNs].push_back(length);
  }
  REQUIRE(by_plan.size() == 3);
  for (auto& [planned_ns, made] : by_plan) {
    const auto middle = made.begin() + static_cast<std::ptrdiff_t>(made.size() / 2);
    std::nth_element(made.begin(), middle, made.end());
    WARN(fmt::format("{} of {} ns: half of them lasted less than {} ns", made.size(), planned_ns, *middle));
    CHECK(made.size() + 5 >= kReplayedDetours / 3);  // a host that takes the CPU makes some longer
    CHECK(static_cast<double>(*middle) > 0.98 * static_cast<double>(planned_ns));
    CHECK(static_cast<double>(*middle) < 1.02 * static_cast<double>(planned_ns));
  }

  // A recording of a daemon that ran before begins when it was asked for.
  const std::string late = directory.path("late");
  REQUIRE(run(daemon.command({"record", "-o", late, "--duration", "2s"})).exit_code == 0);
  const Outcome again =
      run({kNoisectl, "replay-noise", late, "--cpus", std::to_string(daemon.cpu()), "--duration", "1s", "--json"});
  INFO(again.out << again.err);
  REQUIRE(again.exit_code == 0);
  const auto made = nlohmann::json::parse(again.out)["cpus"][0];
  CHECK(made["detours"].get<std::uint64_t>() + made["too_short"].get<std::uint64_t>() > 0);
}
