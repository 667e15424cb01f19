// SPDX-License-Identifier: Apache-2.0
// Truths and detours made by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/views.h"

#include "selftest/compare.h"

namespace noised::test {

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr unsigned kCpu = 3;

using Detail = std::vector<std::pair<std::string, std::string>>;

inline DetourEntryView entry(const char* kind, const char* name, std::uint64_t self_ns, unsigned depth = 0,
                             Detail detail = {}) {
  return {kind, name, self_ns, depth, std::move(detail)};
}

inline DetourView detour(std::uint64_t start_ns, std::uint64_t end_ns, std::vector<DetourEntryView> entries) {
  DetourView view;
  view.cpu = kCpu;
  view.start_ns = start_ns;
  view.duration_ns = end_ns - start_ns;
  view.entries = std::move(entries);
  return view;
}

inline selftest::Occurrence occurrence(std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t count = 1) {
  selftest::Occurrence one;
  one.start_ns = start_ns;
  one.end_ns = end_ns;
  one.count = count;
  return one;
}

/// `count` activations of 1 ms, 10 ms apart, and detours that show them all, 20 us longer.
struct TaskScene {
  selftest::Truth truth;
  std::vector<DetourView> detours;

  explicit TaskScene(unsigned count = 100) {
    truth.mode = "task";
    truth.cpu = kCpu;
    truth.shape = selftest::Shape::activations;
    truth.sources = {{"task", "noised-task"}};
    truth.first_ns = 0;
    truth.last_ns = (count + 1) * 10 * kMs;
    for (unsigned i = 1; i <= count; ++i) {
      const std::uint64_t start = i * 10 * kMs;
      selftest::Occurrence activation = occurrence(start, start + kMs + 2'000);
      activation.cpu_ns = activation.charged_ns = kMs;
      activation.pid = 42;
      truth.occurrences.push_back(activation);
      detours.push_back(
          detour(start - 10'000, start + kMs + 10'000,
                 {entry("vector", "local_timer", 5'000), entry("task", "noised-task", kMs - 20'000, 0, {{"pid", "42"}}),
                  entry("vector", "local_timer", 25'000, 1)}));
    }
  }

  [[nodiscard]] selftest::Row compare(const selftest::Losses& losses = {}) const {
    return selftest::compare(truth, detours, losses);
  }
};

/// `count` events, 1 ms apart, each in a detour of its own.
struct EventScene {
  selftest::Truth truth;
  std::vector<DetourView> detours;

  explicit EventScene(unsigned count = 1000) {
    truth.mode = "ipi";
    truth.cpu = kCpu;
    truth.sources = {{"csd", "remote_function"}};
    truth.first_ns = 0;
    truth.last_ns = (count + 1) * kMs;
    for (unsigned i = 1; i <= count; ++i) {
      truth.occurrences.push_back(occurrence(i * kMs, i * kMs + 20'000));
      detours.push_back(
          detour(i * kMs + 5'000, i * kMs + 9'000,
                 {entry("vector", "call_function_single", 1'000), entry("csd", "remote_function", 500, 1)}));
    }
  }

  [[nodiscard]] selftest::Row compare(const selftest::Losses& losses = {}) const {
    return selftest::compare(truth, detours, losses);
  }
};

}  // namespace noised::test
