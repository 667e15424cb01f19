// SPDX-License-Identifier: Apache-2.0
// Lanes on which bars nest: the viewers' "slices", which must end in the reverse order of their beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "account/task_run.h"
#include "model/types.h"

namespace noised::exports {

// The tasks of a recording, numbered in the order in which they are first told of.

/// A pid is another task's once its own has ended.
class TaskRows {
 public:
  struct Row {
    std::uint32_t pid = 0;
    std::uint32_t tgid = 0;            ///< of its process; 0: not known
    SourceId name = account::kNoName;  ///< the last; not known if it only had a CPU
  };

  /// The number of the task that has this pid.
  std::size_t of(std::uint32_t pid) {
    const auto [found, is_new] = now_.try_emplace(pid, rows_.size());
    if (is_new) rows_.push_back({pid, 0, account::kNoName});
    return found->second;
  }
  std::size_t lost(const account::Loss& loss) {
    const std::size_t row = of(loss.pid);
    rows_[row].name = loss.name;
    return row;
  }
  std::size_t ran(const account::TaskRun& run) {
    const std::size_t row = of(run.pid);
    rows_[row].name = run.name;
    rows_[row].tgid = run.tgid;
    if (run.ended) now_.erase(run.pid);
    return row;
  }
  [[nodiscard]] const std::vector<Row>& all() const { return rows_; }

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::uint32_t, std::size_t> now_;  // by pid
};

// Intervals come in the order in which they ended; those who draw them want each before what is nested in it.

/// The intervals of one CPU.
class IntervalOrder {
 public:
  using Take = std::function<void(const Interval& interval)>;
  /// Where a loop stays away for long more would be held: all of them go on then, and one around them comes late.
  static constexpr std::size_t kMostHeld = std::size_t{1} << 16U;

  /// Holds the interval that ended next.
  void add(const Interval& interval, const Take& take);
  /// Gives away those that began by this time, in order of their start, an enclosing one before what it encloses.
  /// Nothing that encloses them may be still to come, which is so once the detour that ends then was told.
  void release(std::uint64_t until_ns, const Take& take);
  [[nodiscard]] std::size_t held() const { return held_.size(); }

 private:
  struct Held {
    Interval interval;
    std::uint64_t number;  // in the order in which they came
  };

  std::vector<Held> held_;
  std::uint64_t came_ = 0;
};

/// The lanes of one track. Intervals of a CPU nest, so one lane holds them all; one that comes late, or overlaps others
/// as a damaged or foreign recording may have it, goes to the next, where its times stay what they are.
class Lanes {
 public:
  static constexpr std::size_t kMost = 16;
  /// What ended on a lane.
  using End = std::function<void(std::size_t lane, std::uint64_t at_ns)>;

  /// Opens a bar from `start_ns` to `end_ns` on the first lane where it nests, after it told what ended there before;
  /// nothing if there is no such lane.
  std::optional<std::size_t> open(std::uint64_t start_ns, std::uint64_t end_ns, const End& end);
  /// Tells everything that has not ended.
  void finish(const End& end);

 private:
  struct Lane {
    std::uint64_t told_ns = 0;        // nothing before this can be told any more
    std::vector<std::uint64_t> ends;  // of what is open, the innermost last
  };
  static bool fits(const Lane& lane, std::uint64_t start_ns, std::uint64_t end_ns);

  std::vector<Lane> lanes_;
};

}  // namespace noised::exports
