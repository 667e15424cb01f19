// SPDX-License-Identifier: Apache-2.0
// Reading the counts of the calling thread.
#include "victim/kernel_counts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include "base/text.h"

namespace noised::victim {
namespace {

constexpr const char* kStatus = "/proc/thread-self/status";
constexpr const char* kSchedstat = "/proc/thread-self/schedstat";

// The number at the beginning of the text, after blanks; what it was is cut off.
bool take_number(std::string_view& text, std::uint64_t& out) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

bool find_number(std::string_view text, std::string_view label, std::uint64_t& out) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + label.size());
  return take_number(text, out);
}

Result<Descriptor> open_file(const char* path) {
  Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return failure(std::string(path) + ": " + errno_text(errno));
  return file;
}

}  // namespace

KernelCounts KernelCounts::since(const KernelCounts& begin) const {
  return {voluntary - begin.voluntary,       involuntary - begin.involuntary, minor_faults - begin.minor_faults,
          major_faults - begin.major_faults, run_ns - begin.run_ns,           wait_ns - begin.wait_ns,
          timeslices - begin.timeslices};
}

Status parse_status_counts(std::string_view text, KernelCounts& counts) {
  if (!find_number(text, "\nvoluntary_ctxt_switches:", counts.voluntary) ||
      !find_number(text, "\nnonvoluntary_ctxt_switches:", counts.involuntary))
    return failure(std::string(kStatus) + ": no context switches in it");
  return success();
}

Status parse_schedstat(std::string_view text, KernelCounts& counts) {
  if (!take_number(text, counts.run_ns) || !take_number(text, counts.wait_ns) || !take_number(text, counts.timeslices))
    return failure(std::string(kSchedstat) + ": not three numbers", "the kernel needs CONFIG_SCHED_INFO");
  return success();
}

Result<KernelCounter> KernelCounter::open() {
  Result<Descriptor> status = open_file(kStatus);
  if (!status) return status.error();
  Result<Descriptor> schedstat = open_file(kSchedstat);
  if (!schedstat) return schedstat.error();
  return KernelCounter(std::move(status.value()), std::move(schedstat.value()));
}

Result<KernelCounts> KernelCounter::read() const {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  KernelCounts counts;
  counts.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  counts.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  std::array<char, 8192> text{};
  const auto content = [&text](const Descriptor& file) {
    const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
    return std::string_view(text.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  };
  if (const Status parsed = parse_schedstat(content(schedstat_), counts); !parsed) return parsed.error();
  if (const Status parsed = parse_status_counts(content(status_), counts); !parsed) return parsed.error();
  return counts;
}

}  // namespace noised::victim
