// SPDX-License-Identifier: Apache-2.0
// Phases and losses: cases, and random ones beside a sum over all pairs.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "marks/phase_join.h"

using namespace noised;
using namespace noised::marks;

namespace {

constexpr std::uint32_t kThread = 12;

LossView loss(std::uint64_t start_ns, std::uint64_t ns, unsigned source = 1, std::uint32_t pid = kThread) {
  return {.pid = pid, .start_ns = start_ns, .duration_ns = ns, .incomplete = false, .parts = {{source, ns}}};
}

LossesView told(std::uint64_t settled_ns, std::vector<LossView> losses,
                std::vector<std::pair<std::uint32_t, std::uint64_t>> running = {}) {
  LossesView view;
  view.since_ns = 1;
  view.settled_ns = settled_ns;
  view.watched = {1, 2, 3, kThread};
  view.running = std::move(running);
  view.sources = {{1, "preemption", "task", "noise"}, {2, "periodic", "vector", "local_timer"}};
  view.losses = std::move(losses);
  return view;
}

class Join {
 public:
  void begin(std::uint64_t ns, const std::string& name) { mark(ns, name, false); }
  void end(std::uint64_t ns, const std::string& name) { mark(ns, name, true); }
  PhaseJoin& operator*() { return join_; }
  PhaseJoin* operator->() { return &join_; }
  MarkedPhase of(const std::string& name) const {
    for (const MarkedPhase& phase : join_.view()) {
      if (phase.name == name) return phase;
    }
    return {};
  }

 private:
  void mark(std::uint64_t ns, const std::string& name, bool end) {
    const TimedMark mark{ns, join_.phase(name), end};
    join_.add(kThread, {&mark, 1}, 0);
  }
  PhaseJoin join_;
};

}  // namespace

TEST_CASE("a phase has what was taken from its thread between its marks", "[marks]") {
  Join join;
  join.begin(1000, "a");
  join.end(2000, "a");
  join->add(told(5000, {loss(500, 500), loss(1100, 200), loss(1400, 100, 2), loss(2000, 50), loss(1200, 9, 1, 13)}));
  const MarkedPhase phase = join.of("a");
  CHECK(phase.all.count == 1);
  CHECK(phase.all.total_ns == 1000);
  CHECK(phase.all.stolen_ns == 300);
  CHECK(phase.delayed == 1);
  REQUIRE(phase.sources.size() == 2);
  CHECK(phase.sources[0].name == "noise");
  CHECK(phase.sources[0].total_ns == 200);
  CHECK(phase.sources[1].kind == "vector");
  CHECK(phase.sources[1].total_ns == 100);
}

TEST_CASE("a loss that the clocks' difference puts over a phase's edge is cut there", "[marks]") {
  Join join;
  join.begin(1000, "a");
  join.end(2000, "a");
  LossView over = loss(990, 30);
  over.parts = {{1, 20}, {2, 10}};
  join->add(told(5000, {over}));
  const MarkedPhase phase = join.of("a");
  CHECK(phase.all.stolen_ns == 20);
  REQUIRE(phase.sources.size() == 2);
  CHECK(phase.sources[0].total_ns + phase.sources[1].total_ns == 20);
}

TEST_CASE("a phase waits until its losses are known", "[marks]") {
  Join join;
  join.begin(1000, "a");
  join.end(2000, "a");
  join->add(told(1999, {loss(1100, 200)}));
  CHECK(join.of("a").all.count == 0);
  join->add(told(2000, {loss(1500, 200)}));
  CHECK(join.of("a").all.count == 1);
  CHECK(join.of("a").all.stolen_ns == 400);
  CHECK(join->losses().losses == 0);
  join->add(told(2500, {loss(1900, 50)}));
  CHECK(join->losses().losses == 1);  // told too late
}

TEST_CASE("the wait before a run that goes on is told with its end", "[marks]") {
  Join join;
  join.begin(1000, "a");
  join.end(2000, "a");
  join.begin(3000, "b");
  join.end(4000, "b");
  join->add(told(9000, {}, {{kThread, 1800}}));
  CHECK(join.of("a").all.count == 0);
  CHECK(join.of("b").all.count == 1);
  join->add(told(9500, {loss(1300, 500)}, {{kThread, 9400}}));
  CHECK(join.of("a").all.stolen_ns == 500);
}

TEST_CASE("a wait between two phases is none that was told too late", "[marks]") {
  Join join;
  join.begin(1000, "a");
  join.end(2000, "a");
  join.begin(3000, "a");
  join.end(4000, "a");
  join->add(told(9000, {}, {{kThread, 2800}}));
  CHECK(join.of("a").all.count == 2);
  const std::uint64_t way_back_ns = GENERATE(0U, 1U, 150U);  // after the switch to it
  join->add(told(9500, {loss(2100, 700 + way_back_ns)}));
  CHECK(join->losses().losses == 0);
  join->add(told(9900, {loss(2100, 600)}));
  CHECK(join->losses().losses == 1);
}

TEST_CASE("phases in one another have their losses each", "[marks]") {
  Join join;
  join.begin(1000, "all");
  join.begin(1100, "part");
  join.end(1200, "part");
  join.begin(1300, "part");
  join.end(1400, "part");
  join->add(told(1500, {loss(1110, 10), loss(1250, 10), loss(1310, 20)}));
  CHECK(join.of("part").all.stolen_ns == 30);
  CHECK(join.of("all").all.count == 0);
  join.end(2000, "all");
  join->add(told(2500, {}));
  CHECK(join.of("all").all.stolen_ns == 40);
  CHECK(join->losses().unpaired == 0);
}

