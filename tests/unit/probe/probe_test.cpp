// SPDX-License-Identifier: Apache-2.0
// The ring from the loop to the pipeline, and the loop on a clock that really runs.
#include <sched.h>
#include <algorithm>
#include <atomic>

#include <catch2/catch_test_macros.hpp>
#include <thread>
#include <vector>

#include "base/cpus.h"
#include "probe/detour_loop.h"
#include "probe/detour_ring.h"

using namespace noised;
using namespace noised::probe;

TEST_CASE("the detour ring hands over in order and counts what it refuses", "[probe]") {
  DetourRing ring(8);
  std::vector<TickDetour> out;
  out.reserve(8);
  for (std::uint64_t i = 0; i < 11; ++i) ring.push({i, i + 1});
  CHECK(ring.lost() == 3);
  ring.pop_all(out);
  REQUIRE(out.size() == 8);
  CHECK(out.front().start_ticks == 0);
  CHECK(out.back().start_ticks == 7);
  out.clear();
  ring.push({100, 101});
  ring.pop_all(out);
  REQUIRE(out.size() == 1);
  CHECK(out.front().end_ticks == 101);
  CHECK(ring.lost() == 3);
}

TEST_CASE("a sample that has no room is no lost detour, and the next begins a series", "[probe]") {
  DetourRing ring(2);
  LoopProgress progress;
  const std::atomic<bool> once{true};
  const auto cpu = static_cast<unsigned>(sched_getcpu());
  const CpuSet own({cpu});
  sched_setaffinity(0, own.bytes(), own.get());
  // A batch has many quanta of 1000 ticks: all but the first two samples, or gaps, are refused.
  run_detour_loop(ring, progress, once, {cpu, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, 1'000, 0});
  CHECK(ring.lost() == 0);
  CHECK_FALSE(ring.push({1, 2, GapKind::sample}));
  CHECK(ring.lost() == 0);
  CHECK_FALSE(ring.push({1, 2}));
  CHECK(ring.lost() == 1);
}

TEST_CASE("the detour ring takes no more than its reader has room for", "[probe]") {
  DetourRing ring(8);
  for (std::uint64_t i = 0; i < 6; ++i) ring.push({i, i});
  std::vector<TickDetour> out;
  out.reserve(4);
  ring.pop_all(out);
  CHECK(out.size() == out.capacity());
  const std::size_t first = out.size();
  out.clear();
  ring.pop_all(out);
  CHECK(first + out.size() == 6);
  CHECK(ring.lost() == 0);
}

TEST_CASE("two threads lose nothing uncounted in the detour ring", "[probe]") {
  DetourRing ring(64);
  constexpr std::uint64_t kCount = 200'000;
  std::atomic<bool> done{false};
  std::jthread producer([&] {
    for (std::uint64_t i = 0; i < kCount; ++i) ring.push({i, i + 1});
    done.store(true);
  });
  std::vector<TickDetour> out;
  out.reserve(64);
  std::uint64_t taken = 0;
  std::uint64_t next = 0;
  for (bool last = false; !last;) {
    last = done.load();
    out.clear();
    ring.pop_all(out);
    for (const TickDetour& detour : out) {
      REQUIRE(detour.start_ticks >= next);
      REQUIRE(detour.end_ticks == detour.start_ticks + 1);
      next = detour.start_ticks + 1;
      ++taken;
    }
  }
  CHECK(taken + ring.lost() == kCount);
}

namespace {

LoopEnd run_on_own_cpu(DetourRing& ring, LoopProgress& progress, const std::atomic<bool>& stop) {
  const auto cpu = static_cast<unsigned>(sched_getcpu());
  const CpuSet own({cpu});
  sched_setaffinity(0, own.bytes(), own.get());
  return run_detour_loop(ring, progress, stop, {cpu, 500, 2'600, UINT64_MAX});
}

}  // namespace

TEST_CASE("a loop that is moved says so, and stores the time since as blind", "[probe]") {
  DetourRing ring(1U << 20U);
  LoopProgress progress;
  const std::atomic<bool> never{false};
  const auto here = static_cast<unsigned>(sched_getcpu());
  // It believes to be elsewhere: the same as being moved before the first detour.
  CHECK(run_detour_loop(ring, progress, never, {here + 1, 500, 2'600, UINT64_MAX}) == LoopEnd::moved);
  CHECK(progress.iterations.load() == 0);
  const std::uint64_t seen = progress.seen_ticks;
  CHECK(seen >= progress.first_ticks.load());
  const std::atomic<bool> once{true};
  CHECK(run_on_own_cpu(ring, progress, once) == LoopEnd::stopped);
  std::vector<TickDetour> out;
  out.reserve(ring.capacity());
  ring.pop_all(out);
  REQUIRE_FALSE(out.empty());
  CHECK(out.front().kind == GapKind::moved);
  CHECK(out.front().start_ticks == seen);
  for (std::size_t i = 1; i < out.size(); ++i) CHECK(out[i].kind == GapKind::detour);
}

TEST_CASE("a loop that rests stores the rest as what it was", "[probe]") {
  DetourRing ring(1U << 20U);
  LoopProgress progress;
  const std::atomic<bool> never{false};
  const auto cpu = static_cast<unsigned>(sched_getcpu());
  const CpuSet own({cpu});
  sched_setaffinity(0, own.bytes(), own.get());
  const LoopOptions options{cpu, 500, 2'600, 1};  // a batch is longer than a tick
  CHECK(run_detour_loop(ring, progress, never, options) == LoopEnd::rest);
  const std::uint64_t rested = progress.last_ticks.load();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(run_detour_loop(ring, progress, never, options) == LoopEnd::rest);
  std::vector<TickDetour> out;
  out.reserve(ring.capacity());
  ring.pop_all(out);
  const auto rest = [](const TickDetour& gap) { return gap.kind == GapKind::rested; };
  REQUIRE(std::count_if(out.begin(), out.end(), rest) == 1);
  const auto found = std::find_if(out.begin(), out.end(), rest);
  CHECK(found->start_ticks == rested);
  CHECK(found->end_ticks > rested);
}

namespace {

/// The samples of a loop that does some 4 million iterations on its own CPU.
std::vector<TickDetour> samples_of(LoopOptions options, LoopProgress& progress) {
  DetourRing ring(1U << 20U);
  std::atomic<bool> stop{false};
  std::jthread loop([&] {
    const auto cpu = static_cast<unsigned>(sched_getcpu());
    const CpuSet own({cpu});
    sched_setaffinity(0, own.bytes(), own.get());
    options.cpu = cpu;
    run_detour_loop(ring, progress, stop, options);
  });
  while (progress.iterations.load() < 4'000'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  loop.join();
  std::vector<TickDetour> out;
  out.reserve(ring.capacity());
  ring.pop_all(out);
  std::erase_if(out, [](const TickDetour& gap) { return gap.kind != GapKind::sample; });
  return out;
}

}  // namespace

TEST_CASE("each quantum has a sample at its end, and every iteration is in one", "[probe]") {
  LoopProgress progress;
  constexpr std::uint64_t kQuantum = 1'000'000;
  const auto samples = samples_of({0, 500, 2'600, UINT64_MAX, kQuantum, 0}, progress);
  REQUIRE(samples.size() > 10);
  CHECK(samples[0].end_ticks == 0);
  std::uint64_t iterations = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    CHECK(samples[i].end_ticks > 0);
    iterations += samples[i].end_ticks;
    // The first reading in a quantum that the one before was not in.
    CHECK(samples[i].start_ticks / kQuantum > samples[i - 1].start_ticks / kQuantum);
  }
  CHECK(iterations <= progress.iterations.load());
  CHECK(iterations > progress.iterations.load() / 2);
}

TEST_CASE("each portion of work has a sample, of whole batches", "[probe]") {
  LoopProgress progress;
  const auto samples = samples_of({0, 500, 2'600, UINT64_MAX, 0, 10'000}, progress);
  REQUIRE(samples.size() > 10);
  CHECK(samples[0].end_ticks == 0);
  for (std::size_t i = 1; i < samples.size(); ++i) CHECK(samples[i].end_ticks == 3 * kLoopBatch);
  CHECK(progress.iterations.load() - (samples.size() - 1) * 3 * kLoopBatch < 3 * kLoopBatch);
}

TEST_CASE("the loop accounts for all of its time", "[probe]") {
  DetourRing ring(1U << 20U);
  LoopProgress progress;
  std::atomic<bool> stop{false};
  LoopEnd end = LoopEnd::moved;
  std::jthread loop([&] { end = run_on_own_cpu(ring, progress, stop); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  stop.store(true);
  loop.join();
  CHECK(end == LoopEnd::stopped);
  std::vector<TickDetour> out;
  out.reserve(ring.capacity());
  ring.pop_all(out);
  const std::uint64_t first = progress.first_ticks.load();
  const std::uint64_t last = progress.last_ticks.load();
  CHECK(progress.iterations.load() >= kLoopBatch);
  CHECK(progress.iterations.load() % kLoopBatch == 0);
  CHECK(progress.storing_ticks.load() < last - first);
  std::uint64_t before = first;
  for (const TickDetour& detour : out) {
    REQUIRE(detour.start_ticks >= before);
    REQUIRE(detour.end_ticks > detour.start_ticks);
    before = detour.end_ticks;
  }
  CHECK(before <= last);
  // Whatever is no detour and no store was iterations, each at most the threshold long.
  std::uint64_t detours = 0;
  for (const TickDetour& detour : out) detours += detour.end_ticks - detour.start_ticks;
  CHECK(last - first - detours - progress.storing_ticks.load() <= progress.iterations.load() * 500);
}
