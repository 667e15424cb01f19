// SPDX-License-Identifier: Apache-2.0
// What the live view knows and how it is set: samples, sort order, filters, scroll position. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisectl/top_delta.h"

namespace noised::client {

enum class TopSort { stolen, rate, mean, max, name };

/// The name of a sort order as the screen shows it.
std::string_view to_string(TopSort sort);

class TopModel {
 public:
  /// Takes a new sample; one that does not continue the last starts everything anew.
  void add(TopSample sample);
  /// The daemon did not answer: `line` says why. What was known stays on the screen.
  void unreachable(std::string line);

  /// A key: s t r m x n sort, p pause, c and f filter, ? help; false for q, to quit. Others do nothing.
  bool press(char key);
  /// Moves by `rows` of the source list, of which `visible_rows` fit on the screen.
  void scroll(long rows, std::size_t visible_rows);

  /// The newest sample, or null before the first.
  [[nodiscard]] const TopSample* sample() const { return sample_ ? &*sample_ : nullptr; }
  [[nodiscard]] const TopDelta& delta() const { return delta_; }
  /// True while the numbers are totals since the daemon's start: there is only one sample.
  [[nodiscard]] bool since_start() const { return since_start_; }
  /// Why the daemon cannot be reached; empty if it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] TopSort sort() const { return sort_; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] bool help() const { return help_; }
  [[nodiscard]] std::optional<unsigned> cpu_filter() const { return cpu_filter_; }
  /// Empty if every category is shown.
  [[nodiscard]] const std::string& category_filter() const { return category_filter_; }
  [[nodiscard]] std::size_t scroll_position() const { return scroll_; }

  /// The CPUs that pass the filter.
  [[nodiscard]] std::vector<TopCpu> cpus() const;
  /// The sources that pass the filters, sorted.
  [[nodiscard]] std::vector<TopSource> sources() const;

 private:
  void cycle_cpu();
  void cycle_category();

  std::optional<TopSample> sample_;
  TopDelta delta_;
  bool since_start_ = true;
  std::string problem_;
  TopSort sort_ = TopSort::stolen;
  bool paused_ = false;
  bool help_ = false;
  std::optional<unsigned> cpu_filter_;
  std::string category_filter_;
  std::size_t scroll_ = 0;
};

}  // namespace noised::client