TEST_CASE("begins without end, ends without begin and what lost marks hide are counted", "[marks]") {
  Join join;
  join.end(900, "a");
  join.begin(1000, "outer");
  join.begin(1100, "never ends");
  join.end(1200, "outer");
  CHECK(join->losses().unpaired == 2);
  join.begin(2000, "a");
  join->add(kThread, {}, 7);
  join.end(3000, "a");
  CHECK(join->losses().marks == 7);
  CHECK(join->losses().unpaired == 4);
  join->add(told(5000, {}));
  CHECK(join.of("outer").all.count == 1);
  CHECK(join.of("a").all.count == 0);
  join.begin(6000, "b");
  join.end(7000, "b");
  join.begin(8000, "b");
  join->finish();
  CHECK(join->losses().unsettled == 1);
  CHECK(join->losses().unpaired == 5);
}

TEST_CASE("what began before the watching is not judged", "[marks]") {
  Join join;
  join.begin(1000, "a");
  join.end(2000, "a");
  LossesView view = told(5000, {});
  view.since_ns = 1500;
  join->add(view);
  CHECK(join.of("a").all.count == 0);
  CHECK(join->losses().early == 1);
}

TEST_CASE("phases of a thread that is not watched are not taken for quiet ones", "[marks]") {
  Join join;
  join.begin(1000, "a");
  join.end(2000, "a");
  LossesView view = told(5000, {});
  view.watched = {kThread + 1};
  join->add(view);
  CHECK(join.of("a").all.count == 0);
  CHECK(join->losses().unwatched == 1);
}

TEST_CASE("a phase that lasts long sums its losses, and keeps few of them", "[marks]") {
  Join join;
  join.begin(1000, "a");
  std::uint64_t now_ns = 1000;
  for (int line = 0; line < 100; ++line) {
    std::vector<LossView> losses;
    for (int i = 0; i < 1000; ++i, now_ns += 100) losses.push_back(loss(now_ns + 10, 7, i % 2 == 0 ? 1 : 2));
    join->add(told(now_ns, losses));
  }
  join.end(now_ns, "a");
  join->add(told(now_ns + 1, {}));
  CHECK(join.of("a").all.stolen_ns == 700'000);
  CHECK(join.of("a").sources.at(0).total_ns == 350'000);
}

// Each thread's time line is marks and losses, one after the other; they are told in pieces of any size.
TEST_CASE("phases have what a sum over all pairs of phases and losses has", "[marks]") {
  struct Span {
    std::string name;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
  };
  const auto seed = GENERATE_COPY(1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U);
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  PhaseJoin join;
  std::map<std::string, std::map<unsigned, std::uint64_t>> expected;
  std::map<std::string, std::uint64_t> counts;
  struct Event {
    std::uint64_t ns;
    std::uint32_t tid;
    bool is_mark;
    TimedMark mark;
    LossView loss;
  };
  std::vector<Event> events;
  for (std::uint32_t tid = 1; tid <= 3; ++tid) {
    std::vector<Span> open;
    std::vector<Span> spans;
    std::vector<LossView> losses;
    std::uint64_t now_ns = 100;
    for (int step = 0; step < 3000; ++step) {
      now_ns += 1 + below(1000);
      const unsigned what = below(3);
      if (what == 0) {
        LossView lost = loss(now_ns, 1 + below(500), 1 + below(2), tid);
        now_ns += lost.duration_ns;
        losses.push_back(lost);
        events.push_back({now_ns, tid, false, {}, lost});
      } else if (what == 1 && open.size() < 5) {
        open.push_back({"phase " + std::to_string(below(3)), now_ns, 0});
        events.push_back({now_ns, tid, true, {now_ns, join.phase(open.back().name), false}, {}});
      } else if (!open.empty()) {
        open.back().end_ns = now_ns;
        spans.push_back(open.back());
        events.push_back({now_ns, tid, true, {now_ns, join.phase(open.back().name), true}, {}});
        open.pop_back();
      }
    }
    for (const Span& span : spans) {
      ++counts[span.name];
      for (const LossView& lost : losses) {
        if (lost.start_ns < span.start_ns || lost.start_ns >= span.end_ns) continue;
        expected[span.name][lost.parts[0].first] += lost.duration_ns;
      }
    }
  }
  std::ranges::sort(events, {}, &Event::ns);
  // Marks are there at once, losses with the next line, settled a little before it.
  std::vector<LossView> pending;
  for (const Event& event : events) {
    if (event.is_mark) {
      join.add(event.tid, {&event.mark, 1}, 0);
    } else {
      pending.push_back(event.loss);
    }
    if (below(50) != 0) continue;
    std::ranges::shuffle(pending, random);
    join.add(told(event.ns, std::exchange(pending, {})));
  }
  join.add(told(UINT64_MAX, pending));
  const std::vector<MarkedPhase> phases = join.view();
  REQUIRE(phases.size() == counts.size());
  for (const MarkedPhase& phase : phases) {
    INFO("seed " << seed << ", " << phase.name);
    CHECK(phase.all.count == counts[phase.name]);
    std::uint64_t sum_ns = 0;
    for (const MarkedSource& source : phase.sources) {
      CHECK(source.total_ns == expected[phase.name][source.kind == "task" ? 1 : 2]);
      sum_ns += source.total_ns;
    }
    CHECK(sum_ns == phase.all.stolen_ns);
    CHECK(sum_ns > 0);
  }
  CHECK(join.losses().losses == 0);
}
