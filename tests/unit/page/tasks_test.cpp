// SPDX-License-Identifier: Apache-2.0
// The page of watched tasks has the figures of their report, and nothing that a task brings is markup.
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include <string>

#include "noisectl/commands/tasks_page_maker.h"
#include "page/html.h"
#include "page/tasks_page.h"
#include "unit/account/watched_scene.h"
#include "unit/base/temporary_directory.h"
#include "unit/base/texts.h"
#include "unit/views/watch_example.h"
#include "views/watch.h"

using namespace noised;
using namespace noised::recording;
using namespace noised::page;
using noised::test::has;
using noised::test::TemporaryDirectory;

namespace {

std::string page_of(const WatchReport& watched, const std::vector<DetourView>& longest = {}) {
  const Report report;
  const StatusView status;
  const Description description;
  return render_tasks({watched, report, status, description, longest, 1'000});
}

std::size_t count(const std::string& page, const std::string& text) {
  std::size_t times = 0;
  for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++times;
  return times;
}

}  // namespace

TEST_CASE("the page of tasks has what each lost, ran and waited, and all of them", "[page][watch]") {
  const WatchReport watched = examples::watch();
  const std::string page = page_of(watched);
  for (const WatchTask& task : watched.tasks) {
    CHECK(has(page, fmt::format("<td class=\"figure\">{}</td>", task.pid)));
    CHECK(has(page, code_html(task.name)));
    CHECK(has(page, duration_html(task.stolen_ns)));
    CHECK(has(page, duration_html(task.counts.run_ns)));
    CHECK(has(page, duration_html(task.counts.preempted_ns + task.counts.queued_ns)));
    CHECK(has(page, grouped(task.counts.minor_faults)));
  }
  for (const ReportSource& source : watched.sources) CHECK(has(page, code_html(source.kind + ":" + source.name)));
  CHECK(has(page, "not timed"));
  CHECK(has(page, duration_html(watched.stolen_ns)));
  CHECK(has(page, duration_html(watched.runnable_ns)));
  CHECK(has(page, "1 tasks that lost less are not shown one by one."));
  CHECK(has(page, "page_fault duration: fentry refused by kernel"));
  CHECK(count(page, "<table") == count(page, "</table>"));
  CHECK_FALSE(has(page, "<!--"));
  CHECK_FALSE(has(page, "<script"));
}

TEST_CASE("the page of tasks has a row of durations for each doubling", "[page][watch]") {
  WatchReport watched;
  watched.runs = {{1'000, 1'015, 2}, {1'016, 1'023, 3}, {1'024, 1'039, 4}, {1'000'000, 1'015'623, 1}};
  const std::string tables = task_duration_tables({watched, {}, {}, {}, {}, 0});
  CHECK(count(tables, "<tr><td") == 3);
  CHECK(has(tables, fmt::format("{}</td><td class=\"figure\">{}</td><td class=\"figure\">5<", duration_html(1'000),
                                duration_html(1'023))));
  CHECK(has(tables, "<td class=\"figure\">10</td>"));
}

TEST_CASE("categories of the page of tasks sum to what was stolen", "[page][watch]") {
  const WatchReport watched = examples::watch();
  std::uint64_t sum_ns = 0;
  for (const auto& [category, ns] : views::category_times(watched)) sum_ns += ns;
  CHECK(sum_ns == watched.explained_ns + watched.overhead_ns + watched.hypervisor_ns + watched.hardware_ns +
                      watched.unexplained_ns);
  CHECK(count(tasks_stack({watched, {}, {}, {}, {}, 0}), "<rect") == views::category_times(watched).size());
}

TEST_CASE("names of tasks and sources are text in their page, never markup", "[page][watch]") {
  const std::string evil = "</td><script>\xff";
  WatchReport watched = examples::watch();
  watched.selection = "comm " + evil;
  watched.cpus = evil;
  watched.tasks[0].name = evil;
  watched.tasks[0].categories = {{evil, 5}};
  watched.sources[0].name = evil;
  watched.sources[0].category = evil;
  watched.combinations[0].sources[0] = evil;
  watched.unsupported = {evil};
  DetourView loss;
  loss.task = evil;
  loss.loss = evil;
  loss.entries = {{}};
  loss.entries[0].name = evil;
  const std::string page = page_of(watched, {loss});
  CHECK_FALSE(has(page, "<script"));
  CHECK_FALSE(has(page, "\xff"));
  CHECK(count(page, escape_html(evil)) >= 9);
}

TEST_CASE("of many sources the page of tasks shows some, and what the others took", "[page][watch]") {
  WatchReport watched = examples::watch();
  watched.sources.resize(kMostTaskSources + 3, watched.sources[0]);
  CHECK(has(page_of(watched), "3 other sources"));
  CHECK_FALSE(has(page_of(examples::watch()), "other sources"));
  CHECK(has(page_of(WatchReport()), "0 tasks ran"));
}

TEST_CASE("the page of a recording of tasks has their report, and the longest loss", "[page][watch]") {
  const TemporaryDirectory directory;
  test::WatchedRun run;
  run.begin_account(0, [](std::uint32_t) { return true; });
  test::record_watched(run, directory.path("recording"), 10);
  client::MeasureOptions options;
  options.needs_loop = false;
  options.replay = directory.path("recording");
  const auto measured = client::Measured::get(options);
  REQUIRE(measured);
  const auto page = client::make_tasks_page(measured.value());
  REQUIRE(page);
  CHECK(page.value().whole);
  const WatchReport expected = run.watch_report();
  for (const WatchTask& task : expected.tasks) {
    INFO(task.pid);
    CHECK(has(page.value().text, duration_html(task.stolen_ns)));
    CHECK(has(page.value().text, duration_html(task.counts.run_ns)));
  }
  CHECK(has(page.value().text, duration_html(expected.stolen_ns)));
  CHECK(count(page.value().text, duration_html(expected.max_interruption_ns)) >= 2);
}
