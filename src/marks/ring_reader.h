// SPDX-License-Identifier: Apache-2.0
// The ring of marks of one thread, read while the thread writes. What is in it may be anything. Pure: the caller reads.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace noised::marks {

struct Mark {
  std::uint64_t time = 0;  ///< by the ring's clock
  unsigned phase = 0;      ///< number of its name
  bool end = false;
};

class RingReader {
 public:
  /// Copies so many bytes of the file from this offset on; false if they are not there.
  using ReadAt = std::function<bool(std::uint64_t offset, void* to, std::size_t size)>;

  /// False while the file's writer is not done with its header.
  static bool is_ready(const ReadAt& read_at);
  /// Reads the header; fails if the file is none of noised/mark.h.
  static Result<RingReader> open(ReadAt read_at);

  /// Takes the marks since the last time into `marks`, and how many before them were overwritten, exactly. False if the
  /// file has changed as no writer changes it: nothing more can be had from it.
  bool read(std::vector<Mark>& marks, std::uint64_t& lost);
  /// The name of a phase that was read; "other" if it has none.
  [[nodiscard]] const std::string& name(unsigned phase) const;

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  [[nodiscard]] std::uint32_t tid() const { return tid_; }
  /// Its times are CLOCK_MONOTONIC's, not ticks of the counter.
  [[nodiscard]] bool in_ns() const { return in_ns_; }
  /// The two clocks when it was created.
  [[nodiscard]] std::uint64_t start_time() const { return start_time_; }
  [[nodiscard]] std::uint64_t start_ns() const { return start_ns_; }

 private:
  explicit RingReader(ReadAt read_at) : read_at_(std::move(read_at)) {}
  bool read_slots(std::uint64_t from, std::uint64_t to);
  bool read_names();

  ReadAt read_at_;
  std::uint32_t pid_ = 0;
  std::uint32_t tid_ = 0;
  bool in_ns_ = false;
  std::uint64_t start_time_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t next_ = 0;  // mark to be read
  std::vector<std::string> names_;
  std::vector<unsigned char> slots_;
};

}  // namespace noised::marks
