// SPDX-License-Identifier: Apache-2.0
// What the live view knows and how it is set: samples, sort order, filters, selection, the opened source. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisectl/top/chains.h"
#include "noisectl/top/delta.h"

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
  /// Takes what the stream of detours told; of another source than the opened one it is dropped, as it is while paused.
  void add(TopChainsView chains);

  /// A key; Enter is '\r', Escape and Backspace are kBack. False to quit. Keys without a meaning do nothing.
  bool press(char key);
  /// Moves the selection, or the chains of the opened source, by `rows`.
  void move(long rows);
  /// Scrolls so that the selection, or a full screen of chains, is within `visible_rows`.
  void fit(std::size_t visible_rows);

  static constexpr char kBack = 27;

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
  /// The first row that is shown, of the sources or of the opened source's chains.
  [[nodiscard]] std::size_t scroll_position() const { return opened_ ? chain_scroll_ : scroll_; }

  /// The CPUs that pass the filter.
  [[nodiscard]] std::vector<TopCpu> cpus() const;
  /// The sources that pass the filters, sorted.
  [[nodiscard]] std::vector<TopSource> sources() const;
  /// The place of the selection in sources().
  [[nodiscard]] std::size_t selection() const;

  /// The opened source, if one is.
  [[nodiscard]] const std::optional<TopKey>& opened() const { return opened_; }
  /// Its chains, or null before the stream told anything.
  [[nodiscard]] const TopChainsView* chains() const { return chains_ ? &*chains_ : nullptr; }

 private:
  void press_in_list(char key);
  void sort_by(TopSort sort);
  void cycle_cpu();
  void cycle_category();
  void select_first();
  void open();

  std::optional<TopSample> sample_;
  TopDelta delta_;
  bool since_start_ = true;
  std::string problem_;
  TopSort sort_ = TopSort::stolen;
  bool paused_ = false;
  bool help_ = false;
  std::optional<unsigned> cpu_filter_;
  std::string category_filter_;
  std::optional<TopKey> selected_;  // nothing: the first, whichever that is
  std::size_t scroll_ = 0;
  std::optional<TopKey> opened_;
  std::optional<TopChainsView> chains_;
  std::size_t chain_scroll_ = 0;
};

}  // namespace noised::client
