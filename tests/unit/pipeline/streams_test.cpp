// SPDX-License-Identifier: Apache-2.0
// The real pipeline with many streams: what it tells of each is what happened there, and what it tells of that CPU
// alone, to the nanosecond.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <map>
#include <numeric>

#include "unit/pipeline/node.h"

using namespace noised;
using namespace noised::test;

namespace {

std::vector<unsigned> first(unsigned count) {
  std::vector<unsigned> cpus(count);
  std::iota(cpus.begin(), cpus.end(), 1U);
  return cpus;
}

// All that a report says of one CPU, as JSON; combinations have no CPU.
std::string of_cpu(Report report, unsigned cpu) {
  std::erase_if(report.cpus, [&](const ReportCpu& each) { return each.cpu != cpu; });
  std::erase_if(report.sources, [&](const ReportSource& each) { return each.cpu != cpu; });
  std::erase_if(report.lost.by, [&](const ReportLoss& each) { return each.cpu && *each.cpu != cpu; });
  report.lost.events = report.lost.detours = report.lost.unpaired = report.lost.incomplete_detours = 0;
  report.combinations.clear();
  report.clock = {};
  return views::to_json(report);
}

std::string of_cpu(HistogramView view, unsigned cpu) {
  std::erase_if(view.series, [&](const HistogramSeriesView& each) { return each.cpu != cpu; });
  std::ranges::sort(view.series, {}, [](const HistogramSeriesView& each) { return each.kind + each.name; });
  return views::to_json(view);
}

std::string text_of(const std::vector<DetourView>& detours) {
  std::string text;
  for (const DetourView& detour : detours) text += views::to_json(detour) + "\n";
  return text;
}

const ReportCpu& cpu_of(const Report& report, unsigned cpu) {
  return *std::ranges::find_if(report.cpus, [&](const ReportCpu& each) { return each.cpu == cpu; });
}

// Against what was written down, without the pipeline.
void require_truth(Node& node, std::size_t place, unsigned cpu, const Report& report) {
  std::uint64_t detours = 0;
  std::uint64_t detour_ns = 0;
  std::uint64_t tasks = 0;
  std::uint64_t task_ns = 0;
  for (std::size_t round = 0; round < Story::kRounds; ++round) {
    const CpuRound& told = node.story(place).round(round);
    detours += told.detours.size();
    detour_ns += told.detour_ns;
    tasks += told.tasks;
    task_ns += told.task_ns;
  }
  INFO("CPU " << cpu);
  const ReportCpu& shown = cpu_of(report, cpu);
  REQUIRE(detours > 100);
  REQUIRE(shown.detours == detours);
  REQUIRE(shown.detour_ns == detour_ns);
  REQUIRE(shown.containment == 1.0);
  REQUIRE(shown.explained_ns + shown.overhead_ns + shown.hypervisor_ns == detour_ns);
  REQUIRE(node.detours(cpu).size() == detours);
  unsigned task_sources = 0;
  for (const ReportSource& source : report.sources) {
    if (source.cpu != cpu || source.kind != "task") continue;
    ++task_sources;
    REQUIRE(source.name == Story::task_of(cpu));
    REQUIRE(source.count == tasks);
    REQUIRE(source.total_ns == task_ns);
  }
  REQUIRE(tasks > 10);
  REQUIRE(task_sources == 1);
}

}  // namespace

TEST_CASE("however many streams there are, each is told as it happened, and as it is told alone", "[pipeline]") {
  const unsigned count = GENERATE(1U, 2U, 3U, 5U, 64U, 256U);
  const std::vector<unsigned> cpus = first(count);
  Node node(cpus);
  node.play();
  const Report report = node.report();
  REQUIRE(report.cpus.size() == count);
  CHECK(report.lost.by.empty());
  CHECK(report.clock.containment == 1.0);
  const HistogramView histograms = node.histograms();
  for (std::size_t place = 0; place < cpus.size(); ++place) {
    const unsigned cpu = cpus[place];
    require_truth(node, place, cpu, report);
    if (count > 5 && place % 17 != 0 && place + 1 != count) continue;  // each alone takes 0.15 s, as many as there are
    Node alone({cpu});
    alone.play();
    REQUIRE(of_cpu(report, cpu) == of_cpu(alone.report(), cpu));
    REQUIRE(of_cpu(histograms, cpu) == of_cpu(alone.histograms(), cpu));
    REQUIRE(text_of(node.detours(cpu)) == text_of(alone.detours(cpu)));
  }
}

TEST_CASE("CPU numbers with holes, and above 64, are told apart", "[pipeline]") {
  const std::vector<unsigned> cpus = {1, 3, 63, 64, 65, 127, 128, 255, 1023};
  Node node(cpus);
  node.play();
  const Report report = node.report();
  CHECK(report.lost.by.empty());
  for (std::size_t place = 0; place < cpus.size(); ++place) require_truth(node, place, cpus[place], report);
}

