// SPDX-License-Identifier: Apache-2.0
// Tasks that come to where a loop measures, as they come: the kernel wakes the reader.
#pragma once

#include <noised/abi.h>
#include "base/result.h"

#include <functional>
#include <memory>

struct ring_buffer;

namespace noised::kernel {

/// Called for each arrival.
using ArrivalSink = std::function<void(const noised_arrival& arrival)>;

class Arrivals {
 public:
  Arrivals();
  ~Arrivals();
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// Opens the ring of arrivals.
  Status open(int map);
  /// Becomes readable when a task has come; -1 unless it is open.
  [[nodiscard]] int descriptor() const;
  /// Hands all of them to the sink, on one thread at a time.
  void drain(const ArrivalSink& sink);

 private:
  struct Free {
    void operator()(ring_buffer* buffer) const;
  };
  static int on_arrival(void* context, void* data, std::size_t size);

  std::unique_ptr<ring_buffer, Free> ring_;
  const ArrivalSink* sink_ = nullptr;
};

}  // namespace noised::kernel
