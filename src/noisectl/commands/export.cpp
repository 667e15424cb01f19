// SPDX-License-Identifier: Apache-2.0
#include "noisectl/export_command.h"

#include <poll.h>

#include <csignal>
#include <optional>

#include "export/csv.h"
#include "export/ctf.h"
#include "export/new_file.h"
#include "export/paraver.h"
#include "export/perfetto.h"
#include "noisectl/measured.h"
#include "noisectl/progress.h"
#include "noisectl/stop_signals.h"

namespace noised::client {
namespace {

Status can_export(ExportFormat format, const std::string& out) {
  switch (format) {
    case ExportFormat::perfetto:
      return NewFile::can_create(out);
    case ExportFormat::paraver:
      return can_export_paraver(out);
    case ExportFormat::ctf:
    case ExportFormat::csv:
      return can_create(out);  // a directory
  }
  return failure("export: no such format");
}

Status export_as(ExportFormat format, const Play& play, const std::string& out, const noised::Progress& progress) {
  switch (format) {
    case ExportFormat::perfetto:
      return export_perfetto(play, out, progress);
    case ExportFormat::paraver:
      return export_paraver(play, out, progress);
    case ExportFormat::ctf:
      return export_ctf(play, out, progress);
    case ExportFormat::csv:
      return export_csv(play, out, progress);
  }
  return failure("export: no such format");
}

bool came(const StopSignals& stop) {
  pollfd one{stop.fd(), POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

Status run_export(const Options& options) {
  if (!options.input.empty() && !options.replay.empty()) {
    return usage_error("export: two recordings, " + options.input + " and --replay " + options.replay, "give one");
  }
  // Before a daemon is measured for nothing.
  if (Status can = can_export(options.format, options.output); !can) return can;
  Options from = options;
  if (!options.input.empty()) from.replay = options.input;
  const auto measured = Measured::get(from);
  if (!measured) return measured.error();
  // What is cut would look whole: nobody's signal ends the export but between blocks, where it is removed. A pipe has
  // nothing to remove, and one that nobody reads would never come to the next block.
  std::optional<StopSignals> stop;
  if (!is_special(options.output)) stop.emplace();
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error as a full disk is
  Progress shown("exporting");
  return export_as(
      options.format, [&measured] { return measured.value().play(); }, options.output,
      [&](double share) {
        shown.show(share);
        return !stop || !came(*stop);
      });
}

}  // namespace noised::client
