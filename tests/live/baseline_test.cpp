// SPDX-License-Identifier: Apache-2.0
// A machine that gets a daemon, between a baseline of it and the next look.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "command.h"
#include "daemon.h"
#include "loads.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

/// Of the changes that were found, those of a task of this name; all, or those of one kind.
std::size_t changes_of(const nlohmann::json& diff, const std::string& name, const std::string& change = {}) {
  const auto& changes = diff["changes"];
  return static_cast<std::size_t>(std::count_if(changes.begin(), changes.end(), [&](const nlohmann::json& each) {
    return each["kind"] == "task" && each["name"] == name && (change.empty() || each["change"] == change);
  }));
}

}  // namespace

// What else a machine does meanwhile is its own: only the daemon is asked for (tests/bench/baseline_pairs asks the
// rest).
TEST_CASE("baseline: a daemon that was not there before is found by its name, and none is found without it") {
  const Daemon daemon;
  const TemporaryDirectory directory;
  const std::string file = directory.path("baseline");
  CommandOptions patient;
  patient.timeout = std::chrono::seconds(40);
  const auto diff = [&] {
    const Outcome outcome = run(daemon.command({"baseline", "diff", file, "--json"}), patient);
    INFO(outcome.err);
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    REQUIRE(json.is_object());
    CHECK(outcome.exit_code == (json["different"] == true ? 3 : 0));
    return json;
  };
  // As often and as long before as afterwards: to call it changed would be wrong.
  const std::jthread steady = keep_working_on(daemon.cpu(), "steady", 400'000'000, 500'000);
  const Outcome saved = run(daemon.command({"baseline", "save", file, "--duration", "10s"}), patient);
  INFO(saved.err);
  REQUIRE(saved.exit_code == 0);
  CHECK(run(daemon.command({"baseline", "save", file})).exit_code == 2);  // at once: it exists
  const auto same = diff();
  INFO(same.dump());
  CHECK(changes_of(same, "steady") == 0);
  const std::jthread synthetic = keep_working_on(daemon.cpu(), "synthetic", 500'000'000, 500'000);
  const auto with = diff();
  INFO(with.dump());
  CHECK(with["different"] == true);
  CHECK(changes_of(with, "synthetic", "new") == 1);
  CHECK(changes_of(with, "steady") == 0);
}

TEST_CASE("baseline: what is no baseline is refused before anything is measured") {
  const Daemon daemon;
  const Outcome missing = run(daemon.command({"baseline", "diff", "/nowhere"}));
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("/nowhere") != std::string::npos);
  const Outcome other = run(daemon.command({"baseline", "diff", "/etc/hostname"}));
  CHECK(other.exit_code == 1);
  CHECK(other.err.find("noisectl baseline save") != std::string::npos);
  const Outcome recording = run(daemon.command({"baseline", "diff", kTree + "/tests/data/node.recording"}));
  CHECK(recording.exit_code == 2);
  CHECK(recording.err.find("is a recording, and no baseline: make one of it: noisectl --replay") != std::string::npos);
}
