// SPDX-License-Identifier: Apache-2.0
#include "noisectl/phases_command.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "noisectl/measured.h"
#include "noisectl/output.h"
#include "noisectl/phases_visitor.h"

namespace noised::client {
namespace {

Error no_phases() {
  return failure("nothing was measured in phases of fixed work",
                 "record with --grain 1ms, or start noised with --work 100000");
}

/// A recording that was played to its end.
struct Analysed {
  Player player;
  std::unique_ptr<FixedPhases> visitor;
  views::PhaseSetting setting;
  Report report;
  std::vector<views::CpuPhases> cpus;
};

Result<std::unique_ptr<Analysed>> analyse(const Measured& measured) {
  auto first = measured.play();
  if (!first) return first.error();
  const Description description = first.value().playback().description();
  if (!of_fixed_work(description)) return no_phases();
  FirstPhases lengths(description.base.cpus.size());
  while (!lengths.enough() && first.value().step(&lengths)) {
  }
  if (!lengths.any()) {
    const Status whole = Measured::whole(first.value());
    return whole ? no_phases() : whole.error();
  }
  auto second = measured.play();
  if (!second) return second.error();
  auto visitor = std::make_unique<FixedPhases>(second.value().playback(), lengths);
  auto result =
      std::make_unique<Analysed>(Analysed{std::move(second).value(), std::move(visitor), phase_setting(description),
                                          Report(), std::vector<views::CpuPhases>()});
  play_all(result->player, result->visitor.get());
  result->report = result->player.report();
  result->cpus = result->visitor->finish(result->report);
  return result;
}

}  // namespace

Status run_phases(const Options& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  const auto analysed = analyse(measured.value());
  if (!analysed) return analysed.error();
  const Analysed& one = *analysed.value();
  Output output(stdout);
  if (options.compare_with.empty()) {
    output.write(options.json ? views::to_json(one.cpus, one.setting, one.report) + "\n"
                              : views::to_text(one.cpus, one.setting, one.report));
    if (Status done = output.finish(); !done) return done;
    return Measured::whole(one.player);
  }
  Options second = options;
  second.replay = options.compare_with;
  const auto other = Measured::get(second);
  if (!other) return other.error();
  const auto compared = analyse(other.value());
  if (!compared) return compared.error();
  const Analysed& two = *compared.value();
  output.write(views::compared_text({"this", one.cpus, one.setting, one.report},
                                    {"compared", two.cpus, two.setting, two.report}));
  if (Status done = output.finish(); !done) return done;
  if (Status whole = Measured::whole(one.player); !whole) return whole;
  return Measured::whole(two.player);
}

}  // namespace noised::client
