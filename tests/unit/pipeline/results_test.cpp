// SPDX-License-Identifier: Apache-2.0
// What is made of several streams further on: metrics, the live view, recordings. Of each CPU it is what is made of it
// alone.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
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
  std::istringstream lines(Metrics(10'000).text(snapshot, {node.sources()}, RunDescription{}));
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

// What two reports of one run have counted of a CPU between them; the first may be empty.
void check_between(const Report& before, const Report& after, const Report& recent, std::size_t place) {
  const ReportCpu then = place < before.cpus.size() ? before.cpus[place] : ReportCpu();
  const ReportCpu& now = after.cpus.at(place);
  const ReportCpu& cpu = recent.cpus.at(place);
  CHECK(cpu.cpu == now.cpu);
  CHECK(cpu.observed_ns == now.observed_ns - then.observed_ns);
  CHECK(cpu.iterations == now.iterations - then.iterations);
  CHECK(cpu.detours == now.detours - then.detours);
  CHECK(cpu.detour_ns == now.detour_ns - then.detour_ns);
  CHECK(cpu.explained_ns == now.explained_ns - then.explained_ns);
  CHECK(cpu.overhead_ns == now.overhead_ns - then.overhead_ns);
  CHECK(cpu.adds_up_to(cpu.detour_ns));
  using Sums = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
  const auto sums_of = [&](const Report& report) {
    Sums sums;
    for (const ReportSource& source : report.sources) {
      if (source.cpu == cpu.cpu) sums[source.kind + ":" + source.name] = {source.count, source.total_ns};
    }
    return sums;
  };
  Sums expected = sums_of(after);
  for (const auto& [name, sum] : sums_of(before)) {
    expected[name].first -= sum.first;
    expected[name].second -= sum.second;
  }
  std::erase_if(expected, [](const auto& sum) { return sum.second.first == 0; });
  CHECK(sums_of(recent) == expected);
}

}  // namespace

TEST_CASE("the last minute of each of many CPUs is what was counted there since", "[pipeline][recent]") {
  for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{256}}) {
    std::vector<unsigned> cpus;
    for (std::size_t i = 0; i < count; ++i) cpus.push_back(static_cast<unsigned>(i));
    INFO(count << " CPUs");
    Node node(cpus);
    // With the one of finish(). The slot that goes on is empty at the end.
    constexpr std::size_t kDrains = Story::kRounds + 1;
    std::size_t drains = 0;
    Report before;
    std::vector<std::size_t> shown;  // detours of each CPU until then
    node.play([&] {
      ++drains;
      if (drains == Story::kRounds / 2) {  // no slot has ended: it is everything
        const Report all = node.report();
        const Report recent = node.recent();
        CHECK(recent.elapsed_ns == all.elapsed_ns);
        for (std::size_t place = 0; place < count; ++place) {
          check_between(Report(), all, recent, place);
          CHECK(recent.cpus.at(place).blind_ns == 0);
        }
      }
      // A loop that has shown no progress for so long saw nothing, or is in a detour that nobody knows yet.
      if (drains == Story::kRounds / 2 + 1) CHECK(node.recent().cpus.at(0).blind_ns >= kRecentSlotNs);
      if (drains == kDrains - (kRecentSlots - 1)) {
        before = node.report();
        for (const unsigned cpu : cpus) shown.push_back(node.detours(cpu).size());
      }
      if (drains >= Story::kRounds / 2) node.pass(kRecentSlotNs);  // from now on, each drain ends a slot
    });
    const Report all = node.report();
    const Report recent = node.recent();
    CHECK(recent.elapsed_ns == all.elapsed_ns - before.elapsed_ns);
    CHECK(recent.cpus.size() == count);
    for (std::size_t place = 0; place < count; ++place) {
      INFO("place " << place);
      check_between(before, all, recent, place);
      std::uint64_t longest_ns = 0;
      const std::vector<DetourView>& detours = node.detours(cpus[place]);
      for (std::size_t i = shown.at(place); i < detours.size(); ++i)
        longest_ns = std::max(longest_ns, detours[i].duration_ns);
      CHECK(recent.cpus.at(place).max_detour_ns == longest_ns);
      std::uint64_t parts_ns = 0;
      for (const ReportPart& part : recent.cpus.at(place).longest) parts_ns += part.self_ns;
      CHECK(parts_ns == longest_ns);
    }
  }
}

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
