// SPDX-License-Identifier: Apache-2.0
#include "noisectl/density_command.h"

#include <cstdio>

#include "noisectl/density_visitor.h"
#include "noisectl/measured.h"
#include "noisectl/output.h"
#include "views/density.h"

namespace noised::client {

Status run_density(const Options& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  const auto densities = densities_of(measured.value());
  if (!densities) return densities.error();
  const Player& player = densities.value().player;
  const std::vector<DensityComparison>& cpus = densities.value().cpus;
  const Report report = player.report();
  Output output(stdout);
  output.write(options.json ? views::to_json(cpus, report) + "\n" : views::to_text(cpus, report));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

}  // namespace noised::client
