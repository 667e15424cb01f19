// SPDX-License-Identifier: Apache-2.0
// Phases for a recording: asked for on one thread, prepared, recorded and taken back on another, with a real probe.
#include <noised/abi.h>
#include <sched.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "noised/exchanges.h"
#include "noised/phase_runs.h"
#include "unit/recording/scene.h"

using namespace noised;
using namespace noised::daemon;
using namespace noised::probe;
using namespace noised::recording;
using namespace noised::system;
using namespace noised::test;

namespace {

constexpr std::uint64_t kGrainNs = 100'000;

ClockMap make_clock() {
  ClockMap clock;
  while (!clock.ready()) {
    clock.add(read_clock_sample());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return clock;
}

/// A daemon's main thread, without the rest of a daemon.
struct RunsScene {
  noised_cpu state{};
  std::vector<std::unique_ptr<Probe>> probes;
  RecordedRun run;
  Recorder recorder{run.sources, run.status, run.description};
  PhaseExchange exchange;
  ClockMap clock = make_clock();
  Log log{LogLevel::error, -1};
  Config config;
  PhaseRuns runs{probes, recorder, exchange, clock, log, config, {}};

  RunsScene() {
    ProbeOptions options;
    options.cpu = static_cast<unsigned>(sched_getcpu());
    options.threshold_ticks = 2'000;
    options.storing_limit_ticks = 2'600;
    auto created = Probe::create(options, state, SmiCounter());
    REQUIRE(created);
    probes.push_back(std::move(created).value());
    REQUIRE(probes.front()->begin());
  }
  void tick() {
    runs.step();
    run.drain(&recorder, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void tick_until(const std::function<bool()>& reached) {
    while (!reached()) tick();
  }
  /// As the HTTP thread does; what it is told.
  std::optional<Status> ask(const PhaseRequest& request) {
    REQUIRE(recorder.hold());
    std::optional<Status> answer;
    std::atomic<bool> answered{false};
    std::jthread asking([&] {
      answer = exchange.ask(request, -1);
      answered = true;
    });
    tick_until([&] { return answered.load(); });
    return answer;
  }
  Description described() {
    tick_until([&] { return recorder.front().has_value(); });
    return parse_description(recorder.front()->bytes).value();
  }
};

}  // namespace

TEST_CASE("phases run while they are recorded, and the loop does afterwards", "[phases]") {
  RunsScene scene;
  const auto answer = scene.ask({kGrainNs, {0, 4'096}, std::nullopt});
  REQUIRE(answer);
  REQUIRE(*answer);
  CHECK(scene.exchange.active());
  const Description description = scene.described();
  CHECK(description.grain_ns == kGrainNs);
  CHECK(description.footprint_bytes == 4'096);
  CHECK(description.policy == "other");
  CHECK(scene.probes.front()->change_state() == ChangeState::done);
  CHECK(scene.probes.front()->fitted().iterations > 100);

  // Who asks for the loop as soon as that has ended gets the loop, not what is left of the phases.
  scene.recorder.close();
  scene.tick_until([&] { return !scene.recorder.is_held_or_recording(); });
  const auto plain = [&] {
    while (!scene.recorder.hold()) scene.tick();
    scene.recorder.close();
    return scene.ask({});
  }();
  REQUIRE(plain);
  CHECK(*plain);
  CHECK_FALSE(scene.exchange.active());
  CHECK(scene.described().grain_ns == 0);
}

TEST_CASE("phases that cannot be are refused with the reason, and the probe is as it was", "[phases]") {
  RunsScene scene;
  const auto level = scene.ask({kGrainNs, {7, 0}, std::nullopt});
  REQUIRE(level);
  REQUIRE_FALSE(*level);
  CHECK(level->error().line().find("give a size") != std::string::npos);
  CHECK_FALSE(scene.exchange.active());
  scene.recorder.close();
  CHECK(scene.probes.front()->change_state() == ChangeState::none);
}

TEST_CASE("a client that goes before its phases run leaves none behind", "[phases]") {
  RunsScene scene;
  const auto answer = scene.ask({kGrainNs, {}, std::nullopt});
  REQUIRE(answer);
  CHECK(*answer);
  scene.recorder.close();
  scene.tick_until([&] { return !scene.exchange.active(); });
  CHECK_FALSE(scene.recorder.is_held_or_recording());
  CHECK(scene.probes.front()->change_state() == ChangeState::done);
}

TEST_CASE("nobody waits for an answer once there is none any more", "[phases]") {
  PhaseExchange exchange;
  exchange.close();
  CHECK_FALSE(exchange.ask({kGrainNs, {}, std::nullopt}, -1));
  CHECK_FALSE(exchange.take());
  CHECK_FALSE(exchange.waited_for());
}
