// SPDX-License-Identifier: Apache-2.0
// A victim's account and detours made by hand.
#pragma once

#include <string>
#include <vector>

#include "unit/selftest/scene.h"
#include "victim/compare.h"

namespace noised::test {

inline constexpr std::uint64_t kUs = 1'000;

/// An account of a second with these gaps.
inline victim::Account account_of(std::vector<victim::Gap> gaps, std::vector<victim::Sleep> sleeps = {}) {
  victim::Account account;
  account.pid = 42;
  account.cpu = kCpu;
  account.threshold_ns = kUs;
  account.last_ns = 1000 * kMs;
  account.gaps = std::move(gaps);
  account.sleeps = std::move(sleeps);
  return account;
}

/// A detour whose overhead is what its entries leave.
inline DetourView with_overhead(std::uint64_t start_ns, std::uint64_t end_ns, std::vector<DetourEntryView> entries) {
  DetourView view = detour(start_ns, end_ns, std::move(entries));
  view.overhead_ns = view.duration_ns;
  for (const DetourEntryView& each : view.entries) view.overhead_ns -= each.self_ns;
  return view;
}

inline const victim::SourceRow* find_row(const victim::Comparison& comparison, const std::string& name) {
  for (const victim::SourceRow& row : comparison.sources) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace noised::test
