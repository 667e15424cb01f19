// SPDX-License-Identifier: Apache-2.0
#include "noisectl/advise_command.h"

#include <cstdio>

#include "advice/advice_view.h"
#include "advice/advise.h"
#include "noisectl/advise_visitor.h"
#include "noisectl/measured.h"
#include "noisectl/output.h"

namespace noised::client {

Status run_advise(const Options& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto first = measured.value().play();
  if (!first) return first.error();
  TaskVisitor tasks(first.value().playback().sources());
  play_all(first.value(), &tasks);
  // Who answers on a Unix socket runs on this kernel.
  const bool here = options.replay.empty();
  const Machine machine = read_machine(first.value().playback().description(), here, tasks.pids());

  auto second = measured.value().play();
  if (!second) return second.error();
  const Player& player = second.value();
  AdviceVisitor visitor(player.playback(), machine);
  play_all(second.value(), &visitor);
  visitor.collector().finish();
  const Report report = player.report();
  const Advice advice = advise(visitor.collector(), player.playback().sources(), machine, report);
  Output output(stdout);
  output.write(options.json ? views::to_json(advice, report) + "\n" : views::to_text(advice, report));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

}  // namespace noised::client
