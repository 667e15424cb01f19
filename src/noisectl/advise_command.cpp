// SPDX-License-Identifier: Apache-2.0
// Twice through what was measured: which tasks to look at, then what each remedy would give.
#include "noisectl/advise_command.h"

#include <cstdio>
#include <map>
#include <string>

#include "advice/advice_view.h"
#include "advice/advise.h"
#include "noisectl/measured.h"
#include "noisectl/output.h"

namespace noised::client {
namespace {

// Kernel workers do what they are told, and are told apart by that.
class TaskVisitor : public PlayerVisitor {
 public:
  explicit TaskVisitor(const SourceTable& sources) : sources_(sources) {}

  void detour(std::size_t /*cpu*/, const Ledger& ledger, std::string_view /*details*/) override {
    for (const LedgerEntry& entry : ledger.entries) {
      if (entry.kind != Kind::task || entry.id == 0) continue;
      const std::string& name = sources_.at(entry.source).name;
      if (!name.starts_with("kworker/")) pids[name] = static_cast<unsigned>(entry.id);
    }
  }

  std::map<std::string, unsigned> pids;  ///< the last of each name

 private:
  const SourceTable& sources_;
};

class AdviceVisitor : public PlayerVisitor {
 public:
  AdviceVisitor(const SourceTable& sources, const Machine& machine) : collector(sources, machine) {}

  void begins(std::size_t cpu, std::uint64_t first_ns) override { collector.begins(cpu, first_ns); }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    collector.gap(cpu, start_ns, end_ns);
  }
  void detour(std::size_t cpu, const Ledger& ledger, std::string_view details) override {
    collector.detour(cpu, ledger, details);
  }

  AdviceCollector collector;
};

}  // namespace

Status run_advise(const Options& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto first = measured.value().play();
  if (!first) return first.error();
  TaskVisitor tasks(first.value().playback().sources());
  play_all(first.value(), &tasks);
  // Who answers on a Unix socket runs on this kernel.
  const bool here = options.replay.empty();
  const Machine machine = read_machine(first.value().playback().description(), here, tasks.pids);

  auto second = measured.value().play();
  if (!second) return second.error();
  const Player& player = second.value();
  AdviceVisitor visitor(player.playback().sources(), machine);
  play_all(second.value(), &visitor);
  visitor.collector.finish();
  const Report report = player.report();
  const Advice advice = advise(visitor.collector, player.playback().sources(), machine, report);
  Output output(stdout);
  output.write(options.json ? views::to_json(advice, report) + "\n" : views::to_text(advice, report));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

}  // namespace noised::client
