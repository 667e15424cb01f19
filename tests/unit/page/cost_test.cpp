// SPDX-License-Identifier: Apache-2.0
// Sections of the page that say what noise costs, and what to do about it: the figures of the commands that they are
// of.
#include <catch2/catch_test_macros.hpp>

#include "page/html.h"
#include "page/page.h"
#include "unit/analysis/phase_scene.h"
#include "unit/base/texts.h"
#include "unit/page/scene.h"

using namespace noised;
using namespace noised::analysis;
using namespace noised::page;
using namespace noised::test;
using noised::test::has;

namespace {

constexpr const char* kScript = "</script><img src=x onerror=alert(1)>";

}  // namespace

TEST_CASE("the page says what noise costs a job as the projection does, or what that needs", "[page][projection]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 400));
  const Projection& projection = made.parts->projection.projection;
  REQUIRE(projection.cpus.size() == 2);
  REQUIRE(projection.sizes.size() == 3);
  REQUIRE(projection.sizes[0].excess.value);
  REQUIRE_FALSE(projection.sizes[2].excess.value);
  const nlohmann::json data = data_of(render(made.input()))["projection"];
  CHECK(data["grain_ns"] == 100'000);
  CHECK(data["sizes"][0]["excess"][0] == *projection.sizes[0].excess.value);
  CHECK(data["sizes"][0]["excess"][2] == *projection.sizes[0].excess.high);
  CHECK(data["sizes"][2]["excess"].is_null());
  CHECK(data["sizes"][2]["text"].get<std::string>().starts_with("needs "));
  const std::string tables = projection_tables(made.input());
  CHECK(has(tables, data["sizes"][0]["text"].get<std::string>()));
  CHECK(has(tables, data["sizes"][2]["text"].get<std::string>()));
  REQUIRE(projection.ranked_by);
  CHECK(has(tables, "gives back at " + grouped(projection.sizes[*projection.ranked_by].nodes) + " nodes"));
  CHECK(has(projection_head(made.input()), "a node is CPUs 1,3, "));
}

TEST_CASE("advice of the page adds up to the stolen time of its report", "[page][advice]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 200));
  std::uint64_t stolen_ns = 0;
  for (const ReportCpu& cpu : made.report.cpus) stolen_ns += cpu.detour_ns;
  std::uint64_t rows_ns = made.parts->advice.shared_overhead_ns;
  for (const AdviceItem& item : made.parts->advice.items) rows_ns += item.total_ns;
  CHECK(rows_ns == stolen_ns);
  const std::string tables = advice_tables(made.input());
  CHECK(has(tables, "<tr class=\"sum\"><td>all</td><td class=\"figure\">" + duration_html(stolen_ns)));
  CHECK(has(tables, "Settings are not known"));
  CHECK(has(tables, "&gt; /proc/irq/N/smp_affinity_list"));
}

TEST_CASE("of many kinds of noise the page shows some, and what the others took", "[page][advice]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 1));
  Advice& advice = made.parts->advice;
  advice.items.assign(kMostAdvice + 7, AdviceItem());
  advice.detour_ns = advice.shared_overhead_ns = 0;
  for (AdviceItem& item : advice.items) item.total_ns = 3, advice.detour_ns += 3;
  const std::string tables = advice_tables(made.input());
  CHECK(has(tables, "<td>7 other kinds of noise</td><td class=\"figure\">" + duration_html(21)));
}

TEST_CASE("without phases of fixed work the page says how to measure them", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 20));
  const std::string page = render(made.input());
  CHECK(has(page, "noisectl record --grain 1ms"));
  CHECK(data_of(page)["phases"].empty());
}

TEST_CASE("names are text in the sections of costs and advice, never markup", "[page]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Made made(record(run, directory, 400));
  client::PageParts& parts = *made.parts;
  REQUIRE_FALSE(parts.projection.projection.gains.empty());
  parts.projection.projection.gains[0].source.name = kScript;
  parts.projection.untimed.push_back({0, Kind::page_fault, kScript, 3, 0, 0});
  REQUIRE_FALSE(parts.advice.items.empty());
  AdviceItem& item = parts.advice.items[0];
  item.object = item.title = kScript;
  item.sources.assign(1, {"task", kScript, 1, 1});
  item.senders = {{kScript, 1}};
  item.remedies.assign(1, {RemedyId::irq_affinity, kScript, RemedyPlace::file, kScript, kScript, kScript,
                           RemedyState::unknown, kScript});
  parts.advice.boot_line = kScript;
  parts.advice.boot.emplace();
  parts.advice.why = "it was <not> there";

  SourceTable sources;
  SimulatedSource tick;
  tick.id = sources.intern(Kind::task, kScript);
  SimulatedCpu cpu;
  cpu.white_ns = 500;
  cpu.sources = {tick};
  PhaseAnalysis analysis(sources, 0);
  PhaseScene(cpu, 4, analysis).run();
  analysis.finish();
  parts.phases = {{views::phases_of(3, analysis, sources, parts.report)}, {100'000, 0, kScript}};

  const std::string page = render(parts.input());
  CHECK_FALSE(has(page, "<img"));
  CHECK_FALSE(has(page, "<not>"));
  const std::string escaped = escape_html(kScript);
  CHECK(has(projection_tables(parts.input()), ":" + escaped + "</code>"));
  CHECK(has(advice_tables(parts.input()), "<strong>" + escaped + "</strong>: <code>" + escaped + "</code>"));
  CHECK(has(phase_tables(parts.input()), "<code>task:" + escaped + "</code>"));
  CHECK(has(phase_tables(parts.input()), "policy " + escaped));
  const nlohmann::json phases = data_of(page)["phases"];
  REQUIRE(phases.size() == 1);
  CHECK(phases[0]["cpu"] == 3);
  CHECK(phases[0]["points"][0][0] == 0.1);
}
