// SPDX-License-Identifier: Apache-2.0
// A recording takes the place of the kernel and the loop: everything to the right of them runs from it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "account/loop_cpu.h"
#include "account/report_builder.h"
#include "account/snapshot.h"
#include "base/result.h"
#include "model/types.h"
#include "model/views.h"
#include "recording/block.h"
#include "recording/description.h"
#include "recording/records.h"

namespace noised::recording {

/// Is told what is played, in the order in which it was recorded. CPUs are told by their place in the description.
class PlayerVisitor {
 public:
  PlayerVisitor() = default;
  PlayerVisitor(const PlayerVisitor&) = delete;
  PlayerVisitor& operator=(const PlayerVisitor&) = delete;
  virtual ~PlayerVisitor() = default;

  virtual void interval(std::size_t /*cpu*/, const Interval& /*interval*/) {}
  /// `details` are what the record has (next_details()); both are valid during the call.
  virtual void detour(std::size_t /*cpu*/, const account::DetourLedger& /*ledger*/, std::string_view /*details*/) {}
  /// The CPU was not observed in this time: the loop was not there, or rested.
  virtual void gap(std::size_t /*cpu*/, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) {}
  /// The CPU is observed from this time on, which may be before the recording (Playback::recorded_from()); again where
  /// a new part of the recording begins: what is between the two is missing.
  virtual void begins(std::size_t /*cpu*/, std::uint64_t /*first_ns*/) {}
  /// Until this time, from the end of the sample before it, the loop did so many iterations; 0: the first of a series.
  virtual void sample(std::size_t /*cpu*/, std::uint64_t /*end_ns*/, std::uint64_t /*iterations*/) {}
  /// A watched task lost time; in the order of PipelineSink::loss(). `details` as of a detour.
  virtual void loss(std::size_t /*cpu*/, const account::Loss& /*loss*/, const account::DetourLedger& /*ledger*/,
                    std::string_view /*details*/) {}
  /// A watched task left the CPU: without the counts that the kernel had of it.
  virtual void ran(std::size_t /*cpu*/, const account::TaskRun& /*run*/, const account::RunFacts& /*facts*/) {}
};

/// A task that has a CPU; its name is not told.
struct RunningTask {
  std::size_t cpu = 0;
  account::CurrentTask task;
  std::uint64_t until_ns = 0;  ///< known until then
};

/// The records of a recording, without the file: one block after the other. Memory is that of the statistics.
class Playback {
 public:
  /// From the text of the description's block.
  static Result<std::unique_ptr<Playback>> begin(std::string_view description);

  /// From now on, tasks are called "task-1", "task-2" and so on, but for names that are nobody's (names_out.h), and
  /// details tell neither names of tasks nor services. Before anything is played.
  void leave_names_out() { names_out_ = true; }
  /// Plays one block of events. What is wrong with it, if anything: then nothing after it can be played.
  std::optional<std::string> play(std::string_view block, PlayerVisitor* visitor);
  /// Everything that was counted by what was played.
  void fill(account::Snapshot& snapshot) const;

  [[nodiscard]] const Description& description() const { return description_; }
  [[nodiscard]] const SourceTable& sources() const { return sources_; }
  /// The state of the daemon as of the last checkpoint, since the recording began.
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// Detours were played since that checkpoint: they are newer than observed times and losses.
  [[nodiscard]] bool behind() const { return behind_; }
  /// Tasks were watched, and no loop measured.
  [[nodiscard]] bool watches_tasks() const { return description_.base.status.mode == "watch"; }
  /// The tasks that have a CPU after what was played.
  [[nodiscard]] std::vector<RunningTask> running() const;
  /// When what a CPU did is in the recording from, of one whose observation began at `first_ns`: a daemon that ran
  /// before says when that was, at the beginning and again in each new part.
  [[nodiscard]] std::uint64_t recorded_from(std::size_t place, std::uint64_t first_ns) const;
  /// Number of the CPU at this place of the description.
  [[nodiscard]] unsigned cpu_number(std::size_t place) const { return description_.base.cpus[place].cpu; }

 private:
  explicit Playback(Description description);
  // What is wrong with the record, or null; not a string, of which each record would make one.
  const char* play(const Record& record, PlayerVisitor* visitor);
  const char* play_source(const Record& record);
  const char* play_interval(const Record& record, PlayerVisitor* visitor);
  const char* play_detour(const Record& record, PlayerVisitor* visitor);
  const char* play_checkpoint(std::string_view text);
  const char* play_entries(const Record& record);
  const char* play_loss(const Record& record, PlayerVisitor* visitor);
  const char* play_run(const Record& record, PlayerVisitor* visitor);
  const char* play_current(const Record& record);
  std::uint64_t life_of(std::uint32_t pid, std::uint64_t recorded);
  void note_current();
  account::LoopCpu& cpu(std::size_t place);

  Description description_;
  Counts counts_;
  SourceTable sources_;
  std::vector<SourceId> ids_;                            // by number in the recording
  std::vector<std::unique_ptr<account::LoopCpu>> cpus_;  // made when first played
  account::DetourLedger ledger_;                         // of the loss whose entries are played
  std::size_t entries_cpu_ = 0;                          // where it is
  struct Current {
    RunningTask running;
    bool told = false;  // since the last checkpoint
  };
  std::vector<std::optional<Current>> current_;             // by CPU
  std::unordered_map<std::uint32_t, std::uint64_t> lives_;  // by pid, the one that ran last
  std::string checkpoint_problem_;
  bool behind_ = false;
  [[nodiscard]] std::string_view told(std::string_view details);
  bool names_out_ = false;
  std::map<std::string, std::uint64_t> unnamed_;  // tasks that have numbers for names
  std::string told_;                              // of one detour
  std::uint64_t lost_intervals_ = 0;              // by the recorder, as the next
  std::uint64_t lost_detours_ = 0;
};

/// A recording in a file.
class Player {
 public:
  /// Fails where the file is no recording, or ends before it says of what.
  static Result<Player> open(const std::string& path);

  /// As Playback::leave_names_out().
  void leave_names_out() { playback_->leave_names_out(); }
  /// Plays the next block; false at the end.
  bool step(PlayerVisitor* visitor = nullptr);
  /// Where and why the recording ended too early; empty if it did not. Known at the end.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// Share of the file that was played.
  [[nodiscard]] double progress() const;

  [[nodiscard]] const Playback& playback() const { return *playback_; }
  /// The report, histograms and state of what was played; damage is told in `unsupported`.
  [[nodiscard]] Report report() const;
  /// What account::build_recent() makes of it all.
  [[nodiscard]] Report recent() const;
  [[nodiscard]] HistogramView histograms() const;
  [[nodiscard]] StatusView status() const;

 private:
  Player(BlockReader reader, std::unique_ptr<Playback> playback);
  [[nodiscard]] account::RunDescription run() const;

  BlockReader reader_;
  std::unique_ptr<Playback> playback_;
  std::string damage_;
};

/// The detour with its names, as the daemon showed it.
DetourView to_view(const Playback& playback, std::size_t cpu, const account::DetourLedger& ledger,
                   std::string_view details);
/// The same of a loss, with its victim.
DetourView to_view(const Playback& playback, std::size_t cpu, const account::Loss& loss,
                   const account::DetourLedger& ledger, std::string_view details);

}  // namespace noised::recording
