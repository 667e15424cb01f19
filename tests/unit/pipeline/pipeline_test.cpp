// SPDX-License-Identifier: Apache-2.0
// From two streams to a report, without a kernel: what is counted, kept and handed out.
#include <poll.h>

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "account/detour_feed.h"
#include "account/loop_cpu.h"
#include "account/report_builder.h"
#include "account/snapshot.h"

using namespace noised;
using namespace noised::account;

namespace {

// A CPU on which a timer interrupt of 3 us strikes every 4 ms, a task sometimes follows, and the host steals once.
struct Scene {
  SourceTable sources;
  SourceId timer = sources.intern(Kind::vector, "local_timer");
  SourceId callback = sources.intern(Kind::hrtimer, "tick_nohz_handler");
  SourceId task = sources.intern(Kind::task, "crond");
  LoopCpu cpu;
  explicit Scene(Kind outside = Kind::hypervisor) : cpu({.cpu = 3, .threshold_ns = 200, .outside = outside}, sources) {}

  const DetourLedger& tick(std::uint64_t at_ns, bool with_task, std::uint64_t extra_ns = 0) {
    cpu.add(Interval{at_ns + 1'000, at_ns + 2'000, callback, Kind::hrtimer, 0});
    cpu.add(Interval{at_ns + 500, at_ns + 3'500, timer, Kind::vector, 0});
    std::uint64_t end_ns = at_ns + 4'000;
    if (with_task) {
      cpu.add(Interval{at_ns + 3'700, at_ns + 13'700, task, Kind::task, 0});
      end_ns = at_ns + 14'200;
    }
    return cpu.add(Detour{at_ns, end_ns + extra_ns, false}, 20);
  }

  Report report() {
    Snapshot snapshot;
    snapshot.cpus.resize(1);
    snapshot.cpus[0].cpu = 3;
    snapshot.cpus[0].observed_ns = 1'000'000'000;
    snapshot.cpus[0].threshold_ns = 200;
    cpu.statistics().copy_to(snapshot.cpus[0].statistics);
    return build_report(snapshot, sources, RunDescription{"host", "6.1", "2026-01-01T00:00:00Z", {"nothing"}});
  }
};

const ReportSource* find(const Report& report, const std::string& name) {
  for (const ReportSource& source : report.sources) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a watched CPU counts self times, combinations and what is left", "[pipeline]") {
  Scene scene;
  for (std::uint64_t i = 1; i <= 100; ++i) scene.tick(i * 4'000'000, i % 10 == 0);
  scene.tick(500'000'000, false, 4'000'000);
  const Report report = scene.report();
  const ReportCpu& cpu = report.cpus.at(0);
  CHECK(cpu.cpu == 3);
  CHECK(cpu.mode == "probe");
  CHECK(cpu.detours == 101);
  CHECK(cpu.detour_ns == 90 * 4'000 + 10 * 14'200 + 4'004'000);
  CHECK(cpu.explained_ns + cpu.overhead_ns + cpu.hypervisor_ns == cpu.detour_ns);
  CHECK(cpu.explained_ns == 101 * 3'000 + 10 * 10'000);
  CHECK(cpu.hypervisor_ns > 3'990'000);
  CHECK(cpu.hypervisor_ns < 4'000'000);
  CHECK(cpu.hardware_ns == 0);
  REQUIRE(find(report, "local_timer") != nullptr);
  CHECK(find(report, "local_timer")->count == 101);
  CHECK(find(report, "local_timer")->total_ns == 101 * 2'000);  // the callback's 1 us is its own
  CHECK(find(report, "local_timer")->category == "periodic");
  CHECK(find(report, "tick_nohz_handler")->total_ns == 101 * 1'000);
  CHECK(find(report, "crond")->count == 10);
  CHECK(find(report, "crond")->mean_ns == 10'000);
  CHECK(find(report, "hypervisor")->count == 1);
  CHECK(report.sources.front().name == "hypervisor");  // by stolen time
  double shares = 0;
  for (const ReportSource& source : report.sources) shares += source.share;
  CHECK(std::abs(shares - 1) < 1e-9);
  REQUIRE(report.combinations.size() == 3);
  CHECK(report.combinations.at(0).sources ==
        std::vector<std::string>{"vector:local_timer", "hrtimer:tick_nohz_handler", "hypervisor:hypervisor"});
  CHECK(report.combinations.at(1).count == 90);
  CHECK(report.combinations.at(2).sources.back() == "task:crond");
  CHECK(scene.cpu.matcher().containment().share() == 1.0);
}

TEST_CASE("on bare metal what is left is the hardware's", "[pipeline]") {
  Scene scene(Kind::hardware);
  scene.cpu.add(Detour{1'000, 51'000, false}, 20);
  const Report report = scene.report();
  CHECK(report.cpus.at(0).hardware_ns == 50'000);
  CHECK(report.combinations.at(0).sources == std::vector<std::string>{"hardware:hardware"});
}

TEST_CASE("a detour in doubt is incomplete, blames nobody, and teaches nothing", "[pipeline]") {
  Scene scene;
  scene.cpu.add(Detour{1'000, 51'000, true}, 20);
  // An interval that began before its detour: streams that contradict each other.
  scene.cpu.add(Interval{100'000, 120'000, scene.timer, Kind::vector, 0});
  const DetourLedger& partial = scene.cpu.add(Detour{110'000, 140'000, false}, 20);
  CHECK(partial.detour.in_doubt);
  CHECK(partial.outside_ns() == 0);
  const Report report = scene.report();
  CHECK(report.cpus.at(0).hypervisor_ns == 0);
  CHECK(report.cpus.at(0).unexplained_ns == 50'000 + 20'000 - OverheadBounds::kFirstGuessNs);
  CHECK(scene.cpu.statistics().totals().incomplete_detours == 2);
  CHECK(scene.cpu.matcher().containment().share() == 0.0);
}

TEST_CASE("the feed shows ledgers that add up, also those with many entries", "[pipeline]") {
  Scene scene;
  DetourFeed feed;
  to_feed(3, scene.tick(4'000'000, true), scene.sources, {}, feed.stage());
  std::uint64_t at_ns = 10'000'000;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::string name = "task" + std::to_string(i % 100);
    scene.cpu.add(
        Interval{at_ns + i * 100, at_ns + i * 100 + 60, scene.sources.intern(Kind::task, name), Kind::task, 0});
  }
  to_feed(3, scene.cpu.add(Detour{at_ns - 100, at_ns + 60'000, false}, 20), scene.sources, {}, feed.stage());
  feed.commit();
  const DetourFeed::Batch batch = feed.read(0, 10);
  REQUIRE(batch.detours.size() == 2);
  CHECK(batch.lost == 0);
  CHECK(batch.next == feed.end());
  for (const FeedDetour& detour : batch.detours) {
    const DetourView view = to_view(detour, scene.sources);
    std::uint64_t sum = view.overhead_ns;
    for (const DetourEntryView& entry : view.entries) sum += entry.self_ns;
    CHECK(sum == view.duration_ns);
  }
  const DetourView first = to_view(batch.detours.at(0), scene.sources);
  REQUIRE(first.entries.size() == 3);
  CHECK(first.entries.at(0).name == "local_timer");
  CHECK(first.entries.at(1).depth == 1);
  CHECK(first.entries.at(2).self_ns == 10'000);
  const DetourView summed = to_view(batch.detours.at(1), scene.sources);
  CHECK(summed.entries.at(0).name == "task0");
  CHECK(summed.entries.at(0).detail.at(0) == std::pair<std::string, std::string>{"intervals", "2"});
}

TEST_CASE("a reader of the feed learns how much it missed", "[pipeline]") {
  Scene scene;
  constexpr std::size_t kStaged = 1000;
  constexpr std::size_t kKept = 2 * kStaged;
  DetourFeed feed(kStaged);
  FeedDetour detour;
  to_feed(3, scene.tick(4'000'000, false), scene.sources, {}, detour);
  feed.stage() = detour;
  feed.commit();
  const std::uint64_t position = feed.end();
  // More in one drain than is staged, then more drains than are kept.
  for (std::size_t i = 0; i < kStaged + 10; ++i) feed.stage() = detour;
  feed.commit();
  DetourFeed::Batch batch = feed.read(position, 5'000);
  CHECK(batch.detours.size() == kStaged);
  CHECK(batch.lost == 10);
  for (std::size_t i = 0; i < 2 * kKept; ++i) {
    feed.stage() = detour;
    feed.commit();
  }
  batch = feed.read(batch.next, 5'000);
  CHECK(batch.detours.size() == kKept);
  CHECK(batch.lost == kKept);
  CHECK(feed.read(batch.next, 5'000).detours.empty());
}

TEST_CASE("who asks for a snapshot while a drain goes on is answered by the next", "[pipeline]") {
  SnapshotExchange exchange;
  CHECK_FALSE(exchange.take_asked());  // a drain begins
  std::uint64_t told = 0;
  std::jthread reader([&] { (void)exchange.read([&](const Snapshot& snapshot) { told = snapshot.elapsed_ns; }); });
  pollfd asked{exchange.asked_descriptor(), POLLIN, 0};
  REQUIRE(::poll(&asked, 1, 2'000) == 1);
  // One that finds the snapshot in use by the reader fills nothing, and is made up for by the next.
  const auto answer = [&](std::uint64_t elapsed_ns) {
    bool filled = false;
    while (!filled) {
      exchange.answer([&](Snapshot& snapshot) {
        filled = true;
        snapshot.elapsed_ns = elapsed_ns;
      });
    }
  };
  answer(1);  // its end: it has read nothing since
  CHECK(exchange.take_asked());
  answer(2);
  reader.join();
  CHECK(told == 2);
  CHECK_FALSE(exchange.take_asked());
}

TEST_CASE("a snapshot is newer than the question, and nobody waits for ever", "[pipeline]") {
  SnapshotExchange exchange;
  CHECK_FALSE(exchange.take_asked());
  std::atomic<bool> stop{false};
  std::uint64_t fills = 0;
  std::jthread pipeline([&] {
    while (!stop.load()) {
      if (exchange.take_asked()) exchange.answer([&](Snapshot& snapshot) { snapshot.elapsed_ns = ++fills; });
    }
  });
  std::uint64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    REQUIRE(exchange.read([&](const Snapshot& snapshot) {
      CHECK(snapshot.elapsed_ns > last);
      last = snapshot.elapsed_ns;
    }));
  }
  stop.store(true);
  pipeline.join();
  CHECK_FALSE(exchange.read([](const Snapshot&) { FAIL("nobody filled this"); }));
  // Once the pipeline has ended, nobody waits for it.
  std::jthread closing([&] {
    while (!exchange.take_asked()) std::this_thread::yield();
    exchange.close();
  });
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(exchange.read([](const Snapshot&) { FAIL("nobody filled this"); }));
  CHECK_FALSE(exchange.read([](const Snapshot&) { FAIL("nobody filled this"); }));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}
