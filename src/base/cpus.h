// SPDX-License-Identifier: Apache-2.0
// Which CPUs there are, which of them the kernel keeps quiet, and which of them to probe.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace noised {

/// A kernel CPU list ("1-3,5"; strides "0-7:2/4" too) as sorted unique numbers; an empty text is an empty list.
Result<std::vector<unsigned>> parse_cpu_list(std::string_view text);

/// The shortest kernel CPU list of sorted unique numbers.
std::string format_cpu_list(const std::vector<unsigned>& cpus);

/// The CPUs in the text of a file in /sys/devices/system/cpu; usage error otherwise.
Result<std::vector<unsigned>> parse_cpu_file(std::string_view text);

/// CPUs that are running; fails when sysfs cannot be read. `sysroot` is "/" but for tests.
Result<std::vector<unsigned>> online_cpus(const std::string& sysroot = "/");

/// CPUs that this kernel could ever bring online; fails when sysfs cannot be read.
Result<std::vector<unsigned>> possible_cpus(const std::string& sysroot = "/");

/// CPUs kept out of the scheduler's balancing (isolcpus=, isolated cpuset partitions); empty when there are none.
Result<std::vector<unsigned>> isolated_cpus(const std::string& sysroot = "/");

/// CPUs whose timer tick stops (nohz_full=); empty when there are none, fails on a kernel that cannot do it.
Result<std::vector<unsigned>> nohz_full_cpus(const std::string& sysroot = "/");

/// Where this process may run. The two differ wherever there are isolated CPUs: no process starts with one of them in
/// its affinity, but every process may ask for one that its cpuset holds.
struct AllowedCpus {
  std::vector<unsigned> affinity;   ///< where its threads run when nothing else is said
  std::vector<unsigned> permitted;  ///< where sched_setaffinity(2) can put them
};

/// The CPUs of the calling thread; widens its affinity for a moment, as the kernel has no other way to ask.
Result<AllowedCpus> allowed_cpus();

struct CpuChoice {
  std::vector<unsigned> probe;         ///< one measuring thread each, or watched without one; one is online
  std::vector<unsigned> housekeeping;  ///< where the daemon's other threads run; never empty
};

/// What the chosen CPUs are for.
enum class CpuUse {
  probe,  ///< a loop each: the daemon's other threads are kept off them
  watch,  ///< for what their tasks suffer: the daemon keeps off them where others are left
};

/// Checks that a choice of CPUs is `isolated`, `nohz_full`, `all` or a list with at least one CPU; usage error
/// otherwise.
Status check_cpu_choice(const std::string& text);

/// The CPUs that `text` (a CPU list, `isolated`, `nohz_full` or `all` that are online) means on this machine. Without a
/// `housekeeping` list, or with an empty one, housekeeping gets what is online, in the affinity and not probed. Usage
/// error when a CPU does not exist, is not permitted or wanted for both, or when either side would have none that is
/// online; a word means none that is offline.
Result<CpuChoice> choose_cpus(const std::string& text, const std::optional<std::string>& housekeeping,
                              const AllowedCpus& allowed, CpuUse use = CpuUse::probe, const std::string& sysroot = "/");

/// Checks that a choice of further CPUs is `all`, `none` or a list; usage error otherwise.
Status check_other_cpus(const std::string& text);

/// The CPUs that `text` (a CPU list, `none` or `all` that are online and permitted) means here, but for those of `but`.
/// Usage error when one does not exist or is not permitted, or when none of a list is online.
Result<std::vector<unsigned>> choose_other_cpus(const std::string& text, const std::vector<unsigned>& but,
                                                const AllowedCpus& allowed, const std::string& sysroot = "/");

// A set of CPUs for the kernel, of any size: glibc's cpu_set_t ends at 1024.

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
