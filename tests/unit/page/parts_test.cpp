// SPDX-License-Identifier: Apache-2.0
// What the page is made from: bins of time, pieces of detours, and text that can do no harm.
#include <catch2/catch_test_macros.hpp>

#include <map>
#include <random>

#include "account/attributor.h"
#include "page/charts.h"
#include "page/collector.h"
#include "page/html.h"

using namespace noised;
using namespace noised::account;
using namespace noised::page;

namespace {

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>'\"&\x01\xff\xe2\x80\xa8";

// Who owned each nanosecond, the slow way: the interval that started last among those that cover it.
std::map<std::uint64_t, Category> owners(const std::vector<Interval>& intervals, const SourceTable& sources) {
  std::map<std::uint64_t, Category> owner;
  std::map<std::uint64_t, const Interval*> latest;
  for (const Interval& interval : intervals) {
    for (std::uint64_t ns = interval.start_ns; ns < interval.end_ns; ++ns) {
      const Interval*& now = latest[ns];
      const bool later = now == nullptr || interval.start_ns > now->start_ns ||
                         (interval.start_ns == now->start_ns && interval.end_ns < now->end_ns);
      if (later) now = &interval;
    }
  }
  for (const auto& [ns, interval] : latest) owner[ns] = sources.at(interval->source).category;
  return owner;
}

}  // namespace

TEST_CASE("time in bins stays where it was, in whatever order it came, however wide they became", "[page]") {
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 30; ++round) {
    TimeBins bins(2, 3, 16);
    std::vector<std::array<std::uint64_t, 4>> added;  // lane, column, start, end
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t start = random() % 500'000 + (round % 2 == 0 ? 0 : 1'000'000'000'000'000);
      added.push_back({random() % 2, random() % 3, start, start + random() % 50'000});
      bins.add(added.back()[0], added.back()[1], added.back()[2], added.back()[3]);
    }
    REQUIRE(bins.bins() <= 16);
    for (std::size_t lane = 0; lane < 2; ++lane) {
      for (std::size_t column = 0; column < 3; ++column) {
        for (std::size_t bin = 0; bin < bins.bins(); ++bin) {
          const std::uint64_t from = bins.first_ns() + bin * bins.width_ns();
          const std::uint64_t to = from + bins.width_ns();
          std::uint64_t expected = 0;
          for (const auto& [in_lane, in_column, start, end] : added) {
            if (in_lane != lane || in_column != column || end <= from || start >= to) continue;
            expected += std::min(end, to) - std::max(start, from);
          }
          CHECK(bins.at(bin, lane, column) == expected);
        }
      }
    }
  }
}

TEST_CASE("bins take any time there is", "[page]") {
  TimeBins bins(1, 1, 8);
  bins.add(0, 0, UINT64_MAX - 5, UINT64_MAX);
  bins.count(0, 0, UINT64_MAX);
  bins.add(0, 0, 0, 7);
  CHECK(bins.bins() <= 8);
  std::uint64_t sum = 0;
  for (std::size_t bin = 0; bin < bins.bins(); ++bin) sum += bins.at(bin, 0, 0);
  CHECK(sum == 13);
}

TEST_CASE("the pieces of a detour follow each other and are who owned each nanosecond", "[page]") {
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  SourceTable sources;
  const std::vector<SourceId> ids = {sources.intern(Kind::vector, "local_timer"), sources.intern(Kind::task, "crond"),
                                     sources.intern(Kind::irq, "eth0"), sources.intern(Kind::nmi, "nmi")};
  Placing placing(sources);
  Attributor attributor;
  const OverheadBounds bounds;
  for (int round = 0; round < 500; ++round) {
    std::vector<Interval> intervals;  // overlapping, nested, and sticking out
    for (std::uint64_t n = random() % 6; n > 0; --n) {
      const std::uint64_t start = 900 + random() % 1'000;
      const SourceId id = ids[random() % ids.size()];
      intervals.push_back({start, start + random() % 400, id, sources.at(id).kind, 0, 0, 0});
    }
    DetourLedger ledger;
    const Detour detour{1'000, 2'000, round % 3 == 0};
    attributor.attribute(detour, intervals, bounds, ledger);
    ledger.hardware_ns = ledger.hypervisor_ns / 2;  // of both kinds, as recordings may be
    ledger.hypervisor_ns -= ledger.hardware_ns;
    const auto owner = owners(intervals, sources);
    std::map<Category, std::uint64_t> sums;
    std::uint64_t at = detour.start_ns;
    for (const Piece& piece : placing.place(ledger)) {
      REQUIRE(piece.start_ns == at);
      for (; at < piece.end_ns; ++at) {
        const auto found = owner.find(at);
        if (found != owner.end()) CHECK(piece.category == found->second);
        if (found == owner.end()) CHECK(piece.category >= Category::hypervisor);
      }
      sums[piece.category] += piece.end_ns - piece.start_ns;
    }
    CHECK(at == detour.end_ns);
    CHECK(sums[Category::overhead] == ledger.overhead_ns);
    CHECK(sums[Category::hypervisor] == ledger.hypervisor_ns);
    CHECK(sums[Category::hardware] == ledger.hardware_ns);
    CHECK(sums[Category::unexplained] == ledger.unexplained_ns);
  }
}

TEST_CASE("what a recording brings is text in the page, never markup", "[page]") {
  const std::string html = escape_html(kHostile);
  CHECK(html == "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&#39;&quot;&amp;\\x01\\xff\xe2\x80\xa8");
  CHECK(escape_script(R"({"a":"</script><!-- )"
                      "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7\"}") == R"({"a":"\u003c/script>\u003c!-- \u2028\u2029)"
                                                                    "\xe2\x80\xa7\"}");
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1'000) == "1,000");
  CHECK(grouped(UINT64_MAX) == "18,446,744,073,709,551,615");
  CHECK(duration_html(12'345) == "<span title=\"12,345 ns\">12.3 µs</span>");
}

TEST_CASE("a table escapes its headings and says what is left out", "[page]") {
  TableWriter table("a < b", {">n", "what"});
  table.row({"1", "x"});
  const std::string html = table.finish("more & more");
  CHECK(html.find("<caption>a &lt; b</caption>") != std::string::npos);
  CHECK(html.find("<td class=\"figure\">1</td><td>x</td>") != std::string::npos);
  CHECK(html.find("more &amp; more") != std::string::npos);
}
