// SPDX-License-Identifier: Apache-2.0
// The records of one CPU on disk until those of all CPUs can be merged by time.
#pragma once

#include <noised/result.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "export/paraver_timeline.h"

namespace noised {

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

}  // namespace noised
