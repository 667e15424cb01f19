// SPDX-License-Identifier: Apache-2.0
// The records in a block of events. Each block can be read by itself but for the names of sources, which come once.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "account/attributor.h"
#include "account/steal_marks.h"
#include "account/task_run.h"
#include "model/ledger.h"
#include "model/sources.h"
#include "model/types.h"
#include "recording/bytes.h"

namespace noised::recording {

/// What a record is. The numbers are in files: new ones go to the end.
enum class RecordTag : std::uint8_t {
  source = 1,  ///< the next source: sources are numbered from 0 in the order of these
  cpu,         ///< what follows is of this CPU, by its place in the description
  interval,
  detour,
  moved,       ///< a gap in which the loop was not on its CPU, or stopped
  rested,      ///< a gap in which it rested, as it was told to
  begins,      ///< the loop observes from this time on
  waits,       ///< an interval that ended before the recording (or its part) began, of a detour that is still going on
  checkpoint,  ///< everything that was counted until here (checkpoint.h)
  part,        ///< recording was interrupted: a new part begins; so much was not recorded
  sample,      ///< the loop's iterations since the sample before it; 0: the first of a series
  entries,     ///< where tasks are watched: the next entries of the ledger of the loss that follows
  loss,        ///< time that a watched task lost: a detour with its victim
  run,         ///< a watched task left the CPU
  current,     ///< this task has the CPU; told before a checkpoint, as of then
  stolen,      ///< in this time the host took some of it from the loop
};

/// A detour, with its parts as the daemon divided them. explained_ns is not recorded, and 0 when read: the intervals of
/// the detour say it.
struct RecordedDetour {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t tolerance_ns = 0;  ///< by which its intervals may stick out
  Ledger parts = {};
  bool in_doubt = false;
};

/// The details of one entry of a detour's ledger: for each a DetailKey, a length, and so many bytes.
struct EntryDetails {
  std::size_t entry = 0;  ///< below 128
  bool cut = false;       ///< some had no room
  std::string_view text;
};

/// One record, whichever it is; only the fields of its tag mean something.
struct Record {
  RecordTag tag = RecordTag::source;
  std::size_t cpu = 0;           ///< of all but source, checkpoint, part
  Interval interval;             ///< without its kind, which is its source's, and its cause, which the details tell
  RecordedDetour detour;         ///< detour, loss
  account::Loss loss;            ///< but for its times and group, which are the detour's, and not told
  account::TaskRun run;          ///< but for its group and counts; current: pid, and its times until now
  account::RunFacts facts;       ///< run
  std::uint64_t start_ns = 0;    ///< moved, rested, stolen; begins
  std::uint64_t end_ns = 0;      ///< moved, rested, stolen; sample
  std::uint64_t stolen_ns = 0;   ///< stolen
  std::uint64_t iterations = 0;  ///< sample
  Kind kind = Kind::none;        ///< source, as the next
  Category category = Category::unexplained;
  std::string_view text;             ///< source: its name; detour, loss: the details; checkpoint, entries: all of it
  std::uint64_t lost_intervals = 0;  ///< part, as the next
  std::uint64_t lost_detours = 0;
};

/// The numbers of sources in one recording, in the order in which they are written. No name leaves the table meanwhile
/// (sources.h); one that had left before is `other`.
class SourceNumbers {
 public:
  /// `sources` outlives this.
  explicit SourceNumbers(const SourceTable& sources) : sources_(sources) {}

  [[nodiscard]] bool has(SourceId source) const { return numbers_[place_of(source)] != kNone; }
  /// The next one.
  void add(SourceId source) { numbers_[place_of(source)] = next_++; }
  /// The number of a source that it has.
  [[nodiscard]] std::uint32_t of(SourceId source) const {
    assert(has(source));
    return numbers_[place_of(source)];
  }
  void clear() {
    std::ranges::fill(numbers_, kNone);
    next_ = 0;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  [[nodiscard]] std::size_t place_of(SourceId source) const { return SourceTable::slot_of(sources_.live(source)); }

  const SourceTable& sources_;
  std::vector<std::uint32_t> numbers_ = std::vector<std::uint32_t>(SourceTable::kCapacity, kNone);  // by slot
  std::uint32_t next_ = 0;
};

/// Writes records into a block.
class RecordWriter {
 public:
  /// Sources are told by their numbers, which outlive this; without, by their ids.
  explicit RecordWriter(const SourceNumbers* numbers = nullptr) : numbers_(numbers) {}

