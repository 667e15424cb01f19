// SPDX-License-Identifier: Apache-2.0
// Random detours for the ledger's tests: every way in which intervals can lie to each other and to the detour.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "unit/account/oracle.h"

namespace noised::oracle {

using namespace noised::account;

/// A random number from `low` to `high`, both included; the same on every standard library.
inline std::int64_t between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A kind that an interval can have.
inline Kind random_kind(std::mt19937_64& random) {
  return static_cast<Kind>(between(random, static_cast<int>(Kind::nmi), static_cast<int>(Kind::page_fault)));
}

// Anything anywhere, also outside the detour.
inline void add_scattered(std::mt19937_64& random, Scene& scene, std::int64_t count) {
  const std::int64_t margin = scene.length / 2 + 5;
  for (; count > 0; --count) {
    const std::int64_t start = between(random, -margin, scene.length + margin);
    const std::int64_t longest = random() % 2 == 0 ? 8 : scene.length + margin;
    scene.strokes.push_back({start, start + between(random, 0, longest), random_kind(random)});
  }
}

// Ends on a coarse grid: equal starts, equal ends, duplicates, touching ones and instants are the rule.
inline void add_on_grid(std::mt19937_64& random, Scene& scene, std::int64_t count) {
  const std::int64_t step = std::max<std::int64_t>(1, scene.length / 5);
  for (; count > 0; --count) {
    std::int64_t a = step * between(random, -1, 6);
    std::int64_t b = step * between(random, -1, 6);
    if (random() % 4 == 0) a = b;
    scene.strokes.push_back({std::min(a, b), std::max(a, b), random_kind(random)});
  }
}

// What a kernel does: children inside their parent, one after the other.
inline void add_nested(std::mt19937_64& random, Scene& scene, std::int64_t from, std::int64_t to, int levels) {
  for (std::int64_t t = from; t < to;) {
    const std::int64_t start = between(random, t, to);
    const std::int64_t end = between(random, start, std::min(to, start + std::max<std::int64_t>(1, (to - from) / 2)));
    scene.strokes.push_back({start, end, random_kind(random)});
    if (levels > 0 && end > start) add_nested(random, scene, start, end, levels - 1);
    if (scene.strokes.size() > 60) return;
    t = std::max(end, t + 1);
  }
}

enum class Shape : std::uint8_t {
  nested,       ///< two intervals are one inside the other or apart
  overlapping,  ///< anything, but at most one began before the detour
  truncated,    ///< nested, and some differ only before or after the detour
};

// What can be told apart only by what lies outside the detour is left to Shape::truncated.
inline void drop_equal_inside(Scene& scene, Shape shape) {
  std::map<std::pair<std::int64_t, std::int64_t>, Stroke> kept;
  bool one_before = false;
  std::erase_if(scene.strokes, [&](const Stroke& s) {
    if (s.start == s.end) return false;
    if (shape == Shape::overlapping && s.start <= 0 && std::exchange(one_before, true)) return true;
    const auto inside = std::pair(std::max<std::int64_t>(s.start, 0), std::min(s.end, scene.length));
    const auto [place, added] = kept.try_emplace(inside, s);
    return !added && (place->second.start != s.start || place->second.end != s.end);
  });
}

/// A random scene of at most 3000 units; every stroke touches the detour.
inline Scene random_scene(std::mt19937_64& random, Shape shape) {
  Scene scene;
  const std::uint64_t size = random() % 16;
  scene.length = between(random, 0, size == 0 ? 3000 : size < 6 ? 300 : size < 15 ? 40 : 2);
  const std::int64_t margin = scene.length / 3 + 3;
  if (shape == Shape::overlapping) {
    const std::uint64_t style = random() % 4;
    if (style == 0) add_scattered(random, scene, between(random, 2, 4));
    if (style == 1) add_scattered(random, scene, between(random, 2, 24));
    if (style >= 2) add_on_grid(random, scene, between(random, 1, 12));
    if (style == 3) add_nested(random, scene, 0, scene.length, 2);
  } else if (random() % 16 != 0) {  // else empty
    const bool around = shape == Shape::truncated || random() % 2 == 0;
    const int levels = static_cast<int>(between(random, 0, 4));
    add_nested(random, scene, around ? -margin : 0, scene.length + (around ? margin : 0), levels);
  }
  std::erase_if(scene.strokes, [&](const Stroke& s) { return !touches(s, scene.length); });
  if (shape != Shape::truncated) drop_equal_inside(scene, shape);
  std::shuffle(scene.strokes.begin(), scene.strokes.end(), random);
  return scene;
}

/// Bounds in every state: unlearned, nearly learned, learned low, and learned high.
inline OverheadBounds random_bounds(std::mt19937_64& random) {
  OverheadBounds bounds;
  for (std::size_t place = 0; place < kGapPlaces; ++place) {
    for (std::size_t kind = 0; kind < kKindCount; ++kind) {
      const std::uint64_t samples = random() % 3 == 0 ? 0 : 10 + random() % 20;
      const std::uint64_t typical = std::uint64_t{1} << (random() % 14);
      for (std::uint64_t i = 0; i < samples; ++i) {
        bounds.learn({static_cast<GapPlace>(place), static_cast<Kind>(kind), typical + random() % typical});
      }
    }
  }
  return bounds;
}

}  // namespace noised::oracle
