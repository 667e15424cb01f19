// SPDX-License-Identifier: Apache-2.0
// Baselines as files, and what is different between two, in words.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "unit/analysis/baseline_scene.h"
#include "views/baseline.h"
#include "views/baseline_file.h"

using namespace noised;
using namespace noised::analysis;
using noised::test::add_source;
using noised::test::empty_run;

namespace {

Baseline example() {
  Baseline run = empty_run(31);
  run.kernel = "6.1";
  run.start = "2026-11-22T10:00:00Z";
  run.policy = "other";
  run.unsupported = {"page faults"};
  run.detours[3] = {{100, 2}, {4'096, 1}};
  add_source(run, Kind::vector, "local_timer", std::vector<std::uint64_t>(31, 160), 4'000);
  return run;
}

std::string problem_of(const nlohmann::json& json) {
  const auto parsed = views::parse_baseline(json.dump());
  return parsed ? "" : parsed.error().what;
}

}  // namespace

TEST_CASE("baseline: a file says what was saved", "[views][baseline]") {
  const std::string json = views::to_json(example());
  const auto read = views::parse_baseline(json);
  REQUIRE(read);
  CHECK(views::to_json(read.value()) == json);
  CHECK(read.value().blocks() == 31);
  CHECK(read.value().detours[3] == example().detours[3]);
  CHECK(read.value().sources.at(0).blocks.at(30).self_ns == 640'000);
}

TEST_CASE("baseline: a file that cannot be is refused, with the field that says so", "[views][baseline]") {
  const auto good = nlohmann::json::parse(views::to_json(example()));
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json changed = good;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return problem_of(changed);
  };
  CHECK(problem_of(good).empty());
  CHECK(with("/schema", "noised.report/1").find("schema") != std::string::npos);
  CHECK(with("/block_ns", 11'000'000).find("baseline.block_ns") == 0);
  CHECK(with("/cpus", nlohmann::json::array()).find("baseline.cpus") == 0);
  CHECK(with("/cpus/0/threshold_ns", -1).find("baseline.cpus[0].threshold_ns") == 0);
  CHECK(with("/detours/3/0", {101, -2}).find("baseline.detours") == 0);
  CHECK(with("/detours/3/0", {4'097, 1}).find("baseline.detours") == 0);
  CHECK(with("/detours/3/1", {100, 1}).find("baseline.detours") == 0);
  CHECK(with("/detours", nlohmann::json(std::vector<std::vector<int>>(129))).find("baseline.detours") == 0);
  CHECK(with("/sources/0/kind", "nothing").find("baseline.sources[0].kind") == 0);
  CHECK(with("/sources/0/blocks/4", {31, 1, 1}).find("baseline.sources[0].blocks") == 0);
  CHECK(with("/sources/0/blocks/4", {3, 1, 1}).find("baseline.sources[0].blocks") == 0);
  CHECK(with("/sources/0/blocks/4", {4, 0, 1}).find("baseline.sources[0].blocks") == 0);
  CHECK(with("/sources/1", good["sources"][0]).find("baseline.sources[1].name") == 0);
  CHECK_FALSE(views::parse_baseline("{"));
}

TEST_CASE("baseline: a difference is told with its rates, its time and its chance", "[views][baseline]") {
  const Baseline before = example();
  Baseline after = example();
  after.kernel = "6.2";
  add_source(after, Kind::task,
             "new\x1b"
             "daemon",
             std::vector<std::uint64_t>(31, 1), 200'000);
  const auto diff = compare(before, after);
  REQUIRE(diff);
  const std::string text = views::to_text(diff.value(), before, after);
  INFO(text);
  CHECK(text.find("new     task:new?daemon") != std::string::npos);
  CHECK(text.find("1.56") != std::string::npos);  // of 0.64 s each
  CHECK(text.find("+313 us") != std::string::npos);
  CHECK(text.find("kernel: '6.1' before, '6.2' now") != std::string::npos);
  CHECK(text.find("different: 1 change of sources") != std::string::npos);
  const auto json = nlohmann::json::parse(views::to_json(diff.value(), before, after));
  CHECK(json["schema"] == "noised.baseline_diff/1");
  CHECK(json["different"] == true);
  CHECK(json["changes"][0]["change"] == "new");
  CHECK(json["changes"][0]["added_ns_per_second"] == 312'500);
  CHECK(json["changes"][0]["before"]["self_ns"].is_null());
  CHECK(json["changes"][0]["p"].get<double>() < 0.01);
  CHECK(json["new_source"]["blocks"].get<int>() > 5);
}

TEST_CASE("baseline: no difference is told with what would have been one", "[views][baseline]") {
  const Baseline run = example();
  const auto diff = compare(run, run);
  REQUIRE(diff);
  const std::string text = views::to_text(diff.value(), run, run);
  INFO(text);
  CHECK(text.find("\nno difference\n") != std::string::npos);
  CHECK(text.find("100 us of each second") != std::string::npos);
  CHECK(text.find("95 times in 100") != std::string::npos);
  CHECK(nlohmann::json::parse(views::to_json(diff.value(), run, run))["different"] == false);
}
