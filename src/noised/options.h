// SPDX-License-Identifier: Apache-2.0
// The command line of noised, on top of its configuration file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

#include "noised/config.h"

namespace noised::daemon {

enum class ReportFormat : std::uint8_t { text, json };

struct Options {
  Config config;                             ///< defaults, then the file, then flags
  bool names_cpus = false;                   ///< by a flag, or a mode but auto: these, and no others instead
  std::string config_file;                   ///< the file that was read; empty: built-in defaults
  std::optional<std::uint64_t> duration_ns;  ///< measure once for this long; never 0
  std::optional<ReportFormat> report;        ///< only together with duration_ns or replay
  std::string record;                        ///< record all of it to this new file; empty: do not
  std::string replay;                        ///< print the report of this recording and exit; empty: measure
  bool force_ringbuf = false;                ///< despite check_ringbuf (kernel/features.h)
  std::optional<std::string> btf;            ///< BTF file to use for the running kernel's
  std::optional<std::string> output;         ///< print this on standard output and exit 0: nothing else is asked for
  std::vector<std::string> arguments;        ///< as given, without the program's name

  /// The same command line with its file as it is now.
  [[nodiscard]] Result<Options> read_again() const;
};

/// Parses the command line and reads the configuration file; every mistake is a usage error of one line. Without
/// --config, `default_config` is read if it exists.
Result<Options> parse_options(int argc, const char* const* argv,
                              const std::string& default_config = "/etc/noised/noised.conf");

}  // namespace noised::daemon
