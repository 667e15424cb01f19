// SPDX-License-Identifier: Apache-2.0
// Phases of work: their calibration against machines that are known, and the loop itself.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "base/cpus.h"
#include "probe/phase_fit.h"
#include "probe/phase_loop.h"

using namespace noised;
using namespace noised::probe;

TEST_CASE("the second decile is the mean from the 10th to the 20th of a hundred", "[phases]") {
  std::vector<std::uint64_t> ticks;
  for (std::uint64_t i = 0; i < 100; ++i) ticks.push_back((i * 37) % 100);  // each of 0 to 99 once
  CHECK(second_decile(ticks) == 14.5);
  std::vector<std::uint64_t> one = {7};
  CHECK(second_decile(one) == 7);
  std::vector<std::uint64_t> twenty;
  for (std::uint64_t i = 0; i < 20; ++i) twenty.push_back(20 - i);
  CHECK(second_decile(twenty) == 3.5);  // 3 and 4
  std::vector<std::uint64_t> nine = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  CHECK(second_decile(nine) == 1);
}

namespace {

/// Calibrates on a machine where so many iterations take so long; phases of a round.
PhaseCalibration calibrated(std::uint64_t grain, std::uint64_t longest,
                            const std::function<std::uint64_t(std::uint64_t)>& ticks_of, std::size_t phases = 50) {
  PhaseCalibration calibration(grain, longest);
  for (unsigned rounds = 0; !calibration.done(); ++rounds) {
    REQUIRE(rounds < PhaseCalibration::kMostRounds);
    REQUIRE(calibration.next_iterations() >= 1);
    std::vector<std::uint64_t> ticks;
    for (std::size_t i = 0; i < phases; ++i) ticks.push_back(ticks_of(calibration.next_iterations()));
    calibration.add(ticks);
  }
  return calibration;
}

constexpr std::uint64_t kLongest = 26'000'000;  // 10 ms at 2.6 GHz

}  // namespace

TEST_CASE("calibration finds the work of a grain on any machine", "[phases]") {
  for (const std::uint64_t grain : {2'600UL, 26'000UL, 2'600'000UL, 26'000'000UL}) {
    for (const double iteration : {4.0, 24.2, 39.7, 300.0}) {
      for (const double fixed : {0.0, 60.0}) {
        const auto took = [&](std::uint64_t n) {
          return static_cast<std::uint64_t>(fixed + iteration * static_cast<double>(n));
        };
        const PhaseCalibration found = calibrated(grain, kLongest, took);
        INFO(grain << " ticks, " << iteration << " each, " << found.iterations() << " found");
        // As near as whole iterations allow.
        const double nearest = iteration / 2 / static_cast<double>(grain);
        CHECK(std::abs(found.deviation()) <= std::max(0.01, nearest));
        const double off = static_cast<double>(took(found.iterations())) / static_cast<double>(grain) - 1;
        CHECK(std::abs(off) <= std::max(0.01, nearest) + 1e-9);
      }
    }
  }
}