  /// What must be left() for any of the calls, but for its text.
  static constexpr std::size_t kLongestRecord = 128;
  static constexpr std::size_t kMostEntries = 32;
  /// What entries() has for a text, at most.
  static constexpr std::size_t kLongestEntries = kMostEntries * 37;

  /// Begins a block.
  void begin(std::span<char> room, std::size_t cpus);

  void source(Kind kind, Category category, std::string_view name);
  void interval(std::size_t cpu, const Interval& interval, bool waits = false);
  void detour(std::size_t cpu, const RecordedDetour& detour, std::span<const EntryDetails> details);
  void gap(std::size_t cpu, RecordTag tag, std::uint64_t start_ns, std::uint64_t end_ns);
  void begins(std::size_t cpu, std::uint64_t first_ns);
  void stolen(std::size_t cpu, const account::StealWindow& window);
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations);
  /// At most kMostEntries of a ledger; of longer ones, piece by piece.
  void entries(std::size_t cpu, std::span<const account::LedgerEntry> entries);
  /// After all of its entries.
  void loss(std::size_t cpu, const RecordedDetour& detour, const account::Loss& loss,
            std::span<const EntryDetails> details);
  void run(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts);
  void current(std::size_t cpu, const account::CurrentTask& task, std::uint64_t until_ns);
  void checkpoint(std::string_view bytes);
  void part(std::uint64_t lost_intervals, std::uint64_t lost_detours);

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::size_t left() const { return bytes_.left(); }

 private:
  void tag(RecordTag tag) { bytes_.byte(static_cast<std::uint8_t>(tag)); }
  void tag(RecordTag tag, std::size_t cpu);
  void time(std::uint64_t ns);
  void divided(const RecordedDetour& detour, std::span<const EntryDetails> details);
  [[nodiscard]] std::uint32_t number_of(SourceId source) const {
    return numbers_ == nullptr ? source : numbers_->of(source);
  }

  const SourceNumbers* numbers_;
  ByteWriter bytes_;
  std::size_t cpu_ = 0;
  std::vector<std::uint64_t> last_ns_;  // by CPU: what the next time is told from
};

/// Reads them.
class RecordReader {
 public:
  /// `cpus`: how many the description has.
  RecordReader(std::string_view block, std::size_t cpus) : bytes_(block), last_ns_(cpus, 0) {}

  /// The next record; false at the end of the block, or where it makes no sense: good() tells. Texts are valid as long
  /// as the block is. Times may be anything: they are checked by who uses them.
  bool next(Record& record);
  [[nodiscard]] bool good() const { return good_ && bytes_.good(); }

 private:
  bool read_tag(RecordTag& tag);
  bool select_cpu();
  void read_interval(Record& record);
  void read_detour(Record& record);
  void read_source(Record& record);
  void read_loss(Record& record);
  void read_run(Record& record);
  void read_current(Record& record);
  std::uint64_t time();

  ByteReader bytes_;
  std::size_t cpu_ = 0;
  std::vector<std::uint64_t> last_ns_;
  bool good_ = true;
};

/// Whether the last record of a block is a checkpoint: a recording that ends with this block tells of all of it.
bool ends_with_checkpoint(std::string_view block, std::size_t cpus);

/// Takes one entry of a ledger after the other from the text of such a record; false at its end, or where it makes no
/// sense. `start_ns`: of the entry before, at first the record's start. The source is by number, and kind is not told.
bool next_entry(ByteReader& from, std::uint64_t& start_ns, account::LedgerEntry& entry);

/// Takes the details of one entry after the other from a detour's text; false at its end, or where it makes no sense.
bool next_details(ByteReader& from, EntryDetails& details);
/// Writes what that reads.
void write_details(const EntryDetails& details, ByteWriter& to);

}  // namespace noised::recording
