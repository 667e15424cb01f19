// SPDX-License-Identifier: Apache-2.0
// The live view without a terminal: keys, filters, sorting, scrolling, and lines for every size of screen.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/top/layout.h"
#include "noisectl/top/model.h"
#include "unit/views/examples.h"

using namespace noised;
using client::TopModel;
using client::TopSort;
using client::TopStyle;

namespace {

client::TopSample sample(std::uint64_t seconds = 10) {
  client::TopSample sample{examples::report(), {}, examples::status(), {}};
  sample.report.elapsed_ns = seconds * 1'000'000'000;
  ReportCpu& cpu = sample.report.cpus[0];
  cpu.observed_ns = sample.report.elapsed_ns;
  ReportCpu other = cpu;
  other.cpu = 2;
  sample.report.cpus.push_back(other);
  sample.report.sources = {{1, "periodic", "vector", "local_timer", 1000, 5'000'000, 1, 1, 9'000, 1, 0.5},
                           {1, "preemption", "task", "crond", 1, 750'000, 1, 1, 450'000, 1, 0.1},
                           {2, "preemption", "task", "aaa", 5, 800'000, 1, 1, 300'000, 1, 0.1}};
  return sample;
}

TopModel model() {
  TopModel filled;
  filled.add(sample());
  return filled;
}

std::vector<std::string> labels(const TopModel& model) {
  std::vector<std::string> found;
  for (const client::TopSource& source : model.sources()) found.push_back(source.key.label);
  return found;
}

std::string text(const std::vector<client::TopLine>& lines) {
  std::string all;
  for (const client::TopLine& line : lines) all += line.text + "\n";
  return all;
}

bool lines_alarm(const std::vector<client::TopLine>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&](const client::TopLine& line) {
    return line.style == TopStyle::alarm && line.text.find(part) != std::string::npos;
  });
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("keys choose the order, directly or one after the other", "[noisectl]") {
  TopModel top = model();
  CHECK(labels(top) == Labels{"vector:local_timer", "task:aaa", "task:crond"});
  top.press('x');
  CHECK(labels(top) == Labels{"task:crond", "task:aaa", "vector:local_timer"});
  top.press('m');
  CHECK(labels(top) == Labels{"task:crond", "task:aaa", "vector:local_timer"});
  top.press('r');
  CHECK(labels(top) == Labels{"vector:local_timer", "task:aaa", "task:crond"});
  top.press('n');
  CHECK(labels(top) == Labels{"task:aaa", "task:crond", "vector:local_timer"});
  top.press('t');
  for (const TopSort expected : {TopSort::rate, TopSort::mean, TopSort::max, TopSort::name, TopSort::stolen}) {
    top.press('s');
    CHECK(top.sort() == expected);
  }
}

TEST_CASE("filters go through all there is and back to everything", "[noisectl]") {
  TopModel top = model();
  top.press('c');
  CHECK(top.cpu_filter() == 1);
  CHECK(labels(top) == Labels{"vector:local_timer", "task:crond"});
  CHECK(top.cpus().size() == 1);
  top.press('c');
  CHECK(labels(top) == Labels{"task:aaa"});
  top.press('c');
  CHECK(labels(top).size() == 3);
  top.press('f');
  CHECK(top.category_filter() == "periodic");
  CHECK(labels(top) == Labels{"vector:local_timer"});
  top.press('f');
  CHECK(labels(top) == Labels{"task:aaa", "task:crond"});
  top.press('f');
  CHECK(top.category_filter().empty());
  CHECK(labels(top).size() == 3);
}

TEST_CASE("q quits, p pauses, others do nothing", "[noisectl]") {
  TopModel top = model();
  CHECK_FALSE(top.press('q'));
  CHECK(top.press('z'));
  CHECK(top.press(TopModel::kBack));
  CHECK(top.press('p'));
  CHECK(top.paused());
  top.press('p');
  CHECK_FALSE(top.paused());
}

TEST_CASE("the selection stays within the list, and in sight", "[noisectl]") {
  TopModel top = model();
  CHECK(top.selection() == 0);
  top.press('k');
  CHECK(top.selection() == 0);
  top.press('j');
  CHECK(top.selection() == 1);
  top.fit(1);
  CHECK(top.scroll_position() == 1);
  top.move(100);
  CHECK(top.selection() == 2);
  top.fit(2);
  CHECK(top.scroll_position() == 1);
  top.fit(50);  // the screen grew
  CHECK(top.scroll_position() == 0);
  top.fit(0);
  CHECK(top.selection() == 2);
  top.move(-1);
  CHECK(top.selection() == 1);
  top.fit(1);
  CHECK(top.scroll_position() == 1);
  TopModel nothing;
  nothing.press('j');
  nothing.fit(5);
  CHECK(nothing.selection() == 0);
}

TEST_CASE("the selection follows its source, and another order starts at the top", "[noisectl]") {
  TopModel top = model();
  top.press('j');
  CHECK(top.sources()[top.selection()].key.label == "task:aaa");
  client::TopSample later = sample(11);
  later.report.sources[2].total_ns += 9'000'000;
  top.add(later);
  CHECK(top.selection() == 0);
  CHECK(top.sources()[0].key.label == "task:aaa");
  top.press('j');
  top.press('x');
  CHECK(top.selection() == 0);
  top.press('j');
  top.press('c');
  CHECK(top.selection() == 0);
}

TEST_CASE("the first sample shows totals, the next ones differences, a restart totals again", "[noisectl]") {
  TopModel top = model();
  CHECK(top.since_start());
  CHECK(top.delta().sources[0].count == 1000);
  top.add(sample(11));
  CHECK_FALSE(top.since_start());
  CHECK(top.delta().interval_ns == 1'000'000'000);
  CHECK(top.delta().sources[0].count == 0);
  top.add(sample(3));
  CHECK(top.since_start());
  CHECK(top.delta().sources[0].count == 1000);
}

TEST_CASE("a daemon that is gone leaves its last numbers and a message until it is back", "[noisectl]") {
  TopModel top = model();
  top.unreachable("no daemon at /x: start one");
  auto lines = client::lay_out(top, 120, 30);
  CHECK(lines_alarm(lines, "no daemon at /x: start one (trying again)"));
  CHECK(text(lines).find("vector:local_timer") != std::string::npos);
  top.add(sample(11));
  CHECK(top.problem().empty());

  TopModel never;
  CHECK(text(client::lay_out(never, 80, 24)).starts_with("noised\nwaiting for the first figures\n\n"));
  never.unreachable("no daemon");
  CHECK(text(client::lay_out(never, 80, 24)).starts_with("noised\nno daemon (trying again)\n\n"));
}

TEST_CASE("a page of 80 columns", "[noisectl]") {
  TopModel top = model();
  top.press('c');
  CHECK(text(client::lay_out(top, 80, 10)) ==
        R"(noised  node1  kernel 6.18.0  up 90.0 s  housekeeping cpus 0
lost: nothing lost
taken by noised and noisectl: nothing
since start  sort: stolen  cpu: 1
 CPU    noise log   detours/s  largest     ever hypervisor  overhead unexplained
   1  0.0910% ##...     251.0  2.00 ms  2.00 ms    0.0200%   0.0100%     0.0004%
 CPU     share    rate/s     stolen/s     mean      max  source                 
>  1   0.0500%     100.0     500 us/s  5.00 us  9.00 us  vector:local_timer     
   1   0.0075%       0.1    75.0 us/s   750 us   450 us  task:crond             
arrows select  Enter open  s sort  c cpu  f category  p pause  ? keys  q quit
)");
  CHECK(text(client::lay_out(top, 130, 24)).find("task:crond                   preemption\n") != std::string::npos);
}

TEST_CASE("what is lost, paused or unexplained stands out", "[noisectl]") {
  client::TopSample bad = sample();
  bad.report.lost.events = 7;
  TopModel top;
  top.add(bad);
  top.press('p');
  const auto lines = client::lay_out(top, 120, 30);
  CHECK(lines_alarm(lines, "LOST: 7 events"));
  CHECK(lines_alarm(lines, "PAUSED"));
  CHECK_FALSE(lines_alarm(client::lay_out(model(), 120, 30), "lost"));
}

TEST_CASE("help is there when asked for", "[noisectl]") {
  TopModel top = model();
  CHECK(text(client::lay_out(top, 120, 30)).find("x max") == std::string::npos);
  top.press('?');
  CHECK(text(client::lay_out(top, 120, 30)).find("x max") != std::string::npos);
}

TEST_CASE("no line leaves the screen, whatever its size and whatever the names", "[noisectl]") {
  client::TopSample wide = sample();
  wide.report.host = std::string(300, 'h') + "\x1b[2J";
  wide.report.sources[0].name = "\x1b]0;title\x07";
  for (unsigned cpu = 3; cpu < 200; ++cpu) {
    wide.report.cpus.push_back(wide.report.cpus[0]);
    wide.report.cpus.back().cpu = cpu;
  }
  TopModel top;
  top.add(wide);
  top.press('?');
  for (const std::size_t width : std::initializer_list<std::size_t>{0, 1, 7, 40, 75, 76, 80, 95, 120, 500}) {
    for (const std::size_t height : std::initializer_list<std::size_t>{0, 1, 2, 5, 24, 300}) {
      const auto lines = client::lay_out(top, width, height);
      CHECK(lines.size() <= height);
      for (const client::TopLine& line : lines) {
        CHECK(line.text.size() <= width);
        CHECK(line.text.find('\x1b') == std::string::npos);
      }
    }
  }
}

TEST_CASE("many CPUs leave room for the sources", "[noisectl]") {
  client::TopSample many = sample();
  for (unsigned cpu = 3; cpu <= 100; ++cpu) {
    many.report.cpus.push_back(many.report.cpus[0]);
    many.report.cpus.back().cpu = cpu;
  }
  TopModel top;
  top.add(many);
  CHECK(text(client::lay_out(top, 120, 24)).find("and 89 more") != std::string::npos);
  CHECK(client::visible_rows(top, 24) == 5);
  CHECK(client::visible_rows(top, 3) == 0);
}

TEST_CASE("a bar is logarithmic from 0.001% to 100%", "[noisectl]") {
  CHECK(client::share_bar(0, 5) == ".....");
  CHECK(client::share_bar(1e-9, 5) == ".....");
  CHECK(client::share_bar(1e-4, 5) == "#....");
  CHECK(client::share_bar(0.1, 5) == "####.");
  CHECK(client::share_bar(1, 5) == "#####");
  CHECK(client::share_bar(7, 5) == "#####");
  CHECK(client::share_bar(0.5, 0).empty());
}
