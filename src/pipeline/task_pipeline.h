// SPDX-License-Identifier: Apache-2.0
// The CPUs that are watched for what their tasks suffer: drains their rings, follows the tasks, attributes and counts.
#pragma once

#include "model/watch.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "account/detour_feed.h"
#include "account/ledger_counter.h"
#include "account/loss_log.h"
#include "account/sink.h"
#include "account/snapshot.h"
#include "account/steal_shares.h"
#include "account/task_run.h"
#include "account/task_watch.h"
#include "account/watch_account.h"
#include "pipeline/chains.h"
#include "pipeline/cpu_stream.h"
#include "pipeline/entry_gauge.h"
#include "pipeline/name_owners.h"
#include "pipeline/public_names.h"

namespace noised::pipeline {

struct TaskPipelineOptions {
  std::vector<unsigned> cpus;       ///< the tracer's, in its order
  Kind outside = Kind::hypervisor;  ///< what a gap without kernel activity is here: hypervisor or hardware
  /// By place: where a loop measures at times, what counts its detours, and counts the losses of tasks too; or null.
  /// Empty: no loop anywhere.
  std::vector<account::LedgerCounter*> counters;
  /// Measures what entries into the kernel cost, at the start. Not beside loops, which would see its threads come and
  /// go on whatever CPU: their memory is the same.
  bool gauges_entries = true;
};

/// What the parts of a pipeline share; all of it outlives them.
struct PipelineParts : StreamParts {
  SourceTable& sources;
  Chains& chains;
  account::DetourFeed& feed;
  PublicNames* public_names = nullptr;
  NameOwners* name_owners = nullptr;
};

class TaskPipeline : private account::WatchSink {
 public:
  /// Groups that can be watched apart, from 1 on; group 0 is of tasks that nobody chose.
  static constexpr std::size_t kGroups = 16;

  TaskPipeline(const PipelineParts& parts, const TaskPipelineOptions& options, std::uint64_t now_ns);

  /// One drain, in this order; `drained_ns`: when it began. read() is of CPUs without a loop; of the others,
  /// begin_read(), take() and end_read() are called by who drains their rings.
  void read();
  void begin_read(std::size_t place);
  void take(std::size_t place, const noised_record& record, const char* comm, const noised_run_record* run);
  void end_read(std::size_t place) { look_at_current(streams_[place]); }
  void take(const noised_origin& origin);
  void join(std::uint64_t drained_ns, const system::MissedRuns& missed_runs, bool origins_missing);

  /// The end of the last run of a task, but for kernel threads, on this CPU; or the begin of one that goes on.
  [[nodiscard]] std::uint64_t busy_until_ns(unsigned cpu) const;
  /// The task, no kernel thread, that has this CPU as far as the programs saw; 0: none.
  [[nodiscard]] std::uint32_t current_pid(unsigned cpu) const;
  /// So much was stolen from the CPU at this place since the last call, in steps of `step_ns`: the next join() shares
  /// it out among those who had the CPU.
  void share_steal(std::size_t place, std::uint64_t stolen_ns, std::uint64_t step_ns);
  [[nodiscard]] std::size_t size() const { return streams_.size(); }
  /// Fills the CPUs without a loop, and adds to the others, which are filled already; and adds what was lost.
  void fill(account::Snapshot& snapshot) const;
  /// The next slot of the last minute begins, where no loop's does.
  void turn_recent() {
    for (const auto& counter : own_counters_) counter->recent().turn();
  }
  /// Names leave, as LedgerCounter::let_go() has it, where no loop counts and in what is counted for groups.
  void let_go(const Departures& departures);
  /// On all of its CPUs.
  [[nodiscard]] account::DroppedOrigins dropped_origins() const;
  /// From the next drain on, intervals, losses and runs are told to this sink too (nullptr: to none).
  void record_to(account::PipelineSink* sink) {
    sink_ = sink;
    watch_.tell_in_order(sink != nullptr || has_few_cpus());
  }

