// SPDX-License-Identifier: Apache-2.0
// Costs of the work behind detours: read from what phases printed, and added to a projection.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "analysis/projection/after_costs.h"
#include "analysis/projection/projection.h"
#include "unit/analysis/projection_observe.h"
#include "views/phases.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;
using namespace noised::test;
using Catch::Approx;

namespace {

constexpr std::uint64_t kPeriodNs = 10'000'000;
constexpr std::uint64_t kEndNs = 6'000 * kPeriodNs;

// One CPU with a detour of this length every period, and what it costs afterwards.
Projection projected(std::uint64_t length_ns, AfterCosts* after) {
  const std::vector<std::uint64_t> observed{kEndNs};
  NodePhases phases(kGrain, observed, kEndNs, the_sources(), after);
  DetourLedger ledger;
  ledger.entries.push_back({0, Kind::vector, 0, 0, 0, length_ns, 0, 0});
  phases.begin(0, 0);
  for (std::uint64_t at = kPeriodNs / 2; at + kPeriodNs < kEndNs; at += kPeriodNs) {
    ledger.detour = {at, at + length_ns, false};
    phases.add(0, ledger);
  }
  phases.end(0, kEndNs);
  ProjectionInput input{kGrain, {1, 10, 1000}, {{0, kEndNs}}, the_sources(), &phases};
  return project(input);
}

}  // namespace

TEST_CASE("a detour that costs the work behind it is one that is longer", "[projection]") {
  SourceTable sources;
  const Source& first = sources.at(0);  // that of the ledgers
  const std::vector<AfterCost> costs{{first.kind, first.name, {50'000, 40'000, 60'000}}};
  AfterCosts after(costs, sources);
  const Projection with = projected(100'000, &after);
  const Projection longer = projected(150'000, nullptr);
  const Projection without = projected(100'000, nullptr);
  for (std::size_t i = 0; i < with.sizes.size(); ++i) {
    REQUIRE(with.sizes[i].excess.value);
    CHECK(*with.sizes[i].excess.value == Approx(*longer.sizes[i].excess.value).epsilon(1e-9));
    CHECK(*with.sizes[i].excess.value > *without.sizes[i].excess.value);
  }
  // Without its source, nothing of it is left.
  REQUIRE(with.gains.front().source.name == "noise");
  CHECK(*with.gains.front().excess[2].value == Approx(*with.sizes[2].excess.value).epsilon(1e-6));
  const auto detours = static_cast<double>(kEndNs / kPeriodNs - 1);
  CHECK(after.taken().ns == Approx(50'000 * detours));
  CHECK(after.taken().low_ns == Approx(40'000 * detours));
  CHECK(after.taken().high_ns == Approx(60'000 * detours));
}

TEST_CASE("what has no cost of its own has that of the others, and none is below zero", "[projection]") {
  SourceTable sources;
  const std::vector<AfterCost> costs{{Kind::task, "cheap", {-500, -900, -100}}, {{}, {}, {200, 100, 300}}};
  AfterCosts after(costs, sources);
  const SourceId cheap = sources.intern(Kind::task, "cheap");
  const SourceId irq = sources.intern(Kind::irq, "cheap");
  DetourLedger ledger;
  ledger.entries.push_back({irq, Kind::irq, 0, 0, 0, 1'000, 0, 0});
  CHECK(after.take(ledger) == 200);
  ledger.entries.push_back({irq, Kind::irq, 0, 0, 0, 1'000, 0, 0});
  CHECK(after.take(ledger) == 400);
  ledger.entries.push_back({cheap, Kind::task, 0, 0, 0, 1'000, 0, 0});
  CHECK(after.take(ledger) == 0);
  CHECK(after.taken().ns == 600);
}

TEST_CASE("costs are read from what phases printed, by activations of all CPUs", "[projection]") {
  const auto row = [](const std::string& source, int activations, const std::string& after) {
    return "{\"sources\":[\"" + source + "\",\"softirq:X\"],\"activations\":" + std::to_string(activations) +
           ",\"after\":" + after + "}";
  };
  const auto text = [](const std::string& one, const std::string& two) {
    return "{\"schema\":\"noised.phases/1\",\"cpus\":[{\"indirect\":{\"sources\":[" + one +
           "]}},{\"indirect\":{\"sources\":[" + two + "]}}]}";
  };
  const auto costs = views::parse_after_costs(
      text(row("vector:local_timer", 100, R"({"ns":1000,"low_ns":900,"high_ns":1100})") + "," +
               row("task:a:b", 5, "null") + "," + row("others", 7, R"({"ns":10,"low_ns":-5,"high_ns":25})"),
           row("vector:local_timer", 300, R"({"ns":2000,"low_ns":1900,"high_ns":2100})")));
  REQUIRE(costs);
  REQUIRE(costs.value().costs.size() == 2);
  CHECK_FALSE(costs.value().costs[0].kind);
  CHECK(costs.value().costs[0].cost.low_ns == -5);
  CHECK(costs.value().costs[1].kind == Kind::vector);
  CHECK(costs.value().costs[1].name == "local_timer");
  CHECK(costs.value().costs[1].cost.ns == Approx(1750));
  CHECK(costs.value().costs[1].cost.high_ns == Approx(1850));
  CHECK(costs.value().unknown == std::vector<std::string>{"task:a:b"});
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string(R"({"schema":"noised.phases/1"})"),
        std::string(R"({"schema":"noised.phases/1","cpus":[7]})"), text("7", ""), text("{}", ""),
        text(row("a:b", -1, "null"), ""), text(row("a:b", 1, R"({"ns":"x"})"), ""),
        text(row("irq:b", 1, R"({"ns":1e300,"low_ns":0,"high_ns":1})"), "")}) {
    INFO(bad);
    CHECK_FALSE(views::parse_after_costs(bad));
  }
}
