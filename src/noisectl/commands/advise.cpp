// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/advise.h"

#include <cstdio>

#include "analysis/advice/advise.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "views/advice.h"

namespace noised::client {

// Kernel workers do what they are told, and are told apart by that.
void TaskVisitor::detour(std::size_t /*cpu*/, const account::DetourLedger& ledger, std::string_view /*details*/) {
  for (const account::LedgerEntry& entry : ledger.entries) {
    if (entry.kind != Kind::task || entry.id == 0) continue;
    const std::string& name = sources_.at(entry.source).name;
    if (!name.starts_with("kworker/")) pids_[name] = static_cast<unsigned>(entry.id);
  }
}

namespace {

struct AdviseOptions : MeasureOptions {
  bool json = false;
};

Status run_advise(const AdviseOptions& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto first = measured.value().play();
  if (!first) return first.error();
  TaskVisitor tasks(first.value().playback().sources());
  play_all(first.value(), &tasks);
  // Who answers on a Unix socket runs on this kernel.
  const bool here = options.replay.empty();
  const analysis::Machine machine = analysis::read_machine(first.value().playback().description(), here, tasks.pids());

  auto second = measured.value().play();
  if (!second) return second.error();
  const recording::Player& player = second.value();
  AdviceVisitor visitor(player.playback(), machine);
  play_all(second.value(), &visitor);
  visitor.collector().finish();
  const Report report = player.report();
  const analysis::Advice advice = analysis::advise(visitor.collector(), player.playback().sources(), machine, report);
  Output output(stdout);
  output.write(options.json ? views::to_json(advice, report) + "\n" : views::to_text(advice, report));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

class AdviseCommand final : public MeasuredCommand<AdviseOptions> {
 public:
  AdviseCommand()
      : MeasuredCommand(
            "advise", "what to set against the noise, what it would give, and what is set already; changes nothing") {}

  void describe(CLI::App& sub) override {
    MeasuredCommand::describe(sub);
    add_json(sub, options.json);
  }
  Status run() override { return run_advise(options); }
};

}  // namespace

std::unique_ptr<Command> advise_command() { return std::make_unique<AdviseCommand>(); }

}  // namespace noised::client
