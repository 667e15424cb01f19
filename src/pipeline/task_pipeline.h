// SPDX-License-Identifier: Apache-2.0
// The CPUs that are watched for what their tasks suffer: drains their rings, follows the tasks, attributes and counts.
#pragma once

#include <noised/watch.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attribution/causes.h"
#include "attribution/steal.h"
#include "pipeline/chains.h"
#include "pipeline/detour_feed.h"
#include "pipeline/ledger_counter.h"
#include "pipeline/losses.h"
#include "pipeline/snapshot.h"
#include "pipeline/watch_account.h"
#include "trace/names.h"
#include "trace/tracer.h"
#include "watch/loss_ledger.h"
#include "watch/task_watch.h"

namespace noised {

struct TaskPipelineOptions {
  std::vector<unsigned> cpus;       ///< the tracer's, in its order
  Kind outside = Kind::hypervisor;  ///< what a gap without kernel activity is here: hypervisor or hardware
  std::uint64_t steal_step_ns = 0;  ///< if not 0, the hypervisor's only as far as steal time covers it
};

/// What the parts of a pipeline share; all of it outlives them.
struct PipelineParts {
  Tracer& tracer;
  SourceTable& sources;
  Names& names;
  Chains& chains;
  DetourFeed& feed;
};

class TaskPipeline : private WatchSink {
 public:
  /// Groups that can be watched apart, from 1 on; group 0 is of tasks that nobody chose.
  static constexpr std::size_t kGroups = 16;

  TaskPipeline(const PipelineParts& parts, const TaskPipelineOptions& options, std::uint64_t now_ns);

  /// One drain, in this order; `drained_ns`: when it began.
  void read();
  void take(const noised_origin& origin);
  void join(std::uint64_t drained_ns, std::uint64_t missed_runs, bool origins_missing);

  [[nodiscard]] unsigned cpu_at(std::size_t place) const { return streams_[place].cpu; }
  /// The steal clock of the CPU at this place moved on by so much.
  void add_steal(std::size_t place, std::uint64_t stolen_ns) { streams_[place].steal.add(stolen_ns); }
  [[nodiscard]] std::size_t size() const { return streams_.size(); }
  /// Fills the CPUs from `first` on, and adds what was lost.
  void fill(std::size_t first, Snapshot& snapshot) const;

  /// From now on, what tasks of this group lose is counted, or what `any` does.
  void begin_account(std::size_t group, bool any, std::uint64_t now_ns);
  void end_account(std::size_t group) { accounts_[group].reset(); }
  [[nodiscard]] bool has_account(std::size_t group) const { return accounts_[group].has_value(); }
  /// Fills what was counted of a group that has an account.
  void report(std::size_t group, std::uint64_t now_ns, WatchReport& report) const;

 private:
  struct Stream {
    Stream(unsigned of, const TaskPipelineOptions& options, const SourceTable& sources, std::uint64_t now_ns);

    unsigned cpu;
    CauseMatcher causes;
    DoubtfulTimes doubt;
    LossCounts losses;
    StealAccount steal;
    LossLedger ledger;
    LedgerCounter counter;
    std::vector<Interval> intervals;                    // of this drain, as the next
    std::vector<std::pair<std::size_t, TaskRun>> runs;  // each at its place in `intervals`
    std::uint64_t bad_records = 0;
    std::optional<CurrentTask> current;  // as of this drain
    bool settled = false;                // no frame was open when it began
    std::uint64_t ran_until_ns = 0;      // the end of the last run of any task
    std::uint64_t runnable_ns = 0;       // runs and waits of all tasks
  };

  void take(Stream& stream, const noised_record& record, const char* comm, const noised_run_record* run);
  bool note_losses(Stream& stream, bool missed) const;
  void look_at_current(Stream& stream);
  void join(std::size_t place, std::uint64_t drained_ns, bool missed, bool origins_missing);
  void follow_current(std::size_t place, std::uint64_t drained_ns);
  void lost(std::size_t cpu, const Loss& loss, std::span<const Interval> intervals) override;
  void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) override;
  std::uint64_t latest_ns(std::uint64_t end_ns);
  void add_not_followed(ReportLost& lost) const;
  [[nodiscard]] ReportLost lost_so_far() const;

  PipelineParts parts_;
  TaskPipelineOptions options_;
  std::vector<Stream> streams_;
  TaskWatch watch_;
  struct Account {
    bool any;           // the losses of every task, not only those of the group
    ReportLost before;  // what had been lost when it began
    WatchAccount counts;
  };
  std::array<std::optional<Account>, kGroups> accounts_;
  std::uint64_t missed_runs_ = 0;
  std::uint64_t latest_ns_ = 0;  // nothing that was read from a ring can be later
  std::uint64_t drained_ns_ = 0;
};

}  // namespace noised
