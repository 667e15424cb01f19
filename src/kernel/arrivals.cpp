// SPDX-License-Identifier: Apache-2.0
// Through libbpf.
#include "kernel/arrivals.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>

#include "kernel/features.h"

namespace noised::kernel {

Arrivals::Arrivals() = default;
Arrivals::~Arrivals() = default;

void Arrivals::Free::operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }

int Arrivals::on_arrival(void* context, void* data, std::size_t size) {
  const auto& sink = **static_cast<const ArrivalSink**>(context);
  if (size == sizeof(noised_arrival)) sink(*static_cast<const noised_arrival*>(data));
  return 0;
}

Status Arrivals::open(int map) {
  ring_.reset(ring_buffer__new(map, on_arrival, static_cast<void*>(&sink_), nullptr));
  if (!ring_) return failure(fmt::format("mapping the ring of arrivals: {}", libbpf_text(errno)));
  return success();
}

int Arrivals::descriptor() const { return ring_ ? ring_buffer__epoll_fd(ring_.get()) : -1; }

void Arrivals::drain(const ArrivalSink& sink) {
  sink_ = &sink;
  ring_buffer__consume(ring_.get());
  sink_ = nullptr;
}

}  // namespace noised::kernel