TEST_CASE("what the host counts as stolen is told beside the ledger and divides nothing", "[pipeline]") {
  const std::vector<unsigned> cpus = {1, 3};
  Node node(cpus);
  unsigned drains = 0;
  node.play([&] {
    if (++drains != 20) return;
    node.write_stat(2);
    node.pipeline().want_steal();
  });
  const Report report = node.report();
  for (std::size_t place = 0; place < cpus.size(); ++place) {
    require_truth(node, place, cpus[place], report);
    const ReportCpu& cpu = cpu_of(report, cpus[place]);
    CHECK(cpu.steal_ns == cpus[place] * 20'000'000);
    CHECK(cpu.steal_step_ns == 10'000'000);
    CHECK(cpu.steal_source == "/proc/stat");
    CHECK(cpu.hardware_ns == 0);
  }
}

TEST_CASE("steal time is told as ticks count it, and by /proc/stat of a CPU where they cannot", "[pipeline]") {
  Node node({1, 3, 5});
  node.state(1).steal_known = 1;
  unsigned drains = 0;
  node.play([&] {
    ++drains;
    if (drains == 10) {
      node.write_stat(2);
      node.state(1).steal_ns = 27'123'457;
      node.pipeline().want_steal();
    } else if (drains == 15) {  // the first tick that reads it
      node.state(3).steal_known = 1;
      node.state(3).steal_ns = 345;
      node.pipeline().want_steal();
    } else if (drains == 20) {
      node.state(1).steal_ns = 30'000'001;
      node.state(3).steal_ns = 1'000'345;
      node.write_stat(3);
    }
  });
  const Report report = node.report();  // the end looks again
  CHECK(cpu_of(report, 1).steal_ns == 30'000'001);
  CHECK(cpu_of(report, 1).steal_source == "ticks");
  CHECK(cpu_of(report, 1).steal_step_ns == 1);
  CHECK(cpu_of(report, 3).steal_ns == 60'000'000 + 1'000'345);
  CHECK(cpu_of(report, 3).steal_source == "ticks");
  CHECK(cpu_of(report, 5).steal_ns == 150'000'000);
  CHECK(cpu_of(report, 5).steal_source == "/proc/stat");
  CHECK(cpu_of(report, 5).steal_step_ns == 10'000'000);
}

TEST_CASE("who woke a task of a measured CPU is told, also when that was another measured CPU", "[pipeline]") {
  const std::vector<unsigned> cpus = {1, 2, 3, 64, 65, 130};
  Node node(cpus);
  std::vector<Waking> wakings;
  for (std::size_t place = 0; place < cpus.size(); ++place)
    wakings.push_back({cpus[(place + 1) % cpus.size()], cpus[place]});
  node.wake(wakings);
  node.play();
  for (const Waking& waking : wakings) {
    INFO("CPU " << waking.to);
    std::size_t told = 0;
    for (const DetourView& detour : node.detours(waking.to)) {
      for (const DetourEntryView& entry : detour.entries) {
        if (entry.kind != "task") continue;
        const std::map<std::string, std::string> detail(entry.detail.begin(), entry.detail.end());
        REQUIRE(detail.at("waker_cpu") == std::to_string(waking.from));
        REQUIRE(detail.at("waker") == Story::task_of(waking.from));
        REQUIRE(detail.at("pid") == std::to_string(Story::pid_of(waking.to)));
        ++told;
      }
    }
    CHECK(told > 10);
  }
}

TEST_CASE("the longest detours of each CPU are kept with their causes", "[pipeline]") {
  const unsigned count = GENERATE(1U, 5U, 256U);
  const std::vector<unsigned> cpus = first(count);
  Node node(cpus);
  node.play();
  const std::vector<FeedDetour> longest = node.pipeline().feed().longest(SIZE_MAX);
  std::map<unsigned, std::vector<std::string>> told;
  for (const FeedDetour& detour : longest) told[detour.cpu].push_back(views::to_json(to_view(detour, node.sources())));
  const std::size_t kept = count == 256 ? 8 : 20;
  for (const unsigned cpu : cpus) {
    INFO("CPU " << cpu);
    std::vector<DetourView> all = node.detours(cpu);
    std::ranges::stable_sort(all, std::ranges::greater(), &DetourView::duration_ns);
    REQUIRE(all.size() > kept);
    REQUIRE(told[cpu].size() == kept);
    for (std::size_t i = 0; i < kept; ++i) CHECK(told[cpu][i] == views::to_json(all[i]));
  }
}
