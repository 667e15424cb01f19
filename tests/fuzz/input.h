// SPDX-License-Identifier: Apache-2.0
// A fuzzer's bytes as the values of a scene, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace noised::fuzz {

/// What the input says next; zeros once it is over.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  [[nodiscard]] bool over() const { return size_ == 0; }
  template <typename T>
  T take() {
    T value{};
    take(&value, sizeof(value));
    return value;
  }
  void take(void* to, std::size_t wanted) {
    const std::size_t size = std::min(wanted, size_);
    if (size != 0) std::memcpy(to, data_, size);
    data_ += size;
    size_ -= size;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace noised::fuzz
