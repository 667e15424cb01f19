// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/export.h"

#include <poll.h>

#include <csignal>
#include <map>
#include <memory>
#include <optional>

#include "export/csv.h"
#include "export/ctf/ctf.h"
#include "export/new_file.h"
#include "export/paraver/paraver.h"
#include "export/perfetto/perfetto.h"
#include "model/json_fields.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"

namespace noised::client {
namespace {

Status can_export(ExportFormat format, const std::string& out) {
  switch (format) {
    case ExportFormat::perfetto:
      return exports::NewFile::can_create(out);
    case ExportFormat::paraver:
      return exports::can_export_paraver(out);
    case ExportFormat::ctf:
    case ExportFormat::csv:
      return exports::can_create(out);  // a directory
  }
  return failure("export: no such format");
}

const char* name_of(ExportFormat format) {
  switch (format) {
    case ExportFormat::perfetto:
      return "perfetto";
    case ExportFormat::paraver:
      return "paraver";
    case ExportFormat::ctf:
      return "ctf";
    case ExportFormat::csv:
      return "csv";
  }
  return "none";
}

Status export_as(ExportFormat format, const exports::Play& play, const std::string& out,
                 const noised::exports::Progress& progress) {
  switch (format) {
    case ExportFormat::perfetto:
      return exports::export_perfetto(play, out, progress);
    case ExportFormat::paraver:
      return exports::export_paraver(play, out, progress);
    case ExportFormat::ctf:
      return exports::export_ctf(play, out, progress);
    case ExportFormat::csv:
      return exports::export_csv(play, out, progress);
  }
  return failure("export: no such format");
}

bool came(const StopSignals& stop) {
  pollfd one{stop.fd(), POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

class ExportCommand final : public MeasuredCommand<ExportOptions> {
 public:
  ExportCommand() : MeasuredCommand("export", "a recording for other tools") {}

  void describe(CLI::App& sub) override {
    static const std::map<std::string, ExportFormat> kFormats{{"perfetto", ExportFormat::perfetto},
                                                              {"paraver", ExportFormat::paraver},
                                                              {"ctf", ExportFormat::ctf},
                                                              {"csv", ExportFormat::csv}};
    MeasuredCommand::describe(sub);
    sub.add_option("--format", options.format, "perfetto, paraver, ctf or csv")
        ->required()
        ->transform(CLI::CheckedTransformer(kFormats).description(""))
        ->type_name("FORMAT");
    sub.add_option("-o,--output", options.output, "what to create")->required()->check(not_empty())->type_name("OUT");
    sub.add_option("FILE", options.input, "the recording")->check(not_empty());
    sub.add_flag("--without-names", options.without_names,
                 "call tasks task-1, task-2 and so on, and leave services and jobs out");
    sub.add_flag("--json", options.json, "print what was created, as JSON");
  }
  Status run() override { return run_export(options); }
};

}  // namespace

Status run_export(const ExportOptions& options) {
  if (!options.input.empty() && !options.replay.empty()) {
    return usage_error("export: two recordings, " + options.input + " and --replay " + options.replay, "give one");
  }
  if (options.json && exports::is_special(options.output))
    return usage_error("export: --json prints to where the export may go", "leave it out, or export to a file");
  // Before a daemon is measured for nothing.
  if (Status can = can_export(options.format, options.output); !can) return can;
  MeasureOptions from = options;
  from.needs_loop = false;
  if (!options.input.empty()) from.replay = options.input;
  const auto measured = Measured::get(from);
  if (!measured) return measured.error();
  // What is cut would look whole: nobody's signal ends the export but between blocks, where it is removed. A pipe has
  // nothing to remove, and one that nobody reads would never come to the next block.
  std::optional<StopSignals> stop;
  if (!exports::is_special(options.output)) stop.emplace();
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error as a full disk is
  Progress shown("exporting");
  Status exported = export_as(
      options.format,
      [&] {
        auto player = measured.value().play();
        if (player && options.without_names) player.value().leave_names_out();
        return player;
      },
      options.output,
      [&](double share) {
        shown.show(share);
        return !stop || !came(*stop);
      });
  if (!exported || !options.json) return exported;
  Output output(stdout);
  output.write(
      dump({{"schema", "noised.exported/1"}, {"format", name_of(options.format)}, {"output", options.output}}) + "\n");
  return output.finish();
}

std::unique_ptr<Command> export_command() { return std::make_unique<ExportCommand>(); }

}  // namespace noised::client
