// SPDX-License-Identifier: Apache-2.0
// What was taken from watched tasks as one HTML page that needs nothing else, not even scripts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/report.h"
#include "model/views.h"
#include "model/watch.h"
#include "recording/description.h"

namespace noised::page {

/// Everything that the page is made of, all of the same recording.
struct TasksPageInput {
  const WatchReport& watched;
  const Report& report;  ///< of its machine and its time; the rest is not looked at
  const StatusView& status;
  const recording::Description& description;
  const std::vector<DetourView>& longest;  ///< losses, the longest first
  std::uint64_t first_ns = 0;              ///< CLOCK_MONOTONIC, from which times are told
};

// What the page shows at most; it says what it leaves out.
inline constexpr std::size_t kMostTaskSources = 150;
inline constexpr std::size_t kMostTaskCombinations = 40;
inline constexpr std::size_t kMostListedLosses = 50;

/// The page, as UTF-8.
std::string render_tasks(const TasksPageInput& input);

/// Its parts, as HTML.
std::string tasks_summary(const TasksPageInput& input);
std::string tasks_stack(const TasksPageInput& input);
std::string tasks_category_table(const TasksPageInput& input);
std::string tasks_source_table(const TasksPageInput& input);
std::string task_table(const TasksPageInput& input);
std::string task_duration_tables(const TasksPageInput& input);
std::string loss_table(const TasksPageInput& input);
std::string tasks_combination_table(const TasksPageInput& input);
std::string tasks_about_table(const TasksPageInput& input);

}  // namespace noised::page
