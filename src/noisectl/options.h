// SPDX-License-Identifier: Apache-2.0
// What the user asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <noised/result.h>

#include "probe/footprint.h"
#include "views/report_tables.h"

namespace noised::client {

enum class Command {
  top,
  report,
  detours,
  histogram,
  status,
  record,
  export_trace,
  density,
  advise,
  baseline_save,
  baseline_diff,
  ftq,
  fwq,
  selfish,
  latencytest,
  phases,
  project,
  reload,
  selftest,
  watch,
};

using ReportBy = views::ReportTable;

enum class ExportFormat { perfetto, paraver, ctf, csv };

/// Durations from low_ns to high_ns, both included.
struct DurationRange {
  std::uint64_t low_ns = 0;
  std::uint64_t high_ns = 0;
};

struct Options {
  Command command = Command::report;
  std::string socket = "/run/noised/noised.sock";
  std::string replay;  ///< a recording to show in place of a daemon; empty: none
  bool json = false;
  bool follow = false;                 ///< detours: go on until stopped; watch: a line each interval
  std::uint64_t min_ns = 0;            ///< detours: only those at least this long
  std::optional<std::uint64_t> count;  ///< detours: end after so many
  std::optional<unsigned> cpu;         ///< histogram: only this CPU; selftest: disturb this one
  std::string output;                  ///< record, export, baseline save, watch: what to create
  std::string input;                   ///< export: the recording; empty: as --replay says; baseline diff: the baseline
  std::optional<ReportBy> by;          ///< report: one table; nothing: everything, or with csv the sources
  bool csv = false;                    ///< report: as comma-separated values
  std::string html;                    ///< report: the page to create; empty: none
  std::optional<DurationRange> range;  ///< histogram: who makes up these durations
  ExportFormat format = ExportFormat::perfetto;
  std::string compare_with;                   ///< phases: another recording, shown beside it; empty: none
  bool compare = false;                       ///< ftq: with the ledger, in place of the series
  double speed = 1;                           ///< top of a recording: times as fast as it happened
  std::uint64_t grain_ns = 0;                 ///< of a daemon: have it run phases this long meanwhile; 0: its loop
  FootprintChoice footprint;                  ///< that these phases walk through
  std::string policy;                         ///< theirs, "other" or "fifo"; empty: the daemon's
  std::uint64_t size_bytes = 0;               ///< record: end when the file is as large; 0: never
  std::optional<std::uint64_t> duration_ns;   ///< top, record, watch: end after this time; selftest: spend it;
                                              ///< what needs a recording of a daemon: record so long
  std::uint64_t projected_grain_ns = 0;       ///< project, report as a page: work of a phase
  std::vector<std::uint64_t> nodes;           ///< the same: sizes of the job, rising
  std::vector<std::string> only;              ///< selftest: modes; empty: all
  std::vector<std::uint32_t> pids;            ///< watch: these, or
  std::string cgroup;                         ///< the tasks of this one, or
  std::string comm;                           ///< those of this name, or
  std::vector<std::string> run;               ///< this program with its arguments; none of them: everything
  bool phases = false;                        ///< watch: join the phases that it marks with what they lost
  std::string marks;                          ///< watch: where NOISED_MARKS has it mark them; empty: a new directory
  std::uint64_t interval_ns = 1'000'000'000;  ///< top, watch: time between two updates
};

/// Text to print in place of running a command: help or version.
struct Answer {
  std::string text;
};

using CommandLine = std::variant<Options, Answer>;

/// Reads the command line; a usage error otherwise.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

}  // namespace noised::client
