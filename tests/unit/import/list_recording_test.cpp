// SPDX-License-Identifier: Apache-2.0
// A list as a recording: everything that was in it is played.
#include <catch2/catch_test_macros.hpp>

#include <random>

#include "import/list_recording.h"
#include "recording/player.h"
#include "recording/recording_file.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::imports;
using noised::test::TemporaryDirectory;

namespace {

/// Detours as they are played, in the form of a list.
class Played : public recording::PlayerVisitor {
 public:
  explicit Played(const recording::Playback& playback) : playback_(playback) {}
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    const SourceTable& sources = playback_.sources();
    std::string name;
    for (const account::LedgerEntry& entry : ledger.entries) {
      CHECK(entry.self_ns == ledger.detour.end_ns - ledger.detour.start_ns);
      name = std::string(to_string(entry.kind)) + ":" + sources.at(entry.source).name;
    }
    ledger.for_each_gap([&](Kind kind, std::uint64_t ns) {
      CHECK(ns == ledger.detour.end_ns - ledger.detour.start_ns);
      name = std::string(to_string(kind)) + ":" + std::string(to_string(kind));
    });
    rows.push_back(std::to_string(playback_.cpu_number(cpu)) + "," + std::to_string(ledger.detour.start_ns) + "," +
                   std::to_string(ledger.detour.end_ns - ledger.detour.start_ns) + "," + name);
  }
  std::vector<std::string> rows;

 private:
  const recording::Playback& playback_;
};

}  // namespace

TEST_CASE("a list that is imported is played as it is, also where it takes several blocks", "[import]") {
  const TemporaryDirectory directory;
  std::mt19937_64 random(61);  // NOLINT(cert-msc51-cpp): the same every time
  const std::vector<std::string> sources{"task:crond", "irq:eth0", "hypervisor:hypervisor", "hrtimer:tick",
                                         "unexplained:unexplained"};
  std::vector<std::string> rows;
  std::string text = "cpu,start_ns,duration_ns,source\n";
  std::uint64_t at = 1'000;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t length = 1 + random() % 5'000;
    rows.push_back(std::to_string(random() % 2 * 7 + 1) + "," + std::to_string(at) + "," + std::to_string(length) +
                   "," + sources[random() % sources.size()]);
    text += rows.back() + "\n";
    at += length + random() % 1'000'000'000;
  }
  const auto list = read_detour_list(text, "list");
  REQUIRE(list);
  const std::string path = directory.path("recording");
  auto file = recording::create_recording(path);
  REQUIRE(file);
  REQUIRE(write_recording(list.value(), {500, at + 500, {}}, "list", file.value()));

  auto opened = recording::Player::open(path);
  REQUIRE(opened);
  recording::Player& player = opened.value();
  Played played(player.playback());
  int blocks = 0;
  while (player.step(&played)) ++blocks;
  CHECK(player.damage().empty());
  CHECK(blocks > 1);
  CHECK(played.rows == rows);
  const Report report = player.report();
  REQUIRE(report.cpus.size() == 2);
  for (const ReportCpu& cpu : report.cpus) CHECK(cpu.observed_ns == at);
  REQUIRE(report.unsupported.size() == 1);
  CHECK(report.unsupported[0] == "all but when detours were, and of which source: imported from 'list'");
}

TEST_CASE("a list is refused where it is not in the time that was observed", "[import]") {
  const TemporaryDirectory directory;
  const auto list = read_detour_list("start_ns,duration_ns\n100,10\n200,10\n", "list");
  REQUIRE(list);
  auto file = recording::create_recording(directory.path("recording"));
  REQUIRE(file);
  for (const Observed& time : {Observed{101, {}, {}}, Observed{{}, 209, {}}}) {
    const Status written = write_recording(list.value(), time, "list", file.value());
    REQUIRE_FALSE(written);
    CHECK(written.error().code == ExitCode::usage);
    CHECK(written.error().what.starts_with("list: detours are from 100 ns to 210 ns, which is not all between"));
  }
}

TEST_CASE("a CPU without a detour is observed where it is listed, and no other CPU is", "[import]") {
  const TemporaryDirectory directory;
  const auto list = read_detour_list("cpu,start_ns,duration_ns\n3,100,10\n", "list");
  REQUIRE(list);
  const std::string path = directory.path("recording");
  auto file = recording::create_recording(path);
  REQUIRE(file);
  const Status refused = write_recording(list.value(), {{}, {}, std::vector<unsigned>{1, 2}}, "list", file.value());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "list:2: CPU 3 is not one of --cpus");
  REQUIRE(write_recording(list.value(), {0, 1'000, std::vector<unsigned>{1, 3}}, "list", file.value()));
  auto opened = recording::Player::open(path);
  REQUIRE(opened);
  while (opened.value().step()) continue;
  const Report report = opened.value().report();
  REQUIRE(report.cpus.size() == 2);
  CHECK(report.cpus[0].cpu == 1);
  CHECK(report.cpus[0].observed_ns == 1'000);
  CHECK(report.cpus[0].detours == 0);
  CHECK(report.cpus[1].detours == 1);
}
