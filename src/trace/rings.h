// SPDX-License-Identifier: Apache-2.0
// The ring buffers, one per watched CPU, and their reading end.
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "trace/records.h"

struct ring_buffer;

namespace noised {

class Rings {
 public:
  Rings();
  ~Rings();
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  /// Makes a ring of `bytes` for each CPU and puts it into the outer map.
  Status create(int outer_map, const std::vector<unsigned>& cpus, std::uint64_t bytes);
  /// Hands at most `limit` records of one ring to the sink, oldest first, without a system call.
  std::size_t drain(std::size_t index, std::size_t limit, const RecordSink& sink);
  /// Opens the ring that every causing CPU writes to.
  Status open_origins(int map);
  /// Hands every origin to the sink that was submitted before this call. Returns false if a CPU that began a record
  /// earlier did not finish it for a while: then some are still to come.
  [[nodiscard]] bool drain_origins(const OriginSink& sink);

 private:
  struct Reader {
    const RecordSink* sink = nullptr;
    std::size_t left = 0;
  };
  struct Free {
    void operator()(ring_buffer* buffer) const;
  };
  static int on_record(void* context, void* data, std::size_t size);
  static int on_origin(void* context, void* data, std::size_t size);
  Status add(int outer_map, unsigned cpu, std::uint64_t bytes);

  std::vector<Descriptor> maps_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::unique_ptr<ring_buffer, Free> buffer_;
  const OriginSink* origin_sink_ = nullptr;
  std::unique_ptr<ring_buffer, Free> origins_;
};

}  // namespace noised
