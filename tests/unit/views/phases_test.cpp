// SPDX-License-Identifier: Apache-2.0
// Phases as text and JSON: what is not known is not shown as a number.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "unit/analysis/phase_scene.h"
#include "views/phases.h"
#include "views/text.h"

using namespace noised;
using namespace noised::analysis;
using noised::test::PhaseScene;
using noised::test::SimulatedCpu;
using noised::test::SimulatedSource;

namespace {

struct Shown {
  nlohmann::json json;
  std::string text;
};

Shown show(const SimulatedCpu& cpu, const SourceTable& sources, const views::PhaseSetting& setting) {
  PhaseAnalysis analysis(sources, 0);
  PhaseScene(cpu, 4, analysis).run();
  analysis.finish();
  const Report report;
  std::vector<views::CpuPhases> cpus{views::phases_of(3, analysis, sources, report)};
  cpus[0].iterations = 1'000;
  return {nlohmann::json::parse(views::to_json(cpus, setting, report)), views::to_text(cpus, setting, report)};
}

}  // namespace

TEST_CASE("phases are shown with their costs and intervals", "[views]") {
  SourceTable sources;
  SimulatedSource tick;
  tick.id = sources.intern(Kind::vector, "local_timer");
  SimulatedSource rare = tick;
  rare.id = sources.intern(Kind::irq, "disk\n");
  rare.period_ns = 60'000'000;
  SimulatedCpu cpu;
  cpu.white_ns = 500;
  cpu.sources = {tick, rare};
  const Shown shown = show(cpu, sources, {100'000, 49'152, "fifo"});
  CHECK(shown.json["schema"] == "noised.phases/1");
  CHECK(shown.json["grain_ns"] == 100'000);
  CHECK(shown.json["policy"] == "fifo");
  const nlohmann::json& of = shown.json["cpus"][0];
  CHECK(of["cpu"] == 3);
  CHECK(of["iterations"] == 1'000);
  CHECK(of["phases"] == 3'000);
  CHECK(of["survival"][1]["longer_than_ns"].is_number());
  CHECK(of["survival"][5]["longer_than_ns"].is_null());
  CHECK(of["survival"][5]["phases_needed"] == 10'000'000);
  CHECK(of["direct"][0]["name"] == "local_timer");
  const nlohmann::json& costs = of["indirect"]["sources"];
  REQUIRE(costs.size() == 2);
  CHECK(costs[0]["sources"][0] == "vector:local_timer");
  CHECK(costs[0]["indirect"]["low_ns"] < costs[0]["indirect"]["high_ns"]);
  CHECK(costs[0]["unknown"].is_null());
  CHECK(costs[1]["indirect"].is_null());
  CHECK(costs[1]["unknown"].is_string());
  CHECK(shown.text.find("CPU 3: 3000 phases of 1000 iterations of the loop, calibrated to 100 us, footprint 48 KiB, "
                        "policy fifo\n") != std::string::npos);
  CHECK(shown.text.find("too few phases to speak of p = 1e-03 (10000 phases)") != std::string::npos);
  CHECK(shown.text.find("irq:disk?") != std::string::npos);
}

TEST_CASE("what is not stated of phases, or was not measured, is null", "[views]") {
  const SourceTable sources;
  SimulatedCpu cpu;
  cpu.phases = 0;
  const Shown shown = show(cpu, sources, {});
  CHECK(shown.json["grain_ns"].is_null());
  CHECK(shown.json["footprint_bytes"].is_null());
  CHECK(shown.json["policy"].is_null());
  CHECK(shown.json["cpus"][0]["calibrated_ns"].is_null());
  CHECK(shown.json["cpus"][0]["mean_ns"].is_null());
  CHECK(shown.json["cpus"][0]["indirect"]["base_ns"].is_null());
  CHECK(shown.text.find("0 phases of 1000 iterations of the loop\n") != std::string::npos);
}

TEST_CASE("a cost has its sign", "[views]") {
  CHECK(views::signed_duration(-1'234) == "-1.23 us");
  CHECK(views::signed_duration(-0.2) == "0 ns");
  CHECK(views::signed_duration(812) == "812 ns");
}
