// SPDX-License-Identifier: Apache-2.0
// The Prometheus exposition: names and labels of the contract, exact sums, a cap that never makes a counter go back.
#include <catch2/catch_test_macros.hpp>

#include <map>
#include <sstream>

#include "account/lost_counts.h"
#include "noised/api/metrics.h"
#include "noised/api/web.h"

namespace noised {

using namespace noised::account;
using namespace noised::daemon;

namespace {

// One CPU with detours of one source each, and a second one.
struct Scene {
  SourceTable sources;
  Snapshot snapshot;
  RunDescription run;

  Scene() {
    snapshot.cpus.resize(2);
    snapshot.cpus[0].cpu = 1;
    snapshot.cpus[1].cpu = 9;
    run.kernel = "6.1.0";
  }
  void add(std::size_t index, Kind kind, const std::string& name, std::uint64_t ns) {
    CpuStatistics& statistics = snapshot.cpus[index].statistics;
    statistics.add_detour({.end_ns = ns}, {.explained_ns = ns});
    statistics.add_source(sources.intern(kind, name), kind, ns);
  }
};

// Every sample by its name and labels, as written.
std::map<std::string, double> samples_of(const std::string& text) {
  std::map<std::string, double> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t space = line.rfind(' ');
    REQUIRE(space != std::string::npos);
    CHECK(samples.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second);  // each once
  }
  return samples;
}

double sum_of(const std::map<std::string, double>& samples, const std::string& prefix) {
  double sum = 0;
  for (const auto& [name, value] : samples) {
    if (name.starts_with(prefix)) sum += value;
  }
  return sum;
}

}  // namespace

