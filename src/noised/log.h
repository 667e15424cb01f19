// SPDX-License-Identifier: Apache-2.0
// The daemon's log: one line per message on standard error, understood by the journal.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace noised::daemon {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// The level with this name; nothing when there is none.
std::optional<LogLevel> parse_log_level(std::string_view name);

/// Writes messages of a level and above. Each message is one write(2), so threads need no lock between them.
class Log {
 public:
  /// Logs to a descriptor, which stays the caller's.
  explicit Log(LogLevel least, int descriptor = STDERR_FILENO);

  /// From now on; any thread.
  void set_level(LogLevel least) { least_.store(least, std::memory_order_relaxed); }

  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::warning, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  std::atomic<LogLevel> least_;
  int descriptor_;
  bool priorities_;  // the reader is the journal, which takes a line's level from <N> in front of it
};

}  // namespace noised::daemon
