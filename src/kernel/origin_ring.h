// SPDX-License-Identifier: Apache-2.0
// The reading end of one CPU's ring of origins, which its programs write without the kernel's help
// (bpf/origins.bpf.c). Pure: no clock, no I/O.
#pragma once

#include <noised/abi.h>

#include <cstdint>

#include "system/records.h"

namespace noised::kernel {

class OriginRing {
 public:
  /// `slots`: 2^`bits` of them, all zero before the first was written. Both outlive this.
  OriginRing(noised_cpu& state, noised_origin* slots, std::uint32_t bits) : state_(state), slots_(slots), bits_(bits) {}
  OriginRing(const OriginRing&) = delete;
  OriginRing& operator=(const OriginRing&) = delete;

  /// Hands every origin to the sink that was begun before this call, oldest first. Returns false if one was not
  /// finished for some 5 us: it and what came after it are still to come.
  [[nodiscard]] bool drain(const system::OriginSink& sink);
  /// Of its room, the share that the last drain() found taken.
  [[nodiscard]] double fullness() const { return static_cast<double>(taken_) / static_cast<double>(1U << bits_); }

 private:
  noised_cpu& state_;
  noised_origin* slots_;
  std::uint32_t bits_;
  std::uint32_t taken_ = 0;
};

}  // namespace noised::kernel
