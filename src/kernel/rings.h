// SPDX-License-Identifier: Apache-2.0
// The rings, one per watched CPU, and their reading end: memory that the programs write themselves, or, where the
// kernel cannot do that, its ring buffers.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/files.h"
#include "kernel/mapped_ring.h"
#include "kernel/origin_ring.h"
#include "system/records.h"

struct ring_buffer;

namespace noised::kernel {

/// Where a CPU's records go.
struct RingOf {
  unsigned cpu;
  noised_cpu* state;  ///< outlives the rings
};

class Rings {
 public:
  Rings();
  ~Rings();
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  /// Maps the segments of all rings, so many for each CPU, and tells each CPU which are its own.
  Status map(int segments, const std::vector<RingOf>& cpus, std::uint32_t segments_per_ring);
  /// Makes a ring buffer of the kernel's, of `bytes`, for each CPU and puts it into the outer map.
  Status create(int outer_map, const std::vector<RingOf>& cpus, std::uint64_t bytes);
  /// Hands at most `limit` records of one ring to the sink, oldest first, without a system call.
  std::size_t drain(std::size_t index, std::size_t limit, const system::RecordSink& sink);
  /// How often a drain of this one ended at a record that was begun and not finished.
  [[nodiscard]] std::uint64_t unfinished(std::size_t index) const {
    return mapped_.empty() ? 0 : mapped_[index].unfinished();
  }
  /// Maps the slots of all CPUs' rings of origins, 2^`bits` for each.
  Status map_origins(int slots, std::span<noised_cpu> states, std::uint32_t bits);
  /// Opens the kernel's ring buffer, of `bytes`, that every causing CPU writes to where they cannot have their own.
  Status open_origins(int map, std::uint64_t bytes);
  /// Hands every origin to the sink that was begun before this call, in order of time but for neighbours. Returns false
  /// if a CPU that began one earlier did not finish it for a while: then some are still to come.
  [[nodiscard]] bool drain_origins(const system::OriginSink& sink);
  /// Of the fullest ring of origins, the share that the last drain_origins() found taken.
  [[nodiscard]] double origin_fullness() const { return origin_fullness_; }

 private:
  struct Reader {
    const system::RecordSink* sink = nullptr;
    std::size_t left = 0;
  };
  struct Free {
    void operator()(ring_buffer* buffer) const;
  };
  struct Unmap {
    std::size_t bytes;
    void operator()(void* memory) const;
  };
  static int on_record(void* context, void* data, std::size_t size);
  static int on_origin(void* context, void* data, std::size_t size);
  Status add(int outer_map, unsigned cpu, std::uint64_t bytes);
  [[nodiscard]] bool drain_shared_origins(const system::OriginSink& sink);

  std::unique_ptr<void, Unmap> memory_;
  std::deque<MappedRing> mapped_;  // or:
  std::vector<Descriptor> maps_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::unique_ptr<ring_buffer, Free> buffer_;
  std::unique_ptr<void, Unmap> origin_memory_;
  OriginRings origin_rings_;  // or:
  const system::OriginSink* origin_sink_ = nullptr;
  std::unique_ptr<ring_buffer, Free> origins_;
  std::uint64_t origin_room_ = 0;  // of that one, in bytes
  double origin_fullness_ = 0;
};

}  // namespace noised::kernel
