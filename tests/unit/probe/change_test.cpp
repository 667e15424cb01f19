// SPDX-License-Identifier: Apache-2.0
// A probe's own thread goes over to phases of work, and back, and tells of the time in between.
#include <noised/abi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "probe/probe.h"

using namespace noised;
using namespace noised::probe;
using namespace noised::system;

namespace {

constexpr std::uint64_t kGrain = 100'000;  // ticks, as all times here

struct Scene {
  noised_cpu state{};
  std::unique_ptr<Probe> probe;
  std::vector<TickDetour> records;

  explicit Scene(const PhaseOptions& phases = {}) {
    ProbeOptions options;
    options.cpu = static_cast<unsigned>(sched_getcpu());
    options.threshold_ticks = 2'000;
    options.storing_limit_ticks = 2'600;
    options.ring_capacity = std::size_t{1} << 18U;
    options.phases = phases;
    auto created = Probe::create(options, state, SmiCounter());
    REQUIRE(created);
    probe = std::move(created).value();
    records.reserve(options.ring_capacity);
  }
  /// Until so many samples came.
  void wait_for_samples(std::size_t count) {
    while (samples() < count) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      probe->ring().pop_all(records);
    }
  }
  [[nodiscard]] std::size_t samples() const { return count(GapKind::sample); }
  [[nodiscard]] std::size_t count(GapKind kind) const {
    return static_cast<std::size_t>(
        std::count_if(records.begin(), records.end(), [&](const TickDetour& each) { return each.kind == kind; }));
  }
};

}  // namespace

TEST_CASE("a probe runs phases from its start", "[phases]") {
  Scene scene({kGrain, kGrain, 4'096});
  REQUIRE(scene.probe->wait_for_change());
  CHECK(scene.probe->change_state() == ChangeState::done);
  CHECK(scene.records.empty());  // nothing is measured until it begins
  REQUIRE(scene.probe->begin());
  scene.wait_for_samples(100);
  scene.probe->end();
  CHECK(scene.records.front().kind == GapKind::sample);
  CHECK(scene.records.front().end_ticks == 0);
  for (std::size_t i = 1; i < scene.records.size(); ++i) {
    if (scene.records[i].kind != GapKind::sample || scene.records[i].end_ticks == 0) continue;
    CHECK(scene.records[i].end_ticks == scene.probe->fitted().iterations);
  }
}

TEST_CASE("a probe goes over to phases and back, and says when it was not looking", "[phases]") {
  Scene scene;
  CHECK(scene.probe->change_state() == ChangeState::none);
  REQUIRE(scene.probe->begin());
  for (int round = 1; round <= 2; ++round) {
    scene.probe->change({{kGrain, kGrain, 0}, false, 1});
    REQUIRE(scene.probe->wait_for_change());
    scene.wait_for_samples(static_cast<std::size_t>(round) * 50);
    scene.probe->change({});
    REQUIRE(scene.probe->wait_for_change());
    const std::uint64_t before = scene.probe->progress().last_ticks.load();
    while (scene.probe->progress().last_ticks.load() == before) std::this_thread::yield();
    scene.probe->ring().pop_all(scene.records);
    // The time of each change, the samples before and after it apart.
    CHECK(scene.count(GapKind::rested) == static_cast<std::size_t>(round) * 2);
    const std::size_t samples = scene.samples();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    scene.probe->ring().pop_all(scene.records);
    CHECK(scene.samples() == samples);
  }
  scene.probe->end();
  std::uint64_t last = 0;
  for (const TickDetour& record : scene.records) {
    REQUIRE(record.start_ticks >= last);
    last = record.kind == GapKind::sample ? record.start_ticks : record.end_ticks;
  }
}

TEST_CASE("a probe that cannot change goes on as it did", "[phases]") {
  Scene scene;
  REQUIRE(scene.probe->begin());
  scene.probe->change({{kGrain, kGrain, 0}, true, 0});  // there is no such priority
  const Status changed = scene.probe->wait_for_change();
  REQUIRE_FALSE(changed);
  CHECK(changed.error().line().find("policy fifo") != std::string::npos);
  CHECK(scene.probe->change_state() == ChangeState::failed);
  const std::uint64_t before = scene.probe->progress().iterations.load();
  while (scene.probe->progress().iterations.load() == before) std::this_thread::yield();
  scene.probe->ring().pop_all(scene.records);
  CHECK(scene.samples() == 0);
  // It can still change to something else, and end meanwhile.
  scene.probe->change({{kGrain, kGrain, 0}, false, 1});
  scene.probe->end();
  CHECK_FALSE(scene.probe->is_running());
}
