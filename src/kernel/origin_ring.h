// SPDX-License-Identifier: Apache-2.0
// The reading end of all CPUs' rings of origins, which their programs write without the kernel's help
// (bpf/origins.bpf.c). Pure: no clock, no I/O.
#pragma once

#include <noised/abi.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "system/records.h"

namespace noised::kernel {

/// One CPU's.
class OriginRing {
 public:
  /// `slots`: 2^`bits` of them, all zero before the first was written. Both outlive this.
  OriginRing(noised_cpu& state, noised_origin* slots, std::uint32_t bits)
      : state_(state), slots_(slots), bits_(bits), tail_(state.origin_tail) {}
  OriginRing(const OriginRing&) = delete;
  OriginRing& operator=(const OriginRing&) = delete;

  /// What was begun until now is to be read; next() is the first of it.
  void look();
  /// Goes on to the one after next().
  void take();
  /// The oldest that was not taken; null if there is none, or it was not finished for some 5 us.
  [[nodiscard]] noised_origin* next() const { return next_; }
  /// Gives back the room of what was taken. False if something was begun before look() that was not: it is to come.
  [[nodiscard]] bool give_back();
  /// Of its room, the share that the last look() found taken.
  [[nodiscard]] double fullness() const { return fullness_; }

 private:
  void find();

  noised_cpu& state_;
  noised_origin* slots_;
  std::uint32_t bits_;
  std::uint32_t tail_;
  std::uint32_t head_ = 0;
  noised_origin* next_ = nullptr;
  double fullness_ = 0;
};

class OriginRings {
 public:
  /// As OriginRing's.
  void add(noised_cpu& state, noised_origin* slots, std::uint32_t bits) { rings_.emplace_back(state, slots, bits); }
  /// Hands every origin to the sink that was begun before this call, in order of time, but neighbours of one CPU that
  /// an interrupt swapped. Returns false if a CPU did not finish one: it and what came after it there are to come.
  [[nodiscard]] bool drain(const system::OriginSink& sink);
  /// Of the fullest ring, the share that the last drain() found taken.
  [[nodiscard]] double fullness() const { return fullness_; }

 private:
  std::deque<OriginRing> rings_;
  std::vector<OriginRing*> heap_;
  double fullness_ = 0;
};

}  // namespace noised::kernel
