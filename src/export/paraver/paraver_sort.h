// SPDX-License-Identifier: Apache-2.0
// Records that come in any order, until they can be written by time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "export/paraver/paraver_timeline.h"

namespace noised::exports {

// The records of one CPU on disk until those of all CPUs can be merged by time.

/// A state is written by when it began, and a CPU without noise has one state for hours: to sort in memory would take
/// as much of it as the other CPUs had noise in those hours. So each CPU has a file without a name, beside the export.
class ParaverSpill {
 public:
  /// Fails where there can be no such file beside `out`.
  static Result<ParaverSpill> create(const std::string& out);

  /// Appends a record; false after an error, which rewind() tells.
  bool add(const ParaverRecord& record);
  /// After the last record, before the first next(); the first error, if there was one.
  Status rewind();
  /// The records in their order; nothing at the end. An error where the file cannot be read.
  Result<std::optional<ParaverRecord>> next();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  ParaverSpill(Descriptor file, std::string name);
  void flush();

  Descriptor file_;
  std::string name_;
  std::vector<ParaverRecord> buffer_;
  std::size_t at_ = 0;  // in the buffer, of the next record to read
  std::uint64_t size_ = 0;
  int error_ = 0;
};

/// A wait is told after the run that follows it, which may have gone on for hours: so many records are sorted in
/// memory, and go to a file without a name beside the export; those files are merged.
class ParaverSort {
 public:
  static constexpr std::size_t kInMemory = std::size_t{1} << 18U;  ///< 10 MiB

  explicit ParaverSort(std::string out, std::size_t in_memory = kInMemory)
      : out_(std::move(out)), in_memory_(in_memory) {}

  /// False after an error, which sort() tells.
  bool add(const ParaverRecord& record);
  /// After the last record, before the first next(); the first error, if there was one.
  Status sort();
  /// Between two next(): a record that is not before the last one of them.
  void add_again(const ParaverRecord& record) { heads_.push({record, kAgain}); }
  /// The record that is next by time; of several at one time, that which came first.
  Result<std::optional<ParaverRecord>> next();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Of all records; UINT64_MAX and 0 where there is none.
  [[nodiscard]] std::uint64_t first_ns() const { return first_ns_; }
  [[nodiscard]] std::uint64_t last_ns() const { return last_ns_; }

 private:
  static constexpr std::size_t kAgain = SIZE_MAX;
  struct Head {
    ParaverRecord record;
    std::size_t run;
    bool operator<(const Head& other) const {  // the top of the queue is the greatest
      if (record.time_ns != other.record.time_ns) return record.time_ns > other.record.time_ns;
      return run > other.run;
    }
  };
  Status put_away();
  Status advance(std::size_t run);

  std::string out_;
  std::size_t in_memory_;
  std::vector<ParaverRecord> buffer_;
  std::vector<ParaverSpill> runs_;
  std::priority_queue<Head> heads_;
  Status status_ = success();
  std::uint64_t size_ = 0;
  std::uint64_t first_ns_ = UINT64_MAX;
  std::uint64_t last_ns_ = 0;
};

}  // namespace noised::exports
