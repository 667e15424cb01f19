// SPDX-License-Identifier: Apache-2.0
// The rings, one per watched CPU, and their reading end: memory that the programs write themselves, or, where the
// kernel cannot do that, its ring buffers.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/files.h"
#include "kernel/mapped_ring.h"
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
  /// Opens the ring that every causing CPU writes to.
  Status open_origins(int map);
  /// Hands every origin to the sink that was submitted before this call. Returns false if a CPU that began a record
  /// earlier did not finish it for a while: then some are still to come.
  [[nodiscard]] bool drain_origins(const system::OriginSink& sink);
  /// Bytes that the last drain_origins() took.
  [[nodiscard]] std::size_t origin_bytes() const { return origin_bytes_; }

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

  std::unique_ptr<void, Unmap> memory_;
  std::deque<MappedRing> mapped_;  // or:
  std::vector<Descriptor> maps_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::unique_ptr<ring_buffer, Free> buffer_;
  const system::OriginSink* origin_sink_ = nullptr;
  std::unique_ptr<ring_buffer, Free> origins_;
  std::size_t origin_bytes_ = 0;
};

}  // namespace noised::kernel
