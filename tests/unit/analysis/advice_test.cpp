// SPDX-License-Identifier: Apache-2.0
// Gains against a second reckoning, and advice that adds up to what was measured.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "analysis/advice/advise.h"
#include "unit/analysis/advice_scene.h"
#include "unit/export/scene.h"
#include "views/advice.h"

namespace noised {
using namespace noised::account;
using namespace noised::analysis;
using namespace noised::recording;

namespace {

using test::DetourScene;

constexpr unsigned kOf[] = {1U << 0U, 1U << 1U, 1U << 2U, 1U << 3U};

/// A second's worth of detours of few sources, the same for the same seed.
std::vector<DetourScene> random_detours(SourceTable& sources, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::vector<DetourScene> detours;
  for (std::uint64_t at = 1'000; at < 1'000'000'000; at += 50'000 + below(5'000'000)) {
    DetourScene detour(sources, at);
    for (std::uint64_t parts = below(4); parts > 0; --parts) {
      switch (below(7)) {
        case 0:
          detour.add(Kind::vector, "local_timer", 0, 1 + below(9'000));
          detour.add(Kind::hrtimer, "tick_nohz_handler", 1, 1 + below(9'000));
          break;
        case 1:
          detour.add(Kind::task, "crond", 0, below(90'000), {{DetailKey::service, "/system.slice/cron.service"}});
          break;
        case 2:
          detour.add(Kind::softirq, "RCU", 0, below(9'000));
          break;
        case 3:
          detour.add(Kind::irq, "eth0", 0, below(9'000));
          break;
        case 4:
          detour.add(Kind::csd, "flush_tlb_func", 0, below(9'000), {{DetailKey::sender, "java"}});
          break;
        case 5:
          detour.add(Kind::task, "migration/1", 0, below(9'000));
          break;
        default:
          detour.add(Kind::page_fault, "user", 0, 0);
      }
    }
    if (!detour.ledger.entries.empty()) detour.overhead(below(20'000));
    if (below(3) == 0 || detour.ledger.entries.empty()) detour.outside(below(50'000), below(1'000));
    detour.done();
    detours.push_back(std::move(detour));
  }
  return detours;
}

Report report_of_a_second(std::uint64_t observed_ns) {
  Report report;
  report.cpus.emplace_back().observed_ns = observed_ns;
  return report;
}

const AdviceItem* find(const Advice& advice, std::string_view rule, std::string_view object = {}) {
  for (const AdviceItem& item : advice.items)
    if (item.rule == rule && (object.empty() || item.object == object)) return &item;
  return nullptr;
}

}  // namespace

TEST_CASE("plans give back what a second reckoning of each detour says", "[advice]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SourceTable sources;
    const Machine machine = test::recorded_machine(seed % 2 == 0 ? "quiet" : "isolcpus=1-3 nohz_full=1-3");
    auto detours = random_detours(sources, seed);
    AdviceCollector collector(sources, machine);
    collector.begins(0, 500);
    for (DetourScene& each : detours) collector.detour(0, each.ledger, each.details);
    collector.finish();

    // Who goes, by rule and object; the groups' own words for it.
    Classifier classifier(sources);
    const auto plans_of = [&](const Classifier::Entry& entry) {
      for (const NoiseGroup& group : collector.groups())
        if (group.rule == entry.rule && group.object == entry.object) return group.plans;
      FAIL("no group");
      return 0U;
    };
    for (std::size_t plan = 0; plan < kPlanCount; ++plan) {
      double expected = 0;
      std::uint64_t vanished = 0;
      std::uint64_t longest = 0;
      for (DetourScene& each : detours) {
        const auto& entries = classifier.classify(each.ledger, each.details);
        std::uint64_t ns = 0;
        std::size_t gone = 0;
        for (std::size_t i = 0; i < entries.size(); ++i) {
          if ((plans_of(entries[i]) & kOf[plan]) == 0) continue;
          ns += each.ledger.entries[i].self_ns;
          ++gone;
        }
        const bool all = gone == entries.size() && gone > 0;
        if (all) ns += each.ledger.overhead_ns;
        if (all && each.ledger.outside_ns() == 0 && ns > 0) ++vanished;
        expected += static_cast<double>(ns);
        longest = std::max(longest, ns);
      }
      const Relief& relief = collector.plan(static_cast<Plan>(plan));
      REQUIRE(relief.ns == expected);
      REQUIRE(relief.detours == vanished);
      REQUIRE(relief.longest_ns == longest);
    }
    REQUIRE(collector.plan(Plan::boot).ns <= collector.plan(Plan::boot_at_most).ns);
    REQUIRE(collector.plan(Plan::boot_at_most).ns <= collector.plan(Plan::every_at_most).ns);
  }
}

TEST_CASE("everything measured is in one item, and the items add up", "[advice]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SourceTable sources;
    const Machine machine = test::recorded_machine();
    AdviceCollector collector(sources, machine);
    collector.begins(0, 500);
    std::uint64_t measured = 0;
    for (DetourScene& each : random_detours(sources, seed)) {
      collector.detour(0, each.ledger, each.details);
      measured += each.ledger.detour.end_ns - each.ledger.detour.start_ns;
    }
    collector.finish();
    const Advice advice = advise(collector, sources, machine, report_of_a_second(1'000'000'000));
    std::uint64_t sum = advice.shared_overhead_ns;
    for (const AdviceItem& item : advice.items) {
      sum += item.total_ns;
      REQUIRE(item.total_ns == item.self_ns + item.overhead_ns);
      if (item.gain) {
        REQUIRE(item.gain->share.value <= advice.every.at_most.share.value + 1e-12);
      }
    }
    REQUIRE(sum == measured);
    REQUIRE(advice.detour_ns == measured);
  }
}

TEST_CASE("a tick a second stays, and is not in the gain", "[advice]") {
  SourceTable sources;
  const Machine machine = test::recorded_machine();
  AdviceCollector collector(sources, machine);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  collector.begins(0, 0);
  for (std::uint64_t tick = 0; tick < 1'000; ++tick) {
    DetourScene detour(sources, tick * 10'000'000);
    detour.add(Kind::vector, "local_timer", 0, 3'000).add(Kind::hrtimer, "tick_nohz_handler", 1, 5'000);
    detour.overhead(2'000);
    collector.detour(0, detour.done(), detour.details);
  }
  collector.gap(0, 10 * kSecond, 10 * kSecond);
  collector.finish();
  const Advice advice = advise(collector, sources, machine, report_of_a_second(10 * kSecond));
  const AdviceItem* const tick = find(advice, "tick");
  REQUIRE(tick != nullptr);
  REQUIRE(tick->gain);
  CHECK(tick->gain->share.value == Catch::Approx(0.001 * 0.99));
  CHECK(tick->gain->detours_per_second == Catch::Approx(99));
  CHECK(tick->gain->longest_ns == 10'000);
  CHECK(*tick->gain->share.low == Catch::Approx(0.001 * 0.99).epsilon(0.02));
  CHECK(advice.boot_line == "nohz_full=1-3");
  CHECK(advice.boot->sure.share.value == Catch::Approx(0.001 * 0.99));
  CHECK(advice.noise.value == Catch::Approx(0.001));
}

TEST_CASE("what is set gives no gain, what cannot be set neither", "[advice]") {
  SourceTable sources;
  Machine machine = test::recorded_machine("nohz_full=1-3 isolcpus=1-3");
  AdviceCollector collector(sources, machine);
  collector.begins(0, 0);
  DetourScene detour(sources, 1'000);
  detour.add(Kind::vector, "local_timer", 0, 3'000).add(Kind::hrtimer, "tick_nohz_handler", 1, 5'000);
  collector.detour(0, detour.done(), detour.details);
  collector.finish();
  const Advice advice = advise(collector, sources, machine, report_of_a_second(1'000'000'000));
  const AdviceItem* const tick = find(advice, "tick");
  REQUIRE(tick != nullptr);
  CHECK_FALSE(tick->gain.has_value());
  CHECK(tick->remedies.front().state == RemedyState::set);
  CHECK(advice.boot_line.empty());
  CHECK_FALSE(advice.boot.has_value());
  CHECK(advice.every.at_most.share.value == 0);
  const std::string text = views::to_text(advice, report_of_a_second(1'000'000'000));
  CHECK(text.find("already set") != std::string::npos);
}

TEST_CASE("time that was not observed is in no share", "[advice]") {
  SourceTable sources;
  const Machine machine = test::recorded_machine();
  AdviceCollector collector(sources, machine);
  collector.begins(0, 1'000'000'000);
  collector.gap(0, 1'200'000'000, 1'700'000'000);
  collector.gap(0, 2'000'000'000, 2'000'000'000);
  collector.begins(1, 1'500'000'000);
  collector.gap(1, 2'000'000'000, 9'000'000'000);
  collector.finish();
  double observed = 0;
  for (std::size_t i = 0; i < collector.observed().size(); ++i) observed += collector.observed().sum(i);
  CHECK(observed == 1'000'000'000);
}

TEST_CASE("what had no room in a recording is not observed, though it says again when the loop began", "[advice]") {
  SourceTable sources;
  const Machine machine = test::recorded_machine();
  AdviceCollector collector(sources, machine);
  collector.begins(0, 1'000'000'000);
  for (const std::uint64_t at_ns : {1'099'000'000UL, 1'500'000'000UL, 1'799'000'000UL}) {
    if (at_ns == 1'500'000'000) collector.begins(0, 1'000'000'000);
    DetourScene detour(sources, at_ns);
    detour.outside(1'000'000, 0);
    collector.detour(0, detour.done(), "");
  }
  collector.finish();
  double observed = 0;
  for (std::size_t i = 0; i < collector.observed().size(); ++i) observed += collector.observed().sum(i);
  CHECK(observed == 400'000'000);  // 1.0 to 1.1 s, and 1.5 to 1.8 s
}

TEST_CASE("advice of a recording adds up to its report, as JSON and as text", "[advice]") {
  const test::TemporaryDirectory directory;
  test::LossyRun run;
  test::record_run(run, directory.path("run"));
  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  const SourceTable& sources = player.value().playback().sources();
  const Machine machine = read_machine(player.value().playback().description(), false, {}, directory.path());
  struct Visitor : PlayerVisitor {
    Visitor(const SourceTable& table, const Machine& settings) : collector(table, settings) {}
    void begins(std::size_t cpu, std::uint64_t ns) override { collector.begins(cpu, ns); }
    void gap(std::size_t cpu, std::uint64_t start, std::uint64_t end) override { collector.gap(cpu, start, end); }
    void detour(std::size_t cpu, const DetourLedger& ledger, std::string_view details) override {
      collector.detour(cpu, ledger, details);
    }
    AdviceCollector collector;
  } visitor(sources, machine);
  while (player.value().step(&visitor)) {
  }
  visitor.collector.finish();
  const Report report = player.value().report();
  const Advice advice = advise(visitor.collector, sources, machine, report);
  std::uint64_t detour_ns = 0;
  for (const ReportCpu& cpu : report.cpus) detour_ns += cpu.detour_ns;
  CHECK(advice.detour_ns == detour_ns);
  const auto json = nlohmann::json::parse(views::to_json(advice, report));
  CHECK(json["schema"] == "noised.advice/1");
  std::uint64_t sum = json["shared_overhead_ns"].get<std::uint64_t>();
  for (const auto& item : json["advice"]) sum += item["total_ns"].get<std::uint64_t>();
  CHECK(sum == detour_ns);
  CHECK(json["settings_known"] == false);
  CHECK(views::to_text(advice, report).find("settings are not known") != std::string::npos);
}

}  // namespace noised
