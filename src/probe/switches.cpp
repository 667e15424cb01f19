// SPDX-License-Identifier: Apache-2.0
#include "probe/switches.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <string_view>

#include "base/read_file.h"

namespace noised {

std::optional<std::uint64_t> involuntary_switches(pid_t thread) {
  const auto status = read_file(fmt::format("/proc/self/task/{}/status", thread));
  if (!status) return std::nullopt;
  constexpr std::string_view kLine = "nonvoluntary_ctxt_switches:\t";
  const std::string_view text = status.value();
  const std::size_t at = text.find(kLine);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data() + at + kLine.size(), text.data() + text.size(), count);
  return error == std::errc{} ? std::optional(count) : std::nullopt;
}

std::uint64_t own_involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

}  // namespace noised
