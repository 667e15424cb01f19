// SPDX-License-Identifier: Apache-2.0
// The reading end of one CPU's ring of records, which its programs write without the kernel's help (bpf/pairing.bpf.h).
// Pure: no clock, no I/O.
#pragma once

#include <noised/abi.h>

#include <cstddef>
#include <cstdint>

#include "system/records.h"

namespace noised::kernel {

class MappedRing {
 public:
  static constexpr std::size_t kStride = NOISED_SEGMENT_BYTES + NOISED_SEGMENT_SLACK;
  /// A host may stop a CPU in the middle of a record for a time slice or a few; what comes back later than that may
  /// spoil one that takes its place.
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000;

  /// `segments`: so many, of kStride bytes each, all zero where nothing was read or is to be read; a power of two.
  /// Both outlive this.
  MappedRing(noised_cpu& state, std::byte* segments, std::uint32_t count)
      : state_(state), segments_(segments), count_(count) {}
  MappedRing(const MappedRing&) = delete;
  MappedRing& operator=(const MappedRing&) = delete;

  /// Hands at most `limit` records to the sink, oldest first, as far as they are complete; returns how many.
  std::size_t drain(std::size_t limit, const system::RecordSink& sink);
  /// True if the last drain() ended at a record that was begun and not finished: what comes after it waits, however
  /// old.
  [[nodiscard]] bool waits() const { return waits_; }
  /// Then, with the time: gives that record up when it has not been finished for kPatienceNs. It is handed over as a
  /// bad one, and what came after it is dropped, since nothing tells where the next begins.
  void give_up_late(std::uint64_t now_ns, const system::RecordSink& sink);
  /// Drains that ended so.
  [[nodiscard]] std::uint64_t unfinished() const { return unfinished_; }

 private:
  [[nodiscard]] std::byte* at(std::uint32_t position) const;
  void clear(std::uint32_t from, std::uint32_t to);
  void skip(std::uint32_t from, std::uint32_t to, const system::RecordSink& sink);

  noised_cpu& state_;
  std::byte* segments_;
  std::uint32_t count_;
  bool waits_ = false;
  std::uint64_t unfinished_ = 0;
  std::uint32_t late_at_ = 0;        // the record that was not finished, and
  std::uint64_t late_since_ns_ = 0;  // when it was first found so; 0: none was
};

}  // namespace noised::kernel
