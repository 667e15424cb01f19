// SPDX-License-Identifier: Apache-2.0
// Ring buffers through libbpf.
#include "trace/rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cassert>
#include <cerrno>

#include "trace/libbpf_error.h"

namespace noised {
namespace {

constexpr int kOriginAttempts = 1000;  // about 10 us

}  // namespace

Rings::Rings() = default;
Rings::~Rings() = default;

void Rings::Free::operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }

int Rings::on_record(void* context, void* data, std::size_t size) {
  auto& reader = *static_cast<Reader*>(context);
  hand_over(data, size, *reader.sink);
  // The record is consumed even when libbpf is told to stop after it.
  return --reader.left == 0 ? -ECANCELED : 0;
}

Status Rings::add(int outer_map, unsigned cpu, std::uint64_t bytes) {
  Descriptor map(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "noised_ring", 0, 0, static_cast<noised_u32>(bytes), nullptr));
  if (!map) {
    return failure(fmt::format("bpf(BPF_MAP_CREATE): ring of {} bytes for CPU {}: {}", bytes, cpu, libbpf_text(errno)),
                   "choose a smaller trace.buffer_size");
  }
  const int descriptor = map.get();
  if (bpf_map_update_elem(outer_map, &cpu, &descriptor, BPF_ANY) != 0) {
    return failure(fmt::format("bpf(BPF_MAP_UPDATE_ELEM): ring of CPU {}: {}", cpu, libbpf_text(errno)));
  }
  readers_.push_back(std::make_unique<Reader>());
  Reader* reader = readers_.back().get();
  if (!buffer_) {
    buffer_.reset(ring_buffer__new(descriptor, on_record, reader, nullptr));
    if (!buffer_) return failure(fmt::format("mapping the ring of CPU {}: {}", cpu, libbpf_text(errno)));
  } else if (const int code = ring_buffer__add(buffer_.get(), descriptor, on_record, reader); code != 0) {
    return failure(fmt::format("mapping the ring of CPU {}: {}", cpu, libbpf_text(code)));
  }
  maps_.push_back(std::move(map));
  return success();
}

Status Rings::create(int outer_map, const std::vector<unsigned>& cpus, std::uint64_t bytes) {
  for (const unsigned cpu : cpus) {
    if (Status added = add(outer_map, cpu, bytes); !added) return added;
  }
  return success();
}

std::size_t Rings::drain(std::size_t index, std::size_t limit, const RecordSink& sink) {
  assert(index < readers_.size() && limit > 0);
  Reader& reader = *readers_[index];
  reader = Reader{&sink, limit};
  ring__consume(ring_buffer__ring(buffer_.get(), static_cast<unsigned>(index)));
  reader.sink = nullptr;
  return limit - reader.left;
}

int Rings::on_origin(void* context, void* data, std::size_t size) {
  hand_over_origin(data, size, **static_cast<const OriginSink**>(context));
  return 0;
}

Status Rings::open_origins(int map) {
  origins_.reset(ring_buffer__new(map, on_origin, static_cast<void*>(&origin_sink_), nullptr));
  if (!origins_) return failure(fmt::format("mapping the ring of origins: {}", libbpf_text(errno)));
  return success();
}

bool Rings::drain_origins(const OriginSink& sink) {
  ring* const origins = ring_buffer__ring(origins_.get(), 0);
  const unsigned long end = ring__producer_pos(origins);
  origin_sink_ = &sink;
  // A record that was begun and not finished holds up all after it: for 100 ns, or as long as a host stops its CPU.
  bool complete = false;
  for (int attempt = 0; attempt < kOriginAttempts && !complete; ++attempt) {
    ring__consume(origins);
    complete = static_cast<long>(ring__consumer_pos(origins) - end) >= 0;
  }
  origin_sink_ = nullptr;
  return complete;
}

}  // namespace noised
