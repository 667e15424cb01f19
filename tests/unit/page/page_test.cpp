// SPDX-License-Identifier: Apache-2.0
// The page of a recorded run, against the report and the detours of the same run.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "page/charts.h"
#include "page/collector.h"
#include "page/page.h"
#include "unit/page/scene.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;
using namespace noised::page;
using namespace noised::test;

namespace {

std::uint64_t sum_of(const TimeBins& bins, std::size_t lane, std::size_t column) {
  std::uint64_t sum = 0;
  for (std::size_t bin = 0; bin < bins.bins(); ++bin) sum += bins.at(bin, lane, column);
  return sum;
}

// The self times of every source, one by one, straight from the detours.
class SelfTimes : public PlayerVisitor {
 public:
  explicit SelfTimes(const Playback& playback) : playback_(playback) {}
  void detour(std::size_t cpu, const DetourLedger& ledger, std::string_view details) override {
    for (const LedgerEntry& entry : ledger.entries) {
      const Source& source = playback_.sources().at(entry.source);
      of[std::string(to_string(source.kind)) + ":" + source.name].push_back(entry.self_ns);
    }
    const DetourView view = to_view(playback_, cpu, ledger, details);
    if (view.duration_ns > longest.duration_ns) longest = view;
  }

  std::map<std::string, std::vector<std::uint64_t>> of;
  DetourView longest;

 private:
  const Playback& playback_;
};

}  // namespace

TEST_CASE("the timeline sums to the report, category by category, to the nanosecond", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 400));
  std::map<std::string, std::uint64_t> expected;
  std::map<std::pair<unsigned, std::string>, std::uint64_t> expected_by_cpu;
  for (const ReportSource& source : made.report.sources) {
    expected[source.category] += source.total_ns;
    expected_by_cpu[{source.cpu, source.category}] += source.total_ns;
  }
  REQUIRE(expected.size() > 3);
  REQUIRE(made.collector.all().bins() > 500);
  std::uint64_t all_ns = 0;
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    const std::string name(to_string(static_cast<Category>(i)));
    CHECK(sum_of(made.collector.all(), 0, i) == expected[name]);
    CHECK(made.merged.all.categories[i] == expected[name]);
    all_ns += expected[name];
    for (std::size_t cpu = 0; cpu < 2; ++cpu)
      CHECK(sum_of(made.collector.by_cpu(), cpu, i) == expected_by_cpu[{made.report.cpus[cpu].cpu, name}]);
  }
  CHECK(all_ns == made.report.cpus[0].detour_ns + made.report.cpus[1].detour_ns);
  CHECK(sum_of(made.collector.all(), 0, kDetourColumn) == made.report.cpus[0].detours + made.report.cpus[1].detours);
  CHECK(sum_of(made.collector.all(), 0, kIncompleteColumn) == made.report.lost.incomplete_detours);
  CHECK(made.report.lost.incomplete_detours > 0);
}

TEST_CASE("no quantum of the page holds more than its own time, and what was not observed is in it", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 400));
  const TimeBins& bins = made.collector.by_cpu();
  std::uint64_t missing_ns = 0;
  for (std::size_t cpu = 0; cpu < 2; ++cpu) {
    for (std::size_t bin = 0; bin < bins.bins(); ++bin) {
      std::uint64_t ns = 0;
      for (std::size_t column = 0; column <= kMissingColumn; ++column) ns += bins.at(bin, cpu, column);
      if (ns > bins.width_ns()) FAIL_CHECK("bin " << bin << " of " << bins.width_ns() << " ns has " << ns);
    }
    missing_ns += sum_of(bins, cpu, kMissingColumn);
  }
  CHECK(missing_ns == made.report.cpus[0].blind_ns + made.report.cpus[1].blind_ns);
  CHECK(missing_ns > 0);
}

