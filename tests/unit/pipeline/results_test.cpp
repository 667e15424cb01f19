// SPDX-License-Identifier: Apache-2.0
// What is made of several streams further on: metrics, the live view, recordings. Of each CPU it is what is made of it
// alone.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "noisectl/top/delta.h"
#include "noised/api/metrics.h"
#include "unit/pipeline/node.h"
#include "unit/recording/scene.h"

using namespace noised;
using namespace noised::account;
using namespace noised::daemon;
using namespace noised::recording;
using namespace noised::test;

namespace {

const std::vector<unsigned> kSomeCpus = {1, 2, 5, 64, 130};

std::string metrics_of(Node& node, unsigned cpu) {
  Snapshot snapshot;
  node.pipeline().fill(snapshot);
  std::istringstream lines(Metrics(10'000).text(snapshot, node.sources(), RunDescription{}));
  std::vector<std::string> kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("{cpu=\"" + std::to_string(cpu) + "\"") != std::string::npos) kept.push_back(line);
  }
  std::ranges::sort(kept);  // sources come in the order in which any CPU saw them
  std::string text;
  for (const std::string& line : kept) text += line + "\n";
  return text;
}

// What the live view makes of the second half, as text.
std::string top_of(const Report& middle, const Report& end, unsigned cpu) {
  const client::TopDelta delta = client::difference({middle, {}, {}, {}}, {end, {}, {}, {}});
  std::ostringstream text;
  for (const client::TopCpu& each : delta.cpus) {
    if (each.cpu == cpu)
      text << each.noise_share << ' ' << each.detours_per_second << ' ' << each.explained_share << ' ' << each.max_ns
           << ' ' << each.overhead_share << ' ' << each.hypervisor_share << '\n';
  }
  std::vector<std::string> sources;
  for (const client::TopSource& each : delta.sources) {
    if (each.key.cpu != cpu) continue;
    std::ostringstream line;
    line << each.key.label << ' ' << each.count << ' ' << each.stolen_share << ' ' << each.mean_ns;
    sources.push_back(line.str());
  }
  std::ranges::sort(sources);
  for (const std::string& line : sources) text << line << '\n';
  return text.str();
}

// Plays a node, and keeps its report of the middle.
Report play_to_the_middle(Node& node) {
  std::optional<Report> middle;
  std::size_t round = 0;
  node.play([&] {
    if (++round == Story::kRounds / 2) middle = node.report();
  });
  return *middle;
}

}  // namespace

TEST_CASE("metrics and the live view tell of each of several CPUs what they tell of it alone", "[pipeline]") {
  Node node(kSomeCpus);
  const Report middle = play_to_the_middle(node);
  const Report end = node.report();
  for (const unsigned cpu : kSomeCpus) {
    INFO("CPU " << cpu);
    Node alone({cpu});
    const Report alone_middle = play_to_the_middle(alone);
    const std::string metrics = metrics_of(node, cpu);
    CHECK(metrics == metrics_of(alone, cpu));
    CHECK(metrics.find("source=\"" + Story::task_of(cpu) + "\"") != std::string::npos);
    const std::string top = top_of(middle, end, cpu);
    CHECK(top == top_of(alone_middle, alone.report(), cpu));
    CHECK(top.find("task:" + Story::task_of(cpu) + " ") != std::string::npos);
  }
}

TEST_CASE("a recording of many streams gives the report and the detours that were shown", "[pipeline][recording]") {
  for (const std::size_t count : {std::size_t{5}, std::size_t{64}}) {
    std::vector<unsigned> cpus;
    for (std::size_t i = 0; i < count; ++i) cpus.push_back(static_cast<unsigned>(3 * i + 1));
    Node node(cpus);
    const TemporaryDirectory directory;
    auto file = create_recording(directory.path("recording"));
    REQUIRE(file);
    StatusView status;
    status.host = "node";
    status.kernel = "6.1";
    status.policy = "other";
    Description description;
    description.start = "2026-01-01T00:00:00Z";
    Recorder recorder(node.sources(), status, description, 4096);
    REQUIRE(recorder.open());
    recorder.after_drain(node.pipeline());
    node.play([&] {
      recorder.after_drain(node.pipeline());
      write_blocks(recorder, file.value());
    });
    Snapshot snapshot;
    node.pipeline().fill(snapshot);
    recorder.finish(snapshot);
    write_blocks(recorder, file.value());

    auto player = Player::open(directory.path("recording"));
    REQUIRE(player);
    DetourTexts played(player.value().playback());
    while (player.value().step(&played)) {
    }
    REQUIRE(player.value().damage().empty());
    Report report = player.value().report();
    CHECK(views::to_json(report) == views::to_json(node.report()));
    std::vector<std::string> shown;
    for (const unsigned cpu : cpus) {
      for (const DetourView& detour : node.detours(cpu)) shown.push_back(views::to_json(detour));
    }
    std::ranges::sort(shown);
    std::ranges::sort(played.texts);
    CHECK(shown == played.texts);
    CHECK(report.clock.containment == 1.0);
    for (const ReportCpu& cpu : report.cpus) CHECK(cpu.containment == 1.0);
  }
}
