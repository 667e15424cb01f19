// SPDX-License-Identifier: Apache-2.0
// The ledger by brute force: every nanosecond of a short detour is painted with its owner, then counted.
#pragma once

#include "model/types.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "account/overhead_bounds.h"

namespace noised::oracle {

using namespace noised::account;

/// An interval in units after the detour's start; start == end is an instant.
struct Stroke {
  std::int64_t start = 0;
  std::int64_t end = 0;
  Kind kind = Kind::none;
};

/// A detour of `length` units and what may have happened in it.
struct Scene {
  std::int64_t length = 0;
  std::vector<Stroke> strokes;
};

struct PaintedEntry {
  std::uint64_t self = 0;
  unsigned containers = 0;  ///< intervals that begin before it and end no earlier than it
  unsigned open = 0;        ///< intervals that begin before it and have not ended when it begins
};

struct PaintedGap {
  GapPlace place = GapPlace::before;
  std::set<Kind> kinds;  ///< of the neighbours that the gap may be named after; two or more only on a tie
  std::uint64_t length = 0;
};

struct Painting {
  std::vector<std::optional<PaintedEntry>> entries;  ///< by stroke; nothing for one outside the detour
  std::vector<PaintedGap> gaps;
  std::uint64_t unpainted = 0;
  bool blank = true;  ///< no interval inside
};

/// Whether a stroke touches the detour: it shares time with it, or is an instant that is not outside of it.
inline bool touches(const Stroke& s, std::int64_t length) {
  if (s.start == s.end) return s.start >= 0 && s.start <= length;
  return std::max<std::int64_t>(s.start, 0) < std::min(s.end, length);
}

/// True if `a` lies under `b`: it started earlier, or together and is the longer one. `a_first` breaks the tie.
inline bool lies_under(const Stroke& a, const Stroke& b, bool a_first) {
  if (a.start != b.start) return a.start < b.start;
  if (a.end != b.end) return a.end > b.end;
  return a_first;
}

inline void count_around(const Scene& scene, std::size_t i, Painting& painting) {
  const Stroke& inner = scene.strokes[i];
  for (std::size_t j = 0; j < scene.strokes.size(); ++j) {
    const Stroke& outer = scene.strokes[j];
    if (j == i || !painting.entries[j] || !lies_under(outer, inner, j < i) || outer.end <= inner.start) continue;
    ++painting.entries[i]->open;
    // What goes on after the detour is cut there, so an instant on that edge may count as in it or as after it.
    if (outer.end >= inner.end && inner.start < scene.length) ++painting.entries[i]->containers;
  }
}

// A gap is named after what follows it: the longest of those that begin there is the one that the CPU entered first.
// With nothing after it, it is named after what ended where it begins.
inline PaintedGap describe_gap(const Scene& scene, const Painting& painting, std::int64_t from, std::int64_t to) {
  PaintedGap gap;
  gap.length = static_cast<std::uint64_t>(to - from);
  bool any_before = false;
  std::int64_t longest = -1;
  for (std::size_t i = 0; i < scene.strokes.size(); ++i) {
    const Stroke& s = scene.strokes[i];
    if (!painting.entries[i]) continue;
    any_before = any_before || s.start < to;
    if (s.start < to) continue;
    if (s.start == to && s.end > longest) {
      longest = s.end;
      gap.kinds.clear();
    }
    if (s.start == to && s.end == longest) gap.kinds.insert(s.kind);
  }
  gap.place = any_before ? (longest < 0 ? GapPlace::after : GapPlace::between) : GapPlace::before;
  if (gap.place != GapPlace::after) return gap;
  for (std::size_t i = 0; i < scene.strokes.size(); ++i) {
    if (painting.entries[i] && scene.strokes[i].end == from) gap.kinds.insert(scene.strokes[i].kind);
  }
  return gap;
}

/// Paints the strokes over the detour, the one that started first at the bottom, and counts what shows of each.
inline Painting paint(const Scene& scene) {
  const auto& strokes = scene.strokes;
  Painting painting;
  painting.entries.resize(strokes.size());
  std::vector<std::size_t> order(strokes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return lies_under(strokes[a], strokes[b], a < b); });

  constexpr std::size_t kNobody = SIZE_MAX;
  std::vector<std::size_t> owner(static_cast<std::size_t>(scene.length), kNobody);
  std::set<std::int64_t> cuts{scene.length};  // an instant parts the gap that it lies in
  for (const std::size_t i : order) {
    const Stroke& s = strokes[i];
    if (!touches(s, scene.length)) continue;
    painting.blank = false;
    painting.entries[i].emplace();
    if (s.start == s.end) cuts.insert(s.start);
    for (std::int64_t t = std::max<std::int64_t>(s.start, 0); t < std::min(s.end, scene.length); ++t) {
      owner[static_cast<std::size_t>(t)] = i;
    }
  }
  std::int64_t gap_from = 0;
  for (std::int64_t t = 0; t <= scene.length; ++t) {
    const bool free = t < scene.length && owner[static_cast<std::size_t>(t)] == kNobody;
    if (free) ++painting.unpainted;
    if (t < scene.length && !free) ++painting.entries[owner[static_cast<std::size_t>(t)]]->self;
    if (free && cuts.count(t) == 0) continue;
    if (t > gap_from && !painting.blank) painting.gaps.push_back(describe_gap(scene, painting, gap_from, t));
    gap_from = free ? t : t + 1;
  }
  for (std::size_t i = 0; i < strokes.size(); ++i) {
    if (painting.entries[i]) count_around(scene, i, painting);
  }
  return painting;
}

}  // namespace noised::oracle