TEST_CASE("metrics have the names, labels and values of the contract") {
  Scene scene;
  scene.add(0, Kind::vector, "local_timer", 3'000);
  scene.add(0, Kind::vector, "local_timer", 2'000);
  scene.add(0, Kind::task, "a\"b\\c\n", 1'000'000'000);
  scene.add(0, Kind::task, "noisectl", 2'000'000'000);
  scene.add(0, Kind::task, "noised/http", 3'000'000'000);
  scene.add(0, Kind::work, "noised", 5'000);
  scene.snapshot.cpus[0].observed_ns = 7'500'000'000;
  scene.snapshot.clock.uncertainty_ns = 50;
  scene.snapshot.clock.containment = 0.5;
  scene.snapshot.lost.by = {{1U, "ring_full", 4}, {std::nullopt, "missed_run", 2}};
  scene.snapshot.programs = {{"softirq_entry", "softirq", "tp_btf", 0, 10, 2'000'000'000},
                             {"nmi_handler", "nmi", "", 0, 0, 0}};
  const std::string text = Metrics(100).text(scene.snapshot, {scene.sources}, scene.run);
  const auto samples = samples_of(text);
  const auto expect = [&](const std::string& name, double value) {
    INFO(name);
    REQUIRE(samples.contains(name));
    CHECK(samples.at(name) == value);
  };
  expect(R"(noised_build_info{version=")" NOISED_VERSION R"(",kernel="6.1.0"})", 1);
  expect(R"(noised_detours_total{cpu="1"})", 6);
  expect(R"(noised_own_noise_seconds_total{cpu="1"})", 5);
  expect(R"(noised_own_noise_seconds_total{cpu="9"})", 0);
  expect(R"(noised_detours_total{cpu="9"})", 0);
  expect(R"(noised_observed_seconds_total{cpu="1"})", 7.5);
  expect(R"(noised_noise_seconds_total{cpu="1",category="periodic",kind="vector",source="local_timer"})", 5e-6);
  expect(R"(noised_interruptions_total{cpu="1",category="periodic",kind="vector",source="local_timer"})", 2);
  expect(R"(noised_noise_seconds_total{cpu="1",category="preemption",kind="task",source="a\"b\\x5cc\n"})", 1);
  expect(R"(noised_lost_total{cpu="1",reason="ring_full"})", 4);
  expect(R"(noised_lost_total{cpu="9",reason="ring_full"})", 0);
  expect(R"(noised_lost_total{cpu="",reason="missed_run"})", 2);
  expect(R"(noised_source_attached{kind="softirq"})", 1);
  expect(R"(noised_source_attached{kind="nmi"})", 0);
  expect(R"(noised_bpf_runs_total{program="softirq_entry"})", 10);
  expect(R"(noised_bpf_run_seconds_total{program="softirq_entry"})", 2);
  expect("noised_clock_uncertainty_seconds", 5e-8);
  expect("noised_containment_ratio", 0.5);
  CHECK_FALSE(samples.contains(R"(noised_bpf_runs_total{program="nmi_handler"})"));
}

TEST_CASE("the histogram of detours is cumulative, and its sum exact") {
  Scene scene;
  for (const std::uint64_t ns : {1ULL, 255ULL, 256ULL, 300ULL, 1ULL << 30U, 5'000'000'000ULL}) {
    scene.add(0, Kind::nmi, "x", ns);
  }
  const auto samples = samples_of(Metrics(100).text(scene.snapshot, {scene.sources}, scene.run));
  const auto bucket = [&](const std::string& bound) {
    const std::string name = R"(noised_detour_duration_seconds_bucket{cpu="1",le=")" + bound + "\"}";
    INFO(name);
    REQUIRE(samples.contains(name));
    return samples.at(name);
  };
  CHECK(bucket("2.56e-07") == 2);
  CHECK(bucket("5.12e-07") == 4);
  CHECK(bucket("1.073741824") == 4);  // 2^30 ns: one of exactly a bound counts in the next bucket
  CHECK(bucket("+Inf") == 6);
  CHECK(samples.at(R"(noised_detour_duration_seconds_count{cpu="1"})") == 6);
  CHECK(samples.at(R"(noised_detour_duration_seconds_sum{cpu="1"})") == 6.073742636);
  CHECK(samples.at(R"(noised_detour_duration_seconds_count{cpu="9"})") == 0);
}

TEST_CASE("sources over the cap are summed and counted, and no counter ever goes back") {
  Scene scene;
  Metrics metrics(3);
  std::map<std::string, double> before;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    for (std::uint64_t task = 0; task < round * 2; ++task) {
      scene.add(task % 2, Kind::task, "task" + std::to_string(10 - task), round);
    }
    const auto now = samples_of(metrics.text(scene.snapshot, {scene.sources}, scene.run));
    for (const auto& [name, value] : before) {
      INFO(name);
      REQUIRE(now.contains(name));
      CHECK(now.at(name) >= value);
    }
    // Nothing is left out: what is summed is in "other".
    double intervals = 0;
    for (std::uint64_t each = 1; each <= round; ++each) intervals += static_cast<double>(each * 2);
    CHECK(sum_of(now, "noised_interruptions_total") == intervals);
    before = now;
  }
  CHECK(before.at("noised_sources_over_cap") == 5);
  CHECK(before.contains(R"(noised_noise_seconds_total{cpu="9",category="preemption",kind="task",source="other"})"));
}

TEST_CASE("the series of a name that left ends, a later name has its place, and others grow by nothing old") {
  Scene scene;
  Metrics metrics(2);
  const auto text = [&] { return samples_of(metrics.text(scene.snapshot, {scene.sources}, scene.run)); };
  const auto series = [](const std::string& source) {
    return R"(noised_noise_seconds_total{cpu="1",category="preemption",kind="task",source=")" + source + "\"}";
  };
  scene.add(0, Kind::task, "early", 1'000'000'000);
  scene.add(0, Kind::task, "noised/loop1", 3'000'000'000);
  scene.add(0, Kind::task, "over", 5'000'000'000);  // the cap
  const auto before = text();
  CHECK(before.at(series("early")) == 1);
  CHECK(before.at(series("other")) == 5);
  CHECK(before.at("noised_sources_over_cap") == 1);
  CHECK(before.at("noised_sources_departed_total") == 0);
  CHECK(before.at(R"(noised_own_noise_seconds_total{cpu="1"})") == 3);
  scene.add(0, Kind::task, "early", 500'000'000);  // which its series does not tell any more
  std::vector<Departure> departures;
  for (const char* const name : {"early", "noised/loop1"})
    departures.push_back(*scene.sources.departure(scene.sources.intern(Kind::task, name)));
  scene.snapshot.cpus[0].statistics.let_go(Departures(departures));
  scene.sources.let_go(departures);
  scene.add(0, Kind::task, "late", 7'000'000'000);
  const auto after = text();
  CHECK_FALSE(after.contains(series("early")));
  CHECK(after.at(series("other")) == 5.5);
  CHECK(after.at(series("late")) == 7);
  CHECK(after.at(series("noised/other")) == 0);
  CHECK(after.at(R"(noised_own_noise_seconds_total{cpu="1"})") == 3);
  CHECK(after.at("noised_sources_departed_total") == 2);
  CHECK(sum_of(after, "noised_noise_seconds_total") == 12.5);
  // Whoever comes back begins anew.
  scene.add(0, Kind::task, "early", 2'000'000'000);
  const auto again = text();
  CHECK(again.at(series("other")) == 7.5);
  scene.add(0, Kind::task, "noised/loop2", 4'000'000'000);
  CHECK(text().at(R"(noised_own_noise_seconds_total{cpu="1"})") == 7);
}

TEST_CASE("an other of the source table is one with the others over the cap") {
  Scene scene;
  for (int i = 0; i < 5000; ++i) scene.add(0, Kind::task, "t" + std::to_string(i), 1);
  const auto samples = samples_of(Metrics(10).text(scene.snapshot, {scene.sources}, scene.run));
  CHECK(sum_of(samples, "noised_interruptions_total") == 5000);
}

TEST_CASE("tasks have their public names, in which nothing of theirs is missing") {
  Scene scene;
  SourceTable names;
  scene.add(0, Kind::task, "secret", 1'000'000'000);
  scene.add(0, Kind::task, "kworker", 2'000'000'000);
  scene.add(0, Kind::work, "vmstat_update", 4'000'000'000);
  LedgerCounter counter(scene.sources);
  counter.count_public(names.intern(Kind::task, "cron.service"), 300'000'000);
  counter.count_public(names.intern(Kind::task, "cron.service"), 700'000'000);
  counter.count_public(names.intern(Kind::task, "kworker"), 2'000'000'000);
  scene.snapshot.cpus[0].public_sums = counter.public_sums();
  const std::string text = Metrics(100).text(scene.snapshot, {scene.sources, &names}, scene.run);
  const auto samples = samples_of(text);
  CHECK(text.find("secret") == std::string::npos);
  const auto series = [](const std::string& family, const std::string& source) {
    return family + R"({cpu="1",category="preemption",kind="task",source=")" + source + "\"}";
  };
  CHECK(samples.at(series("noised_noise_seconds_total", "cron.service")) == 1);
  CHECK(samples.at(series("noised_interruptions_total", "cron.service")) == 2);
  CHECK(samples.at(series("noised_noise_seconds_total", "kworker")) == 2);
  CHECK(sum_of(samples, "noised_noise_seconds_total") == 7);
  CHECK(sum_of(samples, "noised_interruptions_total") == 4);  // two of the one task, as its ledgers told

  Metrics capped(1);
  const auto few = samples_of(capped.text(scene.snapshot, {scene.sources, &names}, scene.run));
  CHECK(sum_of(few, "noised_noise_seconds_total") == 7);
  CHECK(few.at(series("noised_noise_seconds_total", "other")) == 3);
  CHECK(few.at("noised_sources_over_cap") == 2);
}

TEST_CASE("names that are not UTF-8 stay apart") {
  Scene scene;
  scene.add(0, Kind::task, "a\xff", 1);
  scene.add(0, Kind::task, "a\xfe", 1);
  const auto samples = samples_of(Metrics(10).text(scene.snapshot, {scene.sources}, scene.run));
  CHECK(samples.contains(R"(noised_interruptions_total{cpu="1",category="preemption",kind="task",source="a\\xff"})"));
  CHECK(samples.contains(R"(noised_interruptions_total{cpu="1",category="preemption",kind="task",source="a\\xfe"})"));
}

TEST_CASE("every reason of a loss has a series") {
  LossCounts counts;
  counts.kernel = {1, 1, 1, 1, 1, 1};
  counts.detours = counts.samples = counts.refused = counts.impossible = counts.uncertain = counts.stopped =
      counts.moved = counts.bad = counts.blind = 1;
  ReportLost lost;
  add_losses(1, counts, lost);
  CHECK(lost.by.size() == kCpuLossReasons.size());
  for (const ReportLoss& loss : lost.by) {
    INFO(loss.reason);
    CHECK(std::count(kCpuLossReasons.begin(), kCpuLossReasons.end(), loss.reason) == 1);
  }
}

TEST_CASE("noised is ready where nothing was lost in the last minute, whatever was before") {
  Scene scene;
  const auto ready = [&] {
    return samples_of(Metrics(10).text(scene.snapshot, {scene.sources}, scene.run)).at("noised_ready");
  };
  CHECK(ready() == 1);
  scene.snapshot.lost.events = 5;
  CHECK(ready() == 0);
  scene.snapshot.before.lost.events = 5;
  CHECK(ready() == 1);
  scene.snapshot.lost.missed_runs = 1;
  CHECK(ready() == 0);
}

}  // namespace noised
