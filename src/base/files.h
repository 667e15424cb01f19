// SPDX-License-Identifier: Apache-2.0
// A file descriptor with one owner, closed when the owner goes.
#pragma once

#include <unistd.h>

#include <utility>

namespace noised {

/// Owns a file descriptor, or none (-1). Move-only.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of what open(2) and its like returned; negative means none.
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  explicit operator bool() const { return descriptor_ >= 0; }
  /// The descriptor, still owned; negative when there is none.
  [[nodiscard]] int get() const { return descriptor_; }
  /// The descriptor, which the caller now owns.
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }
  /// Closes the descriptor, if any, and owns another. Linux frees it even when close(2) says EINTR: no retry.
  void reset(int descriptor = -1) {
    if (descriptor_ >= 0) (void)::close(descriptor_);
    descriptor_ = descriptor;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace noised
