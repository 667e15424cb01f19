// SPDX-License-Identifier: Apache-2.0
// A queue in one piece of memory that is never allocated again.
#pragma once

#include <cstddef>
#include <vector>

namespace noised {

/// First in, first out, with iterators; insert and erase in the middle move what follows.
template <typename T>
class BoundedQueue {
 public:
  using iterator = typename std::vector<T>::iterator;

  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) { items_.reserve(2 * capacity); }

  [[nodiscard]] bool empty() const { return head_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - head_; }
  [[nodiscard]] bool full() const { return size() >= capacity_; }
  iterator begin() { return items_.begin() + static_cast<std::ptrdiff_t>(head_); }
  iterator end() { return items_.end(); }
  T& front() { return items_[head_]; }

  void pop_front() {
    // Moved to the front when as much was taken as the queue may hold: each item moves at most once.
    ++head_;
    if (head_ < capacity_ && head_ < items_.size()) return;
    items_.erase(items_.begin(), begin());
    head_ = 0;
  }
  /// There must be room.
  void insert(iterator at, const T& item) { items_.insert(at, item); }
  /// Returns where the next one is then.
  iterator erase(iterator at) { return items_.erase(at); }
  void clear() {
    items_.clear();
    head_ = 0;
  }

 private:
  std::size_t capacity_;
  std::vector<T> items_;
  std::size_t head_ = 0;
};

}  // namespace noised
