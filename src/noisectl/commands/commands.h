// SPDX-License-Identifier: Apache-2.0
// The commands: ask, and show.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "base/result.h"
#include "noisectl/commands/command.h"

namespace noised::client {

/// Text to print in place of running a command: help or version.
struct Answer {
  std::string text;
};

using CommandLine = std::variant<std::unique_ptr<Command>, Answer>;

/// Reads the command line: the command with its options, ready to run; a usage error otherwise.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// Parses the command line and does what it asks, on standard output.
Status run_command_line(int argc, const char* const* argv);

}  // namespace noised::client