TEST_CASE("calibration looks past noise that strikes most phases", "[phases]") {
  std::minstd_rand random(7);  // NOLINT(cert-msc51-cpp): the same every time
  const auto took = [&](std::uint64_t n) {
    const std::uint64_t quiet = 40 * n + random() % (n / 5 + 1) / 10;
    return random() % 10 < 7 ? quiet + 100'000 + random() % 1'000'000 : quiet;
  };
  const PhaseCalibration found = calibrated(2'600'000, kLongest, took);
  CHECK(std::abs(found.deviation()) <= 0.01);
  CHECK(found.iterations() > 63'000);
  CHECK(found.iterations() < 66'000);
}

TEST_CASE("a phase longer than those that are tried is a multiple of one", "[phases]") {
  const auto took = [](std::uint64_t n) { return 25 * n; };
  const PhaseCalibration found = calibrated(100 * kLongest, kLongest, took);
  CHECK(found.tried_ticks() == kLongest);
  CHECK(found.iterations() == 104'000'000);
}

TEST_CASE("calibration ends where nothing can be found, and says how far off it is", "[phases]") {
  // One iteration is longer than the grain.
  const PhaseCalibration coarse = calibrated(2'600, kLongest, [](std::uint64_t n) { return 5'200 * n; });
  CHECK(coarse.iterations() == 1);
  CHECK(coarse.deviation() == 1);
  // No two rounds are alike.
  std::uint64_t round = 0;
  const PhaseCalibration restless =
      calibrated(2'600'000, kLongest, [&](std::uint64_t n) { return n * (++round / 50 % 2 == 0 ? 20 : 60); });
  CHECK(std::abs(restless.deviation()) > 0.05);
  // Not one phase came to its end, then one does.
  PhaseCalibration late(2'600'000, kLongest);
  std::vector<std::uint64_t> none;
  const std::uint64_t before = late.next_iterations();
  late.add(none);
  CHECK(late.next_iterations() < before);
  CHECK(late.deviation() == 1);
}

namespace {

struct Ran {
  std::vector<TickDetour> records;
  LoopProgress progress;
};

/// Runs on the CPU of the calling thread until so many iterations are done.
void run_phases(Ran& ran, const PhaseWork& work, std::uint64_t iterations, std::size_t capacity = 1U << 20U) {
  DetourRing ring(capacity);
  std::atomic<bool> stop{false};
  std::jthread loop([&] {
    const auto cpu = static_cast<unsigned>(sched_getcpu());
    const CpuSet own({cpu});
    sched_setaffinity(0, own.bytes(), own.get());
    run_phase_loop(ring, ran.progress, stop, {cpu, 500, 2'600}, work);
  });
  while (ran.progress.iterations.load() < iterations) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  loop.join();
  ran.records.reserve(capacity);
  ring.pop_all(ran.records);
}

}  // namespace

TEST_CASE("every phase has its sample, and the whole time is accounted for", "[phases]") {
  Footprint footprint = Footprint::create(std::uint64_t{16} * 1024).value();
  footprint.link();
  for (const std::uint64_t iterations : {1'000UL, 4'096UL, 10'000UL}) {
    for (const CacheLine* const lines : {static_cast<const CacheLine*>(nullptr), footprint.lines()}) {
      Ran ran;
      run_phases(ran, {iterations, lines}, 400'000);
      const std::uint64_t first = ran.progress.first_ticks.load();
      const std::uint64_t last = ran.progress.last_ticks.load();
      REQUIRE_FALSE(ran.records.empty());
      CHECK(ran.records.front().kind == GapKind::sample);
      CHECK(ran.records.front().end_ticks == 0);
      std::uint64_t phases = 0;
      std::uint64_t detours = 0;
      std::uint64_t before = first;
      for (std::size_t i = 1; i < ran.records.size(); ++i) {
        const TickDetour& record = ran.records[i];
        CHECK(record.start_ticks >= before);
        before = record.start_ticks;
        if (record.kind == GapKind::sample) {
          CHECK(record.end_ticks == iterations);
          ++phases;
        } else {
          REQUIRE(record.kind == GapKind::detour);
          before = record.end_ticks;
          detours += record.end_ticks - record.start_ticks;
        }
      }
      const std::uint64_t done = ran.progress.iterations.load();
      CHECK(phases == done / iterations);
      // Whatever is no detour and no store was iterations, each at most the threshold long.
      const std::uint64_t stored = ran.progress.storing_ticks.load();
      CHECK(detours + stored <= last - first);
      CHECK(last - first - detours - stored <= done * 500);
    }
  }
}

TEST_CASE("a phase whose sample was refused is in no series, and is counted", "[phases]") {
  Ran ran;
  DetourRing ring(4);
  std::atomic<bool> once{true};
  const auto cpu = static_cast<unsigned>(sched_getcpu());
  const CpuSet own({cpu});
  sched_setaffinity(0, own.bytes(), own.get());
  std::vector<TickDetour> out;
  out.reserve(4);
  // Told to stop before it starts, it does one phase: two samples each time.
  const LoopOptions options{cpu, UINT64_MAX - 1, UINT64_MAX};
  for (int i = 0; i < 3; ++i) run_phase_loop(ring, ran.progress, once, options, {10, nullptr});
  CHECK(ring.lost_samples() + ring.lost() == 4);  // 2 samples, then 3 records each: 8 in all
  CHECK(ring.lost_samples() >= 2);
  ring.pop_all(out);
  REQUIRE(out.size() == 4);
  CHECK(out[1].end_ticks == 10);
  CHECK(out[3].end_ticks == 0);
}

TEST_CASE("phases fit their grain on this machine, with any footprint", "[phases]") {
  const auto cpu = static_cast<unsigned>(sched_getcpu());
  const CpuSet own({cpu});
  sched_setaffinity(0, own.bytes(), own.get());
  const std::atomic<bool> never{false};
  for (const std::uint64_t bytes : {0UL, 16'384UL}) {
    Footprint footprint = Footprint::create(bytes).value();
    footprint.link();
    const PhaseOptions phases{200'000, 200'000, bytes};
    const FittedPhases fitted = fit_phases(phases, footprint.lines(), {cpu, 500, 2'600}, never, [] { return true; });
    CHECK(fitted.iterations > 100);
    CHECK(fitted.iterations < 100'000);
    CHECK(fitted.deviation > -1);
  }
  const std::atomic<bool> stopped{true};
  CHECK(fit_phases({200'000, 200'000, 0}, nullptr, {cpu, 500, 2'600}, stopped, [] { return true; }).deviation == 1);
  // It is never where it should be, and nobody brings it back.
  CHECK(fit_phases({200'000, 200'000, 0}, nullptr, {cpu + 1, 500, 2'600}, never, [] { return false; }).deviation == 1);
}
