// SPDX-License-Identifier: Apache-2.0
// A set of CPUs for the kernel, of any size: glibc's cpu_set_t ends at 1024.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace noised {

class CpuSet {
 public:
  /// The set of these CPUs; at least one.
  explicit CpuSet(const std::vector<unsigned>& cpus)
      : words_(CPU_ALLOC_SIZE(*std::max_element(cpus.begin(), cpus.end()) + 1) / sizeof(unsigned long)) {
    for (const unsigned cpu : cpus) words_[cpu / kWordBits] |= 1UL << cpu % kWordBits;
  }

  [[nodiscard]] const cpu_set_t* get() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }
  [[nodiscard]] std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }

 private:
  static constexpr unsigned kWordBits = 8 * sizeof(unsigned long);

  std::vector<unsigned long> words_;
};

}  // namespace noised
