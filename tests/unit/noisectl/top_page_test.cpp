// SPDX-License-Identifier: Apache-2.0
// The page of an opened source, without a terminal: opening, going back, scrolling, and lines for every size of screen.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/top/layout.h"
#include "noisectl/top/model.h"
#include "unit/views/examples.h"

using namespace noised;
using client::TopChainsView;
using client::TopModel;
using client::TopStyle;

namespace {

client::TopSample one_source(std::uint64_t seconds = 10) {
  client::TopSample sample{examples::report(), {}, examples::status(), {}};
  sample.report.elapsed_ns = seconds * 1'000'000'000;
  sample.report.cpus[0].observed_ns = sample.report.elapsed_ns;
  sample.report.sources[1].count = seconds / 5;
  sample.report.sources[1].total_ns = seconds * 75'000;
  return sample;
}

const client::TopKey kOpened{1, "task:crond"};

TopChainsView chains(std::size_t count = 2) {
  TopChainsView view;
  view.source = kOpened;
  view.chains = {{"pid 42, woken by systemd[1] on CPU 0, of /system.slice/cron.service", 3, 900'000, 450'000},
                 {"chain not told: in detours of very many intervals", 40, 20'000, 0}};
  while (view.chains.size() < count) view.chains.push_back({"chain " + std::to_string(view.chains.size()), 1, 10, 10});
  view.partners = {{"vector:local_timer", 4, 12'000}, {"softirq:RCU", 1, 3'000}};
  view.detours = 2048;
  view.detours_with = 4;
  view.span_ns = 8'200'000'000;
  return view;
}

/// The list with two samples, and crond opened.
TopModel opened() {
  TopModel top;
  top.add(one_source());
  top.add(one_source(15));
  top.press('n');
  REQUIRE(top.sources()[0].key == kOpened);
  top.press('\r');
  return top;
}

std::string text_of(const std::vector<client::TopLine>& lines) {
  std::string all;
  for (const client::TopLine& line : lines) all += line.text + "\n";
  return all;
}

bool shows(const TopModel& top, const std::string& part) {
  return text_of(client::lay_out(top, 80, 24)).find(part) != std::string::npos;
}

bool has_alarm(const TopModel& top, const std::string& part) {
  const auto lines = client::lay_out(top, 80, 24);
  return std::any_of(lines.begin(), lines.end(), [&](const client::TopLine& line) {
    return line.style == TopStyle::alarm && line.text.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("Enter opens the selected source, Escape and q go back to it", "[noisectl]") {
  for (const char back : {TopModel::kBack, 'q'}) {
    TopModel top;
    top.press('\r');
    CHECK_FALSE(top.opened());  // there is nothing to open
    top.add(one_source());
    top.press('j');
    CHECK(top.press('\r'));
    CHECK(top.opened() == kOpened);
    CHECK(top.press('x'));  // orders are for the list
    CHECK(top.sort() == client::TopSort::stolen);
    CHECK(top.press(back));
    CHECK_FALSE(top.opened());
    CHECK(top.sources()[top.selection()].key == kOpened);
    CHECK_FALSE(top.press('q'));
  }
}

TEST_CASE("chains of another source, or while paused, are not taken", "[noisectl]") {
  TopModel top = opened();
  TopChainsView other = chains();
  other.source.cpu = 2;
  top.add(other);
  CHECK(top.chains() == nullptr);
  top.press('p');
  top.add(chains());  // the first: better than an empty page
  REQUIRE(top.chains() != nullptr);
  top.add(chains(5));
  CHECK(top.chains()->chains.size() == 2);
  top.press('p');
  top.add(chains(5));
  CHECK(top.chains()->chains.size() == 5);
  top.press('q');
  top.press('\r');
  CHECK(top.chains() == nullptr);
}

TEST_CASE("a page of an opened source of 80 columns", "[noisectl]") {
  TopModel top = opened();
  top.add(chains());
  CHECK(text_of(client::lay_out(top, 80, 20)) ==
        R"(noised  node1  kernel 6.18.0  up 90.0 s  housekeeping cpus 0
lost: nothing lost
taken by noised and noisectl: nothing
task:crond on CPU 1  preemption
                count    rate/s     share     mean      min      max   stddev
last 5.00 s         1       0.2   0.0075%   375 us
since start         3       0.2   0.0075%   375 us   300 us   450 us  75.0 us
4 of 2048 detours of this CPU in 8.20 s had it; 0 not received
  count    total      max  chain
      3   900 us   450 us  pid 42, woken by systemd[1] on CPU 0, of /system.slic
     40  20.0 us        -  chain not told: in detours of very many intervals





detours   of its    total  shared with
      4   100.0%  12.0 us  vector:local_timer
      1    25.0%  3.00 us  softirq:RCU
arrows j k scroll  Esc q Backspace back  p pause  ? keys
)");
}

TEST_CASE("what the stream does not tell stands out", "[noisectl]") {
  TopModel top = opened();
  CHECK(shows(top, "waiting for detours"));
  TopChainsView view = chains();
  view.missed = 7;
  view.problem = "daemon went away";
  top.add(view);
  CHECK(has_alarm(top, "7 not received"));
  CHECK(has_alarm(top, "daemon went away (trying again)"));
  view = chains(0);
  view.chains.clear();
  top.add(view);
  CHECK(shows(top, "not seen yet"));
  CHECK_FALSE(has_alarm(top, "not received"));
  client::TopSample anew = one_source(1);  // a daemon that started anew
  anew.report.sources.clear();
  top.add(anew);
  CHECK(shows(top, "the daemon has not seen this source"));
}

TEST_CASE("chains scroll, and leave room for at most a third of other sources", "[noisectl]") {
  TopModel top = opened();
  TopChainsView view = chains(100);
  for (std::size_t i = 0; i < 50; ++i) view.partners.push_back({"work:f" + std::to_string(i), 1, 1});
  top.add(view);
  CHECK(client::visible_rows(top, 24) == 10);
  CHECK(shows(top, "and 50 more"));
  top.move(1000);
  top.fit(client::visible_rows(top, 24));
  CHECK(top.scroll_position() == 90);
  CHECK(shows(top, "chain 99"));
  CHECK_FALSE(shows(top, "chain 89"));
  top.move(-1);
  CHECK(top.scroll_position() == 89);
  top.add(chains(5));  // the stream began anew
  top.fit(client::visible_rows(top, 24));
  CHECK(top.scroll_position() == 0);
}

TEST_CASE("no line of a page leaves the screen, whatever its size and whatever the names", "[noisectl]") {
  TopModel top = opened();
  TopChainsView view = chains(300);
  view.chains[0].text = std::string(300, 'c') + "\x1b[2J";
  view.partners[0].label = "\x1b]0;title\x07";
  view.problem = std::string(300, '\x1b');
  top.add(view);
  top.press('?');
  for (const std::size_t width : std::initializer_list<std::size_t>{0, 1, 7, 40, 79, 80, 500}) {
    for (const std::size_t height : std::initializer_list<std::size_t>{0, 1, 2, 9, 12, 13, 14, 16, 24, 300}) {
      top.fit(client::visible_rows(top, height));
      const auto lines = client::lay_out(top, width, height);
      CHECK(lines.size() == height);
      for (const client::TopLine& line : lines) {
        CHECK(line.text.size() <= width);
        CHECK(line.text.find('\x1b') == std::string::npos);
      }
    }
  }
}
