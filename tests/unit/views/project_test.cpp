// SPDX-License-Identifier: Apache-2.0
// What is known, what needs more time, and what was not seen, as text and as JSON.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "unit/base/texts.h"
#include "views/projection.h"

using namespace noised;
using namespace noised::analysis;
using noised::test::has;

namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;

views::ProjectionView projected() {
  views::ProjectionView view;
  Projection& projection = view.projection;
  projection.grain_ns = 1'000'000;
  projection.cpus = {3, 4};
  projection.observed_ns = 12 * kHourNs;
  projection.unseen_ns = 8 * kHourNs;
  projection.delayed = {{0.01, {0.01, 0.009, 0.011, {}}, {}}, {0.125, {{}, {}, {}, kHourNs}, {}}};
  projection.together = Estimate{0.5, 0.4, 0.6, {}};
  projection.exceeded = {
      {1e-1, {0.0, 0.0, 0.0, {}}}, {1e-2, {5'000.0, 4'000.0, 6'000.0, {}}}, {1e-3, {{}, {}, {}, 3 * kHourNs}}};
  projection.sizes = {{10, {0.0956, 0.086, 0.105, {}}, 0.1, 0.044, {0.0012, 0.001, 0.0015, {}}, {}},
                      {1'000, {0.99996, 0.9999, 1.0, {}}, 10.0, 0.9, {{}, {}, {}, 3 * kHourNs}, 0.001}};
  projection.ranked_by = 0;
  const RemovableSource tick{1, Kind::hrtimer, "tick", 9, 900, 100};
  const RemovableSource seldom{2, Kind::task, "evil\x1b[2J", 1, 800, 800};
  const RemovableSource rest{3, Kind::irq, "eth0", 1, 70, 70};
  projection.gains = {{tick, {{0.0006, 0.0005, 0.0007, {}}, {{}, {}, {}, kHourNs}}},
                      {seldom, {{{}, {}, {}, 2 * kHourNs}, {{}, {}, {}, kHourNs}}}};
  view.all_sources = {tick, seldom, rest};
  view.untimed = {{4, Kind::page_fault, "user", 12, 0, 0}};
  return view;
}

}  // namespace

TEST_CASE("a projection says what is known, and what needs how much more", "[views]") {
  const std::string text = views::to_text(projected());
  INFO(text);
  CHECK(has(text, "computes for 1.00 ms between two barriers"));
  CHECK(has(text, "a node is CPUs 3, 4, 12 h observed"));
  CHECK(has(text, "less often than once in 8 h"));
  CHECK(has(text, "delayed by more than 1% of the grain: 1.00% (0.900% to 1.10%)\n"));
  CHECK(has(text, "delayed by more than 12.5% of the grain: needs 1 h more\n"));
  CHECK(has(text, "noise of the node's CPUs comes at once: its phases' mean delay is 0.50 (0.40 to 0.60) of what"));
  CHECK(has(text, "needs 3 h more"));
  CHECK(has(text, "1.00120  1.00100 to 1.00150"));
  CHECK(has(text, "needs 3 h more  at least 1.00100"));
  CHECK(has(text, "Nodes are taken as independent, and their CPUs as they were observed together."));
  CHECK(has(text, "give back at 10 nodes"));
  CHECK(has(text, "50.0%"));  // of the delay
  CHECK(has(text, "needs 2 h more"));
  CHECK(has(text, "and 1 more sources: 70 ns together, none longer than 70 ns at once"));
  CHECK(has(text, "page_fault:user (12 times) is counted, not timed"));
  CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("whether noise comes to the CPUs of a node together is told where it is known", "[views]") {
  const auto told = [](double value, double low, double high) {
    return views::together_text(Estimate{value, low, high, {}});
  };
  CHECK(has(told(0.9, 0.8, 1.1), "comes by chance: its phases' mean delay is 0.90 (0.80 to 1.10)"));
  CHECK(has(told(1.3, 1.2, 1.4), "comes in turns: "));
  CHECK(has(views::together_text(Estimate{{}, {}, {}, kHourNs}), "needs 1 h more"));
  views::ProjectionView view = projected();
  view.projection.together.reset();
  view.projection.joint = false;
  CHECK(has(views::to_text(view), "CPUs and nodes are taken as independent: not all CPUs were observed"));
  CHECK(nlohmann::json::parse(views::to_json(view))["joint"] == false);
  CHECK(nlohmann::json::parse(views::to_json(view))["not_joint_because"] == "times");
  view.projection.waited = true;
  CHECK(has(views::to_text(view),
            "independent: of one so little was told for so long that what was known of the others"));
  CHECK_FALSE(has(views::to_text(view), "node's CPUs comes"));
  CHECK(nlohmann::json::parse(views::to_json(view))["together"].is_null());
}

TEST_CASE("as JSON, what is not known is null with what it needs", "[views]") {
  const auto json = nlohmann::json::parse(views::to_json(projected()));
  CHECK(json["schema"] == "noised.projection/1");
  CHECK(json["grain_ns"] == 1'000'000);
  CHECK(json["p"]["value"] == 0.01);
  CHECK(json["p"]["needs_ns"].is_null());
  CHECK(json["delays"][0]["of_grain"] == 0.01);
  CHECK(json["delays"][0]["p"] == json["p"]);
  CHECK(json["delays"][1]["p"]["needs_ns"] == kHourNs);
  CHECK(json["exceeded"][1]["delay_ns"] == 5'000);
  CHECK(json["exceeded"][2]["delay_ns"].is_null());
  CHECK(json["exceeded"][2]["needs_ns"] == 3 * kHourNs);
  CHECK(json["sizes"][0]["slowdown"]["value"] == 1.0012);
  CHECK(json["sizes"][0]["slowdown_at_least"].is_null());
  CHECK(json["sizes"][1]["slowdown"]["value"].is_null());
  CHECK(json["sizes"][1]["slowdown_at_least"] == 1.001);
  CHECK(json["ranked_by_nodes"] == 10);
  CHECK(json["sources"][0]["source"] == "hrtimer:tick");
  CHECK(json["sources"][0]["gains"][1]["nodes"] == 1'000);
  CHECK(json["sources"][0]["gains"][1]["needs_ns"] == kHourNs);
  CHECK(json["sources_not_projected"].size() == 1);
  CHECK(json["sources_not_timed"][0]["count"] == 12);
}

TEST_CASE("nothing seen, and nothing observed for long enough, are two things", "[views]") {
  views::ProjectionView view = projected();
  view.projection.delayed = {{0, {}, 3e-6}};
  CHECK(has(views::to_text(view), "delayed at all: none was; below 0.0003% (95%)"));
  CHECK(nlohmann::json::parse(views::to_json(view))["p_at_most"] == 3e-6);
  views::ProjectionView none;
  none.projection.grain_ns = 1'000'000'000;
  none.longest_stretch_ns = 10'000'000;
  CHECK(has(views::to_text(none), "no phase of 1.00 s was observed"));
  CHECK(has(views::to_text(none), "is 10.0 ms"));
  CHECK(nlohmann::json::parse(views::to_json(none))["ranked_by_nodes"].is_null());
}
