// SPDX-License-Identifier: Apache-2.0
// What the user asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <noised/result.h>

namespace noised::client {

enum class Command { top, report, detours, histogram, status, record, reload, selftest };

struct Options {
  Command command = Command::report;
  std::string socket = "/run/noised/noised.sock";
  std::string replay;  ///< a recording to show in place of a daemon; empty: none
  bool json = false;
  bool follow = false;                        ///< detours: go on until stopped
  std::uint64_t min_ns = 0;                   ///< detours: only those at least this long
  std::optional<std::uint64_t> count;         ///< detours: end after so many
  std::optional<unsigned> cpu;                ///< histogram: only this CPU; selftest: disturb this one
  std::string output;                         ///< record: the file to create
  std::uint64_t size_bytes = 0;               ///< record: end when the file is as large; 0: never
  std::optional<std::uint64_t> duration_ns;   ///< top, record: end after this time; selftest: spend it
  std::vector<std::string> only;              ///< selftest: modes; empty: all
  std::uint64_t interval_ns = 1'000'000'000;  ///< top: time between two updates
};

/// Text to print in place of running a command: help or version.
struct Answer {
  std::string text;
};

using CommandLine = std::variant<Options, Answer>;

/// Reads the command line; a usage error otherwise.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

}  // namespace noised::client