TEST_CASE("a CPU was observed after its last event only as far as it is said to have been", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  auto player = Player::open(record(run, directory, 1));
  REQUIRE(player);
  Report report;
  report.cpus.resize(2);
  report.cpus[0].observed_ns = 10'000;
  report.cpus[1].observed_ns = 4'000;
  Collector collector(player.value().playback());
  collector.begins(0, 50'000);
  collector.begins(1, 51'000);
  collector.gap(0, 52'000, 53'000);
  collector.sample(0, 60'000, 1);
  collector.sample(1, 52'000, 1);
  collector.finish(report);
  CHECK(collector.first_ns() == 50'000);
  CHECK(collector.last_ns() == 60'000);
  CHECK(sum_of(collector.by_cpu(), 0, kMissingColumn) == 1'000);
  // 1 us before it began, 4 us observed: the last 5 us of ten are missing.
  CHECK(sum_of(collector.by_cpu(), 1, kMissingColumn) == 6'000);
  REQUIRE(collector.by_cpu().width_ns() == 1'000);
  CHECK(collector.by_cpu().at(4, 1, kMissingColumn) == 0);
  CHECK(collector.by_cpu().at(5, 1, kMissingColumn) == 1'000);
  CHECK(sum_of(collector.all(), 0, kMissingColumn) == 7'000);
}

TEST_CASE("a part of a recording that is missing is not observed", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  auto player = Player::open(record(run, directory, 1));
  REQUIRE(player);
  Collector collector(player.value().playback());
  collector.begins(0, 1'000);
  collector.sample(0, 5'000, 1);
  collector.begins(0, 9'000);
  collector.sample(0, 10'000, 1);
  Report report;
  report.cpus.resize(2);
  report.cpus[0].observed_ns = 5'000;
  collector.finish(report);
  CHECK(sum_of(collector.by_cpu(), 0, kMissingColumn) == 4'000);
  CHECK(sum_of(collector.by_cpu(), 1, kMissingColumn) == 9'000);  // it never began
}

TEST_CASE("of a daemon that ran before, the page begins with what was recorded, and parts with what they have",
          "[page]") {
  Description description;
  description.base.cpus.resize(2);
  for (CpuCounts& cpu : description.base.cpus) cpu.observed_ns = 500'000;
  description.base.clock.monotonic_ns = 900'000;
  const auto playback = Playback::begin(to_json(description));
  REQUIRE(playback);
  Collector collector(*playback.value());
  for (const std::size_t cpu : {0U, 1U}) collector.begins(cpu, 3'000);
  collector.sample(0, 950'000, 1);
  collector.begins(0, 3'000);  // something had no room
  collector.sample(0, 970'000, 1);
  collector.sample(0, 1'000'000, 1);
  Report report;
  report.cpus.resize(2);
  report.cpus[0].observed_ns = report.cpus[1].observed_ns = 100'000;
  collector.finish(report);
  CHECK(collector.first_ns() == 900'000);
  CHECK(collector.last_ns() == 1'000'000);
  CHECK(sum_of(collector.by_cpu(), 0, kMissingColumn) == 20'000);
  CHECK(sum_of(collector.by_cpu(), 1, kMissingColumn) == 0);
}

TEST_CASE("tails and the longest detour are those of the detours themselves", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const std::string path = record(run, directory, 400);
  const Made made(path);
  auto player = Player::open(path);
  REQUIRE(player);
  SelfTimes truth(player.value().playback());
  while (player.value().step(&truth)) {
  }
  std::size_t tails = 0;
  for (const MergedSource& source : made.merged.sources) {
    const auto found = truth.of.find(source.kind + ":" + source.name);
    if (found == truth.of.end()) continue;
    std::uint64_t total_ns = 0;
    std::uint64_t tail_ns = 0;
    std::uint64_t tail_count = 0;
    for (const std::uint64_t ns : found->second) {
      total_ns += ns;
      if (ns > source.p99_ns) tail_ns += ns;
      if (ns > source.p99_ns) ++tail_count;
    }
    CHECK(source.count == found->second.size());
    CHECK(source.total_ns == total_ns);
    CHECK(source.tail_count == tail_count);
    CHECK(source.tail_ns == tail_ns);
    CHECK(100 * tail_count <= source.count);
    if (tail_count != 0) ++tails;
  }
  CHECK(tails > 3);
  CHECK(views::to_json(made.collector.longest().sorted().front().view) == views::to_json(truth.longest));
}

TEST_CASE("a tail that was measured on another recording is refused", "[page]") {
  const TemporaryDirectory directory;
  const TemporaryDirectory other_directory;
  RecordedRun run;
  RecordedRun other;
  Made made(record(run, directory, 400));
  auto player = Player::open(record(other, other_directory, 300));
  REQUIRE(player);
  Tails tails(made.merged.sources, player.value().playback());
  while (player.value().step(&tails)) {
  }
  CHECK_FALSE(tails.set(made.merged.sources));
}

TEST_CASE("the page has the figures of the report as JSON and as tables", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 50));
  const std::string page = render(made.input());
  const nlohmann::json data = data_of(page);
  CHECK(data["all"]["detours"] == made.report.cpus[0].detours + made.report.cpus[1].detours);
  std::uint64_t count = 0;
  for (const auto& bucket : data["all"]["durations"]) count += bucket[2].get<std::uint64_t>();
  CHECK(count == data["all"]["detours"]);
  REQUIRE(data["cpus"].size() == 2);
  CHECK(data["cpus"][1]["cpu"] == 3);
  for (const auto& source : data["sources"]) {
    std::uint64_t in_buckets = 0;
    for (const auto& bucket : source["buckets"]) in_buckets += bucket[2].get<std::uint64_t>();
    CHECK(in_buckets == source["count"]);
    std::uint64_t drawn = 0;  // as histograms.js draws them, beside what it says of the tail
    for (const auto& bucket : source["buckets"]) {
      if (bucket[0] <= source["p99_ns"]) drawn += bucket[2].get<std::uint64_t>();
    }
    CHECK(drawn + source["tail_count"].get<std::uint64_t>() == source["count"]);
  }
  CHECK(page.find("<td>node</td>") != std::string::npos);
  CHECK(page.find("nothing of it") != std::string::npos);
  CHECK(page.find("<!--") == std::string::npos);
}

TEST_CASE("a recording of nothing makes a page that says so", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 0));
  const nlohmann::json data = data_of(render(made.input()));
  CHECK(data["all"]["detours"] == 0);
  CHECK(data["span_ns"] == 0);
}

TEST_CASE("the page says not timed of what was only counted, and has the mean of the report", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  Made made(record(run, directory, 1));
  Report report = made.report;
  report.lost.by.push_back({std::nullopt, "ring<full", 7});
  report.clock.containment = 0.9999996;
  report.sources = {{3, "page_fault", "page_fault", "user", 7, 0, 0, 0, 0, 0, 0},
                    {3, "io", "irq", "eth0", 3, 1'000'000'000'000, 1, 0, 999'999'999'998, 0, 0},
                    {3, "scheduling", "softirq", "SCHED", 3, 5, 1, 2, 2, 0, 0}};
  const Merged merged = merge(report, HistogramView());
  const client::PageParts& parts = *made.parts;
  const PageInput input{report,        parts.status,     parts.description, made.collector, merged,
                        parts.density, parts.projection, parts.advice,      parts.phases};
  const std::string sources = source_table(input);
  CHECK(sources.find("<code>page_fault:user</code></td><td class=\"figure\">7</td>") != std::string::npos);
  CHECK(sources.find("<td class=\"figure\">not timed</td>") != std::string::npos);
  CHECK(category_table(input).find("not timed") != std::string::npos);
  CHECK(merged.untimed == std::set<std::string>{"page_fault:user"});
  const auto scheduling = std::find_if(merged.sources.begin(), merged.sources.end(),
                                       [](const MergedSource& source) { return source.name == "SCHED"; });
  REQUIRE(scheduling != merged.sources.end());
  CHECK(scheduling->mean_ns == 2);  // 1.67
  CHECK(sources.find(">2 ns</span>") != std::string::npos);
  const std::string about = about_table(input);
  CHECK(about.find("99.9999%") != std::string::npos);
  CHECK(about.find("<br>7 ring&lt;full") != std::string::npos);
}
