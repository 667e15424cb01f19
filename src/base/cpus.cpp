// SPDX-License-Identifier: Apache-2.0
// CPU sets as the kernel reports them: sysfs lists and affinity masks.
#include "base/cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/parse.h"
#include "base/quote.h"
#include "base/read_file.h"

namespace noised {

namespace {

// The largest NR_CPUS of any x86 kernel. The kernel refuses a mask shorter than its own, so this one fits all.
constexpr std::size_t kMaskCpus = 8192;

std::string cpu_file(const std::string& sysroot, const std::string& name) {
  return sysroot + (sysroot.ends_with('/') ? "" : "/") + "sys/devices/system/cpu/" + name;
}

Result<std::vector<unsigned>> read_cpu_file(const std::string& path) {
  const auto content = read_file(path);
  if (!content) return content.error();
  auto cpus = parse_cpu_file(content.value());
  if (!cpus) return failure("cannot read " + path + ": " + cpus.error().what);
  return cpus;
}

class AffinityMask {
 public:
  AffinityMask() : words_(CPU_ALLOC_SIZE(kMaskCpus) / sizeof(cpu_set_t)) {}
  [[nodiscard]] cpu_set_t* get() { return words_.data(); }
  [[nodiscard]] std::size_t size() const { return words_.size() * sizeof(cpu_set_t); }
  [[nodiscard]] std::vector<unsigned> cpus() const {
    std::vector<unsigned> set;
    for (unsigned cpu = 0; cpu < kMaskCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, size(), words_.data())) set.push_back(cpu);
    }
    return set;
  }

 private:
  std::vector<cpu_set_t> words_;
};

}  // namespace

Result<std::vector<unsigned>> parse_cpu_file(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return std::vector<unsigned>{};
  const std::string_view trimmed = text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  // How some kernels print a nohz_full mask that was never set.
  if (trimmed == "(null)") return std::vector<unsigned>{};
  return parse_cpu_list(trimmed);
}

Result<std::vector<unsigned>> online_cpus(const std::string& sysroot) {
  return read_cpu_file(cpu_file(sysroot, "online"));
}

Result<std::vector<unsigned>> possible_cpus(const std::string& sysroot) {
  return read_cpu_file(cpu_file(sysroot, "possible"));
}

Result<std::vector<unsigned>> isolated_cpus(const std::string& sysroot) {
  return read_cpu_file(cpu_file(sysroot, "isolated"));
}

Result<std::vector<unsigned>> nohz_full_cpus(const std::string& sysroot) {
  const std::string path = cpu_file(sysroot, "nohz_full");
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    return usage_error(path + " does not exist: this kernel is built without NO_HZ_FULL",
                       "name the CPUs with --cpus LIST");
  }
  return read_cpu_file(path);
}

Result<AllowedCpus> allowed_cpus() {
  AffinityMask before;
  if (::sched_getaffinity(0, before.size(), before.get()) != 0) {
    return failure("sched_getaffinity: " + errno_text(errno));
  }
  AffinityMask all;
  std::fill_n(reinterpret_cast<unsigned char*>(all.get()), all.size(), static_cast<unsigned char>(0xff));
  AffinityMask permitted;
  if (::sched_setaffinity(0, all.size(), all.get()) != 0) return failure("sched_setaffinity: " + errno_text(errno));
  const int got = ::sched_getaffinity(0, permitted.size(), permitted.get());
  const int get_error = errno;
  if (::sched_setaffinity(0, before.size(), before.get()) != 0) {
    return failure("sched_setaffinity: " + errno_text(errno));
  }
  if (got != 0) return failure("sched_getaffinity: " + errno_text(get_error));
  return AllowedCpus{before.cpus(), permitted.cpus()};
}

}  // namespace noised
