// SPDX-License-Identifier: Apache-2.0
// Memory of an array map, or ring buffers through libbpf.
#include "kernel/rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cassert>
#include <cerrno>

#include "base/clocks.h"
#include "kernel/features.h"

namespace noised::kernel {
namespace {

constexpr int kOriginAttempts = 1000;  // about 10 us

}  // namespace

Rings::Rings() = default;
Rings::~Rings() = default;

void Rings::Free::operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }
void Rings::Unmap::operator()(void* memory) const { (void)munmap(memory, bytes); }

Status Rings::map(int segments, const std::vector<RingOf>& cpus, std::uint32_t segments_per_ring) {
  const std::size_t bytes = cpus.size() * segments_per_ring * MappedRing::kStride;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segments, 0);
  if (memory == MAP_FAILED) {
    return failure(fmt::format("mmap: {} bytes, the rings of {} CPUs: {}", bytes, cpus.size(), libbpf_text(errno)),
                   "choose a smaller trace.buffer_size");
  }
  memory_ = std::unique_ptr<void, Unmap>(memory, Unmap{bytes});
  auto* first = static_cast<std::byte*>(memory);
  for (std::size_t place = 0; place < cpus.size(); ++place) {
    cpus[place].state->ring = static_cast<noised_u16>(place);
    mapped_.emplace_back(*cpus[place].state, first + place * segments_per_ring * MappedRing::kStride,
                         segments_per_ring);
  }
  return success();
}

int Rings::on_record(void* context, void* data, std::size_t size) {
  auto& reader = *static_cast<Reader*>(context);
  system::hand_over(data, size, *reader.sink);
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

Status Rings::create(int outer_map, const std::vector<RingOf>& cpus, std::uint64_t bytes) {
  for (const RingOf& each : cpus) {
    if (Status added = add(outer_map, each.cpu, bytes); !added) return added;
  }
  return success();
}

std::size_t Rings::drain(std::size_t index, std::size_t limit, const system::RecordSink& sink) {
  if (!mapped_.empty()) {
    MappedRing& ring = mapped_[index];
    const std::size_t drained = ring.drain(limit, sink);
    if (ring.waits()) ring.give_up_late(monotonic_ns(), sink);
    return drained;
  }
  assert(index < readers_.size() && limit > 0);
  Reader& reader = *readers_[index];
  reader = Reader{&sink, limit};
  ring__consume(ring_buffer__ring(buffer_.get(), static_cast<unsigned>(index)));
  reader.sink = nullptr;
  return limit - reader.left;
}

int Rings::on_origin(void* context, void* data, std::size_t size) {
  system::hand_over_origin(data, size, **static_cast<const system::OriginSink**>(context));
  return 0;
}

Status Rings::map_origins(int slots, std::span<noised_cpu> states, std::uint32_t bits) {
  const std::size_t bytes = (states.size() << bits) * sizeof(noised_origin);
  void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, slots, 0);
  if (memory == MAP_FAILED)
    return failure(fmt::format("mmap: {} bytes, the rings of origins: {}", bytes, libbpf_text(errno)));
  origin_memory_ = std::unique_ptr<void, Unmap>(memory, Unmap{bytes});
  auto* slot = static_cast<noised_origin*>(memory);
  for (noised_cpu& state : states) {
    origin_rings_.add(state, slot, bits);
    slot += std::size_t{1} << bits;
  }
  return success();
}

Status Rings::open_origins(int map, std::uint64_t bytes) {
  origin_room_ = bytes;
  origins_.reset(ring_buffer__new(map, on_origin, static_cast<void*>(&origin_sink_), nullptr));
  if (!origins_) return failure(fmt::format("mapping the ring of origins: {}", libbpf_text(errno)));
  return success();
}

bool Rings::drain_origins(const system::OriginSink& sink) {
  if (origins_) return drain_shared_origins(sink);
  const bool complete = origin_rings_.drain(sink);
  origin_fullness_ = origin_rings_.fullness();
  return complete;
}

bool Rings::drain_shared_origins(const system::OriginSink& sink) {
  ring* const origins = ring_buffer__ring(origins_.get(), 0);
  const unsigned long end = ring__producer_pos(origins);
  const unsigned long begin = ring__consumer_pos(origins);
  origin_sink_ = &sink;
  // A record that was begun and not finished holds up all after it: for 100 ns, or as long as a host stops its CPU.
  bool complete = false;
  for (int attempt = 0; attempt < kOriginAttempts && !complete; ++attempt) {
    ring__consume(origins);
    complete = static_cast<long>(ring__consumer_pos(origins) - end) >= 0;
  }
  origin_sink_ = nullptr;
  origin_fullness_ = static_cast<double>(ring__consumer_pos(origins) - begin) / static_cast<double>(origin_room_);
  return complete;
}

}  // namespace noised::kernel
