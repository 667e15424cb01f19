// SPDX-License-Identifier: Apache-2.0
// What is proven of where steal time lies, against where it was put.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <vector>

#include "account/steal_marks.h"

using namespace noised;
using namespace noised::account;

namespace {

struct Proof {
  SourceId source;
  Kind kind;
  std::uint64_t ns;
  bool again;
  bool operator==(const Proof&) const = default;
};

DetourLedger detour(std::uint64_t start_ns, std::uint64_t hypervisor_ns, std::vector<std::uint64_t> selves = {},
                    SourceId first = 1) {
  DetourLedger ledger;
  ledger.hypervisor_ns = hypervisor_ns;
  std::uint64_t at = start_ns;
  for (const std::uint64_t self_ns : selves) {
    ledger.entries.push_back({first++, Kind::vector, 0, 0, at, self_ns, 0, 0});
    ledger.explained_ns += self_ns;
    at += self_ns;
  }
  ledger.detour = {start_ns, at + hypervisor_ns, false};
  return ledger;
}

struct StealScene {
  StealScene() { marks.add(StealWindow{1, 2, 1}); }  // from now on it remembers
  void add(const DetourLedger& ledger) {
    marks.add(ledger, [this](SourceId source, Kind kind, std::uint64_t ns, bool again) {
      proofs.push_back({source, kind, ns, again});
    });
  }
  StealMarks marks;
  std::vector<Proof> proofs;
};

}  // namespace

TEST_CASE("steal marks: what the rest of a window has no room for was taken from a part", "[attribution]") {
  StealScene scene;
  scene.add(detour(1'000, 10));
  scene.marks.add(StealWindow{2'000, 6'000, 900});
  scene.add(detour(1'990, 30));  // 20 of it in the window
  scene.add(detour(3'000, 50));
  scene.add(detour(4'000, 30, {1'000, 200}));
  CHECK(scene.proofs.empty());
  scene.add(detour(6'000, 40));
  // Of 1,300 ns there, all but 1,000 have room for 300.
  CHECK(scene.proofs == std::vector<Proof>{{1, Kind::vector, 600, false}});
  CHECK(Proof{1, Kind::vector, 600, false} == scene.proofs.front());
}

TEST_CASE("steal marks: a part that two windows took from is one", "[attribution]") {
  StealScene scene;
  scene.add(detour(1'000, 10));
  scene.add(detour(2'000, 100'000));
  scene.marks.add(StealWindow{1'500, 52'000, 20'000});
  scene.marks.add(StealWindow{51'000, 110'000, 30'000});
  scene.add(detour(120'000, 10));
  CHECK(scene.proofs == std::vector<Proof>{{0, Kind::hypervisor, 20'000, false}, {0, Kind::hypervisor, 30'000, true}});
}

TEST_CASE("steal marks: where something was not seen, nothing is proven", "[attribution]") {
  const StealWindow window{2'000, 60'000, 40'000};
  const auto proofs = [&](auto&& spoil) {
    StealScene scene;
    scene.add(detour(1'000, 10));
    scene.marks.add(window);
    scene.add(detour(3'000, 45'000));
    spoil(scene);
    scene.add(detour(70'000, 10));
    return scene.proofs.size();
  };
  CHECK(proofs([](StealScene&) {}) == 1);
  CHECK(proofs([](StealScene& scene) { scene.marks.add_unseen({50'000, 50'001, false}); }) == 0);
  CHECK(proofs([](StealScene& scene) { scene.marks.add_unseen({60'000, 61'000, false}); }) == 1);
  CHECK(proofs([](StealScene& scene) {
          DetourLedger doubtful = detour(50'000, 0);
          doubtful.detour = {50'000, 50'100, true};
          doubtful.unexplained_ns = 100;
          scene.add(doubtful);
        }) == 0);
  CHECK(proofs([](StealScene& scene) { scene.marks.forget(); }) == 0);
  CHECK(proofs([](StealScene& scene) {
          for (std::uint64_t i = 0; i < StealMarks::kParts; ++i) scene.add(detour(50'000 + i, 1));
        }) == 0);
  StealMarks fresh;  // the first window: nothing was remembered before
  std::size_t told = 0;
  const auto count = [&](SourceId, Kind, std::uint64_t, bool) { ++told; };
  fresh.add(detour(1'000, 10), count);
  fresh.add(window);
  fresh.add(detour(3'000, 45'000), count);
  fresh.add(detour(70'000, 10), count);
  CHECK(told == 0);
}

TEST_CASE("steal marks: more than there is room for proves nothing", "[attribution]") {
  StealScene scene;
  scene.add(detour(1'000, 10));
  scene.marks.add(StealWindow{2'000, 60'000, 45'001});
  scene.add(detour(3'000, 45'000));
  scene.add(detour(70'000, 10));
  CHECK(scene.proofs.empty());
}

// Lumps of steal are put into parts of detours at random; ticks read the count.
TEST_CASE("steal marks: of no part more is told than was taken from it", "[attribution]") {
  std::mt19937_64 random(21);  // NOLINT(cert-msc51-cpp): the same every time
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  std::uint64_t stolen_ns = 0;
  std::uint64_t proven_ns = 0;
  for (int round = 0; round < 100; ++round) {
    StealScene scene;
    scene.add(detour(10, 1));
    std::map<SourceId, std::uint64_t> taken;  // by part: each has a source of its own
    SourceId next = 1;
    std::uint64_t at = 100'000;
    std::uint64_t since_ns = 0;  // stolen since the last tick, which began then
    std::uint64_t tick_ns = at;
    for (int i = 0; i < 400; ++i) {
      const bool tick = i % 20 == 0;
      std::vector<std::uint64_t> selves;
      const std::uint64_t parts = between(1, 3);
      const SourceId first = next;
      std::uint64_t before_tick_ns = since_ns;
      for (std::uint64_t part = 0; part < parts; ++part, ++next) {
        const std::uint64_t lump_ns = random() % 12 == 0 ? between(1'000, 900'000) : 0;
        selves.push_back(between(300, 9'000) + lump_ns);
        taken[next] = lump_ns;
        stolen_ns += lump_ns;
        since_ns += lump_ns;
        if (part == 0) before_tick_ns = since_ns;
      }
      const DetourLedger ledger = detour(at, 0, selves, first);
      if (tick) {  // its interrupt is the first part; the count is read at its end
        const std::uint64_t end_ns = at + selves.front();
        if (before_tick_ns != 0) scene.marks.add(StealWindow{tick_ns, end_ns, before_tick_ns});
        since_ns -= before_tick_ns;
        tick_ns = at;
      }
      scene.add(ledger);
      at = ledger.detour.end_ns + between(5'000, 200'000);
    }
    std::map<SourceId, std::uint64_t> proven;
    for (const Proof& proof : scene.proofs) proven[proof.source] += proof.ns;
    for (const auto& [source, ns] : proven) {
      REQUIRE(ns <= taken[source]);
      proven_ns += ns;
    }
  }
  INFO(proven_ns << " ns of " << stolen_ns << " proven");
  CHECK(proven_ns > stolen_ns / 4);
}
