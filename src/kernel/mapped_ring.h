// SPDX-License-Identifier: Apache-2.0
// The reading end of one CPU's ring of records, which its programs write without the kernel's help (bpf/pairing.bpf.h).
// Pure: no clock, no I/O.
#pragma once

#include <noised/abi.h>

#include <cstddef>
#include <cstdint>

#include "trace/records.h"

namespace noised {

class MappedRing {
 public:
  static constexpr std::size_t kStride = NOISED_SEGMENT_BYTES + NOISED_SEGMENT_SLACK;

  /// `segments`: so many, of kStride bytes each, all zero where nothing was read or is to be read; a power of two.
  /// Both outlive this.
  MappedRing(noised_cpu& state, std::byte* segments, std::uint32_t count)
      : state_(state), segments_(segments), count_(count) {}
  MappedRing(const MappedRing&) = delete;
  MappedRing& operator=(const MappedRing&) = delete;

  /// Hands at most `limit` records to the sink, oldest first, as far as they are complete; returns how many.
  std::size_t drain(std::size_t limit, const RecordSink& sink);

 private:
  [[nodiscard]] std::byte* at(std::uint32_t position) const;
  void clear(std::uint32_t from, std::uint32_t to);

  noised_cpu& state_;
  std::byte* segments_;
  std::uint32_t count_;
};

}  // namespace noised
