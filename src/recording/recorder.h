// SPDX-License-Identifier: Apache-2.0
// Keeps what flows through the pipeline in blocks, for one reader on another thread, who takes them away.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "account/sink.h"
#include "model/sources.h"
#include "recording/block.h"
#include "recording/description.h"
#include "recording/records.h"

namespace noised::recording {

/// What the description of one recording says of phases that run while it lasts.
struct PhaseRecording {
  std::uint64_t grain_ns = 0;
  std::uint64_t footprint_bytes = 0;
  std::string policy;
  std::uint64_t priority = 0;
  std::vector<std::string> remarks;  ///< for `unsupported`
};

/// What is told to who reads a recording; to root all of it.
struct Disclosure {
  bool faults = true;  ///< where in their programs tasks had page faults
  /// Whether a name of tasks is told, of which the task with this pid has it (0: not known), asked by the pipeline's
  /// thread; empty: all are. Others are "hidden-" and a number.
  std::function<bool(std::string_view name, std::uint32_t pid)> name;
  std::string reader = "noised itself";  ///< who that is, for others who want to record
};

/// The pipeline never waits for the reader. Where all blocks are full, what comes is counted but not kept, until there
/// is room again: then a new part begins.
class Recorder : public account::PipelineSink {
 public:
  /// 16 MiB, held once somebody has recorded; more where so many CPUs are watched that their counts need longer blocks.
  static constexpr std::size_t kBlocks = 16;
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;

  /// `machine` is completed with `start` of the daemon and the counts. What is referred to outlives the recorder.
  /// A block is given away when `full_enough` bytes are in it: half of it, so that a whole drain mostly fits in the
  /// rest.
  Recorder(const SourceTable& sources, StatusView settings, Description machine,
           std::size_t full_enough = kBlockBytes / 2);

  struct Block {
    BlockKind kind = BlockKind::events;
    std::string_view bytes;  ///< valid until pop()
  };
  /// Reader: recording begins after the next drain; false if somebody records already.
  bool open(Disclosure told = {});
  /// Reader: the same, but recording begins only with begin(): something is prepared for it first.
  bool hold(Disclosure told = {});
  /// Pipeline: what is held begins with the next after_drain(), with phases or without.
  void begin(std::optional<PhaseRecording> phases);
  /// Pipeline: true until its reader has closed it, or the daemon ends.
  [[nodiscard]] bool is_held_or_recording() const;
  /// Readers, of the same thread: who records, or did so last.
  [[nodiscard]] const std::string& reader() const { return told_.reader; }
  /// Reader: the oldest block that is full, or nothing now.
  [[nodiscard]] std::optional<Block> front() const;
  /// Reader: gives the block of front() back.
  void pop();
  /// Reader: true if nothing comes after what front() shows.
  [[nodiscard]] bool ended() const { return state_.load(std::memory_order_acquire) == State::ended; }
  /// Reader: enough. Recording ends with the next drain.
  void close();

  /// Any thread: true while a reader has not taken everything that is there for it.
  [[nodiscard]] bool waited_for() const { return has_reader_.load(std::memory_order_acquire) && front().has_value(); }

  /// Pipeline, after each drain, or before anything is measured: begins or ends recording if the reader wants it; gives
  /// the block away if it is full enough, or old enough.
  void after_drain(account::Recordable& pipeline);
  /// Pipeline, after the last drain: gives away what is left, with these last counts.
  void finish(const account::Snapshot& snapshot);

  void begins(std::size_t cpu, std::uint64_t first_ns) override;
  void interval(std::size_t cpu, const Interval& interval) override;
  void waits(std::size_t cpu, const Interval& interval) override;
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::uint64_t tolerance_ns,
              const account::FeedDetour& shown) override;
  void gap(std::size_t cpu, probe::GapKind kind, const Detour& gap) override;
  void stolen(std::size_t cpu, const account::StealWindow& window) override;
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override;
  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            const account::FeedDetour& shown) override;
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override;

 private:
  enum class State : std::uint8_t { idle, held, asked, recording, closing, ended };
  struct Slot {
    BlockKind kind = BlockKind::events;
    std::size_t size = 0;
    std::unique_ptr<char[]> bytes;
  };

  /// What of a CPU was not kept since the part broke: its newest intervals.
  struct CpuLoss {
    std::uint64_t intervals = 0;
    std::uint64_t first_end_ns = 0;
  };

  bool take(State state, Disclosure told);
  void start(account::Recordable& pipeline);
  void give_away_old(account::Recordable& pipeline);
  bool wait_for_block();
  bool describe(account::Recordable& pipeline);
  void begin_part(account::Recordable& pipeline);
  bool have_room(std::size_t bytes = 0);
  bool begin_block();
  bool make_blocks(std::size_t description);
  void lose(std::size_t cpu, const Interval& interval);
  bool take_back(std::size_t cpu, const Interval& interval);
  void seal(BlockKind kind, std::size_t size);
  bool name(SourceId source, std::uint64_t id);
  std::span<const EntryDetails> details_of(const account::FeedDetour& shown);
  bool write_entries(std::size_t cpu, std::span<const account::LedgerEntry> entries);
  void write_checkpoint(const account::Snapshot& snapshot);
  [[nodiscard]] Counts counts(const account::Snapshot& snapshot) const;

  const SourceTable& sources_;
  StatusView settings_;
  Description description_;
  std::optional<PhaseRecording> phases_;  // of the recording that is going on
  std::size_t full_enough_;
  std::atomic<State> state_{State::idle};
  std::atomic<bool> has_reader_{false};
  Disclosure told_;  // the reader's, until the state is asked
  std::array<Slot, kBlocks> slots_;
  alignas(64) std::atomic<std::uint64_t> sealed_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};

  // The pipeline's.
  SourceNumbers numbers_;
  std::map<std::string, std::uint64_t> hidden_;  // names of this recording that are not told, by number
  std::array<EntryDetails, account::FeedDetour::kEntries> details_;  // of the detour that is written, as the next
  std::array<char, account::FeedDetour::kText> details_text_;        // where names are not told
  RecordWriter writer_;
  bool writing_ = false;      // the slot after the sealed ones is being written
  bool part_broken_ = false;  // there was no room: nothing is kept until a new part begins
  bool counting_ = false;     // waits() only counts what it takes back
  std::size_t block_bytes_ = kBlockBytes;
  std::size_t cpus_ = 0;
  std::uint64_t lost_intervals_ = 0;
  std::uint64_t lost_detours_ = 0;
  std::vector<CpuLoss> losses_;      // by CPU, as the next
  std::vector<CpuLoss> taken_back_;  // of the part that broke: those that wait are told again
  std::uint64_t sealed_ns_ = 0;      // when a block was last given away
  account::Snapshot snapshot_;       // of counts, for checkpoints
};

}  // namespace noised::recording
