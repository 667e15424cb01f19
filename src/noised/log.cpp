// SPDX-License-Identifier: Apache-2.0
// A message that spans lines would be several to the journal, so it is folded into one.
#include "noised/log.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

namespace noised::daemon {
namespace {

struct Level {
  std::string_view name;
  char priority;  // of syslog(3)
};
constexpr std::array<Level, 4> kLevels = {Level{"debug", '7'}, {"info", '6'}, {"warning", '4'}, {"error", '3'}};

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i].name == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

Log::Log(LogLevel least, int descriptor)
    : least_(least),
      descriptor_(descriptor),
      priorities_(::isatty(descriptor) == 0 && std::getenv("JOURNAL_STREAM") != nullptr) {}

void Log::write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
  if (level < least_) return;
  // 500 bytes live on the stack, so an ordinary message allocates nothing.
  fmt::memory_buffer line;
  if (priorities_) fmt::format_to(std::back_inserter(line), "<{}>", kLevels[static_cast<std::size_t>(level)].priority);
  fmt::format_to(std::back_inserter(line), "noised: ");
  fmt::vformat_to(std::back_inserter(line), format, args);
  while (line.size() > 0 && line[line.size() - 1] == '\n') line.resize(line.size() - 1);
  std::replace(line.begin(), line.end(), '\n', ' ');
  line.push_back('\n');
  // There is nowhere to complain when the log itself cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, line.data(), line.size());
}

}  // namespace noised::daemon
