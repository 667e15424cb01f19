// SPDX-License-Identifier: Apache-2.0
// A consistent copy of everything that was counted, and its hand-over to other threads.
#pragma once

#include "model/views.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "account/ledger_counter.h"
#include "account/matcher.h"
#include "account/overhead_bounds.h"
#include "account/recent.h"
#include "account/task_run.h"
#include "base/files.h"
#include "model/histogram.h"
#include "model/tables.h"

namespace noised::account {

struct CpuSnapshot {
  unsigned cpu = 0;
  bool has_loop = true;
  bool watches_tasks = false;  ///< for what its tasks suffer; beside a loop, while that is aside
  std::uint64_t observed_ns = 0;
  std::uint64_t iterations = 0;
  std::uint64_t threshold_ns = 0;
  std::uint64_t blind_ns = 0;
  std::uint64_t steal_ns = 0;
  std::uint64_t steal_step_ns = 0;
  std::string steal_source;
  std::optional<std::uint64_t> smi_count;
  Containment containment;                ///< of its own intervals
  std::optional<std::uint64_t> switches;  ///< by the scheduler, off the loop; in counts, and at the end
  std::optional<CurrentTask> current;     ///< where tasks are watched, and one has it: as of the last drain,
  std::uint64_t current_until_ns = 0;     ///< which began then
  CpuStatistics statistics;
  std::vector<PublicSum> public_sums;  ///< with `statistics`
  RecentCounts recent;
};

enum class SnapshotDetail : std::uint8_t {
  mark,     ///< no statistics at all, nor switches
  counts,   ///< no statistics at all
  recent,   ///< those of the last minute alone
  summary,  ///< without the histograms of single sources and the combinations
  all,
};

struct Snapshot {
  SnapshotDetail detail = SnapshotDetail::all;  ///< that is wanted; what is not is left as it was
  std::size_t recent_slots = kRecentSlots;      ///< likewise, of those that `recent` and `before` are of
  std::uint64_t drained_ns = 0;  ///< how far the run was when the last drain began: what CPUs observed was read since,
  std::uint64_t elapsed_ns = 0;  ///< and when that had been read
  ReportClock clock;
  ReportLost lost;
  std::uint64_t orphan_intervals = 0;
  LearnedBounds bounds;  ///< of all loops
  std::vector<CpuSnapshot> cpus;
  RecentMark before;                        ///< when the time began of which each `recent` is; not in counts and marks
  std::optional<AsideView> aside;           ///< where loops step aside
  std::optional<EntryCostView> entry_cost;  ///< where tasks are watched and no loop measures
  std::vector<ProgramView> programs;
  Histogram drain_intervals;  ///< from the begin of one drain to that of the next
  std::uint64_t drain_intervals_ns = 0;
  std::uint64_t drain_interval_ns = 0;  ///< as configured now
};

/// The clock with the containment of the CPU where it is worst; those with no interval to check say nothing.
ReportClock clock_of(const Snapshot& snapshot, std::uint64_t uncertainty_ns);

/// Copies as much as is wanted of what was counted.
void copy_statistics(const LedgerCounter& counter, SnapshotDetail detail, std::size_t recent_slots, CpuSnapshot& cpu);

/// True if nothing was lost in the last minute.
bool complete_lately(const Snapshot& snapshot);

/// What a snapshot has of a mark; the memory of `mark` is used again.
void to_mark(const Snapshot& snapshot, RecentMark& mark);

/// Between the pipeline, which must never wait, and one reader at a time, which may: the reader asks, the pipeline
/// comes by and fills.
class SnapshotExchange {
 public:
  SnapshotExchange();

  /// Reader: waits for a snapshot taken after this call and shows it to `use`; false if none came within 2 s.
  bool read(const std::function<void(const Snapshot&)>& use, SnapshotDetail detail = SnapshotDetail::all,
            std::size_t recent_slots = kRecentSlots);

  /// Pipeline: nobody will answer any more; whoever waits, or asks from now on, is told so at once.
  void close();
  /// Pipeline: an eventfd, to be read, that becomes readable when a reader asks; -1 if the kernel gave none, then it is
  /// to come by by itself.
  [[nodiscard]] int asked_descriptor() const { return asked_event_.get(); }
  /// Pipeline, before it reads what a snapshot tells: true if a reader waits, who is answered by the next answer(). One
  /// atomic load. Who asks later, while that is read, has to wait for the next: he would not be told what came last.
  [[nodiscard]] bool take_asked() {
    taken_ = asked_.load(std::memory_order_acquire);
    return taken_ != answered_.load(std::memory_order_relaxed);
  }
  /// Pipeline: fills the snapshot unless a reader has it in use; then it is asked again.
  void answer(const std::function<void(Snapshot&)>& fill);

 private:
  std::mutex mutex_;  // the pipeline only tries it
  std::condition_variable answered_changed_;
  bool closed_ = false;
  Snapshot snapshot_;
  std::atomic<SnapshotDetail> detail_{SnapshotDetail::all};
  std::atomic<std::size_t> recent_slots_{kRecentSlots};
  std::atomic<std::uint64_t> asked_{0};
  std::uint64_t taken_ = 0;  // of those asked, the last that the next answer is for; the pipeline's
  std::atomic<std::uint64_t> answered_{0};
  Descriptor asked_event_;
};

}  // namespace noised::account
