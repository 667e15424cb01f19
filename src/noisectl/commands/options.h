// SPDX-License-Identifier: Apache-2.0
// Options that several commands have: described to CLI11 as text, then read and checked. Errors are usage errors.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "noisectl/client/options.h"
#include "noisectl/commands/command.h"

namespace noised::client {

/// A whole number from 0 or 1 up. CLI11 wraps -1 around to the largest number of the type: it is above every limit.
template <typename Number>
CLI::Validator number_from(Number least) {
  constexpr Number kMost = std::numeric_limits<Number>::max() / 2;
  return CLI::Range(least, kMost).description("");  // the help does not repeat the range of a type
}

/// A text that has a byte.
CLI::Validator not_empty();

/// --delay, a list that parse_delays() reads.
void add_delays(CLI::App& command, std::string& text);
/// Describes --json.
void add_json(CLI::App& sub, bool& json);
/// Describes --cpu.
void add_cpu(CLI::App& sub, std::optional<unsigned>& cpu, const char* help);
/// Describes --duration, which `text` takes as the user wrote it.
CLI::Option* add_duration(CLI::App& sub, std::string& text, const char* help);

/// Reads a time that `flag` has; without a text `out` stays as it is.
Status read_time(const char* flag, const std::string& text, std::uint64_t& out);
/// Reads --duration.
Status read_duration(const std::string& text, std::optional<std::uint64_t>& out);
/// Reads --interval, of at least 100 ms.
Status read_interval(const std::string& text, std::uint64_t& out);
/// Reads a --grain, which is more than 0.
Status read_grain(const std::string& text, std::uint64_t& out);

/// --grain, --footprint and --policy: what the daemon is to run while it is recorded.
class PhaseFlags {
 public:
  /// Describes them.
  void describe(CLI::App& sub, PhaseChoice& phases);
  /// Reads them.
  [[nodiscard]] Status read(PhaseChoice& phases) const;

 private:
  std::string grain_;
  std::string footprint_;
};

/// What check_replay() says of a command that needs a daemon.
Status needs_daemon();
/// What check_replay() says of a --duration: an error if there is one.
Status check_no_duration(const std::optional<std::uint64_t>& duration_ns);

/// A command that shows what Measured gives, with --duration; Options begin with MeasureOptions.
template <typename Options>
class MeasuredCommand : public CommandOf<Options> {
 public:
  using CommandOf<Options>::CommandOf;
  void describe(CLI::App& sub) override { add_duration(sub, duration_, "of a daemon: measure so long (10s)"); }
  Status read() override { return read_duration(duration_, this->options.duration_ns); }
  [[nodiscard]] Status check_replay() const override { return check_no_duration(this->options.duration_ns); }

 private:
  std::string duration_;  // as it was written
};

}  // namespace noised::client
