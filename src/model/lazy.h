// SPDX-License-Identifier: Apache-2.0
// A value on the heap that does not exist until it is first used; copying it into an existing one reuses the memory.
#pragma once

#include <memory>

namespace noised {

/// Like std::unique_ptr, but copying copies the value. Assignment allocates only where the target has no value yet, so
/// that repeated snapshots into the same object settle into allocating nothing.
template <typename T>
class Lazy {
 public:
  Lazy() = default;
  Lazy(const Lazy& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Lazy(Lazy&&) noexcept = default;
  Lazy& operator=(Lazy&&) noexcept = default;
  ~Lazy() = default;

  Lazy& operator=(const Lazy& other) {
    if (this == &other) return *this;
    if (!other.value_) {
      value_.reset();
    } else if (value_) {
      *value_ = *other.value_;
    } else {
      value_ = std::make_unique<T>(*other.value_);
    }
    return *this;
  }

  /// The value, made by default construction if there is none yet.
  T& get_or_make() {
    if (!value_) [[unlikely]] {
      value_ = std::make_unique<T>();
    }
    return *value_;
  }

  /// There is no value any more.
  void reset() { value_.reset(); }

  /// The value, or null.
  [[nodiscard]] const T* get() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace noised