  /// From now on, what tasks of this group lose is counted, or what `any` does.
  /// `each_loss`: they are also kept one by one, for take_losses().
  void begin_account(std::size_t group, bool any, bool each_loss, std::uint64_t now_ns);
  void end_account(std::size_t group) { accounts_[group].reset(); }
  [[nodiscard]] bool has_account(std::size_t group) const { return accounts_[group].has_value(); }
  /// Fills what was counted of a group that has an account.
  void report(std::size_t group, std::uint64_t now_ns, WatchReport& report) const;
  /// After a drain, of an account that keeps each loss: adds those since the last time, and says up to when they are
  /// all there.
  void take_losses(std::size_t group, account::LossBatch& batch);

 private:
  struct Stream : CpuStream {
    Stream(const StreamParts& parts, unsigned of, bool loop, account::LedgerCounter& counts,
           const TaskPipelineOptions& options, std::uint64_t now_ns);

    account::StealShares shares{kGroups};
    std::optional<std::uint64_t> stolen_ns;  // not shared out yet
    account::LossLedger ledger;
    std::vector<std::pair<std::size_t, account::TaskRun>> runs;  // of this drain, each at its place in intervals()
    bool has_loop;
    account::LedgerCounter* counter;
    std::optional<account::CurrentTask> current;  // as of this drain
    bool had_no_task = false;                     // when it began, nobody watched tasks there
    bool settled = false;                         // no frame was open when it began
    std::uint64_t ran_until_ns = 0;               // the end of the last run of any task
    std::uint64_t busy_until_ns = 0;              // likewise, of no kernel thread
    std::uint64_t runnable_ns = 0;                // runs and waits of all tasks
    std::uint64_t idle_since_ns = 0;              // no user task has had it since then; 0: one has, or it is not known
    std::uint64_t told_ns = 0;                    // every loss there that ended by then was told, but for the wait of
    std::optional<account::CurrentTask> told_current;  // the task that had it then, before that run
  };

  [[nodiscard]] const Stream& stream_of(unsigned cpu) const;
  void look_at_current(Stream& stream);
  void join(std::size_t place, std::uint64_t drained_ns, bool missed, bool origins_missing);
  void join_idle(std::size_t place, Interval& interval);
  void ask_gauge();
  [[nodiscard]] EntryCostView entry_cost() const;
  bool follow_current(std::size_t place, std::uint64_t drained_ns);
  void note_told(std::size_t place, std::uint64_t drained_ns, bool followed);
  void share_out(Stream& stream);
  [[nodiscard]] bool has_few_cpus() const;
  [[nodiscard]] bool may_be_unnoted(const account::Loss& loss) const;
  void lost(std::size_t cpu, const account::Loss& loss, std::span<const Interval> intervals) override;
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override;
  void gone(std::uint64_t life) override;
  void note_owner(SourceId source, std::uint32_t pid) const;
  void add_not_followed(ReportLost& lost) const;
  [[nodiscard]] ReportLost lost_so_far() const;
  void fill_cpu(const Stream& stream, const account::Snapshot& wanted, account::CpuSnapshot& cpu) const;

  PipelineParts parts_;
  TaskPipelineOptions options_;
  account::PipelineSink* sink_ = nullptr;
  std::vector<std::unique_ptr<account::LedgerCounter>> own_counters_;  // where no loop is
  std::deque<Stream> streams_;                                         // does not move them when it grows
  account::TaskWatch watch_;
  std::unique_ptr<EntryGauge> gauge_;  // until its costs are known
  unsigned gauged_ = 0;                // so often without enough to learn from
  EntryCostView entry_cost_{"unknown", 0, 0};
  struct Account {
    bool any;           // the losses of every task, not only those of the group
    ReportLost before;  // what had been lost when it began
    account::WatchAccount counts;
    std::optional<account::LossLog> losses;
    std::uint64_t steal_ns;  // its share

    [[nodiscard]] bool has(std::uint8_t group, std::size_t own) const { return any || group == own; }
  };
  std::array<std::optional<Account>, kGroups> accounts_;
  std::uint64_t steal_step_ns_ = 0;  // of what was shared out; 0: nothing was
  system::MissedRuns missed_runs_;
  std::uint64_t drained_ns_ = 0;
  std::uint64_t unnoted_since_ns_ = 1;  // the latest time in which a task may have been woken on an idle CPU unseen;
  std::uint64_t unnoted_until_ns_ = 0;  // before the first there is none
};

}  // namespace noised::pipeline
