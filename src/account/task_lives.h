// SPDX-License-Identifier: Apache-2.0
// Which runs are of the same task: pids are used again, tasks end where nobody watches, and a thread that execs takes
// its leader's pid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "account/task_run.h"

namespace noised::account {

/// The last run of a task that is in order with those of the other CPUs.
struct LastRun {
  bool known = false;
  TaskCounts counts;
  std::uint64_t end_ns = 0;
  std::size_t cpu = 0;
  bool involuntary = false;  ///< its end
  bool yielded = false;      ///< its end: involuntary by the kernel's count, but its own will
};

/// Gives each life a number. The table is keyed by where the kernel keeps a task: whoever is found there next shows
/// that the one before has ended. So it has no more entries than the kernel had places for tasks, and kTasks at most.
class TaskLives {
 public:
  static constexpr std::size_t kTasks = 32768;  ///< 5 MiB

  /// The life of which this is a run, and which is followed from now on. The runs of a CPU come in order, those of
  /// different CPUs up to a drain apart.
  std::uint64_t number_of(const TaskRun& run);
  /// The life that has a CPU; all of its runs before were given to number_of().
  std::uint64_t number_of(const CurrentTask& current);
  /// The same, without following it; 0: it is not known.
  [[nodiscard]] std::uint64_t find(const CurrentTask& current) const;
  /// What is kept of a life; nullptr: it is not followed.
  LastRun* last_run(std::uint32_t slot, std::uint64_t number);
  /// This life has ended.
  void end(std::uint32_t slot, std::uint64_t number);
  /// Every run that ended by `ns`, on all CPUs, was told.
  void settle(std::uint64_t ns);

  /// Lives that are followed no longer, though no run was their last; to be cleared by who has read it.
  [[nodiscard]] std::vector<std::uint64_t>& gone() { return gone_; }
  /// There were too many to follow all of them.
  [[nodiscard]] bool has_forgotten() const { return has_forgotten_; }
  [[nodiscard]] std::size_t size() const { return lives_.size() + replaced_.size(); }

 private:
  struct Life {
    std::uint64_t number = 0;
    std::uint32_t pid = 0;
    std::uint32_t tgid = 0;  // 0: only seen while it had the CPU, so that its birth is not known either
    std::uint8_t birth = 0;
    bool over = false;            // its last run is the last that there is
    std::uint64_t first_ns = 0;   // the begin of its first run seen
    std::uint64_t last_ns = 0;    // the end of its last one
    std::uint64_t leader_ns = 0;  // it had its leader's pid when a run ended that began then
    LastRun last;
  };
  struct Replaced {
    std::uint32_t slot;
    std::uint64_t by_ns;  // the first run of who is there now began then
    Life life;
  };
  static bool is_same(const Life& life, const TaskRun& run);
  static void note(Life& life, const TaskRun& run);
  Life& begin(std::uint32_t slot, std::uint32_t pid, std::uint64_t start_ns);
  std::uint64_t number_of_late(const TaskRun& run, std::uint64_t by_ns);
  void forget_silent();

  std::unordered_map<std::uint32_t, Life> lives_;  // by slot
  std::vector<Replaced> replaced_;                 // whose last runs may still come
  std::vector<std::uint64_t> gone_;
  std::uint64_t numbers_ = 0;  // given
  bool has_forgotten_ = false;
};

}  // namespace noised::account
