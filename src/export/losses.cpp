// SPDX-License-Identifier: Apache-2.0
#include "export/losses.h"

#include <map>

namespace noised {

LossesByCpu losses_by_cpu(const Playback& playback, const ReportLost& lost) {
  LossesByCpu losses;
  losses.on.resize(playback.description().base.cpus.size(), 0);
  if (lost.by.empty()) return losses;
  std::map<unsigned, std::size_t> places;
  for (std::size_t i = 0; i < losses.on.size(); ++i) places.emplace(playback.cpu_number(i), i);
  for (const ReportLoss& loss : lost.by) {
    if (loss.reason.starts_with("loop_")) continue;
    const auto place = loss.cpu ? places.find(*loss.cpu) : places.end();
    (place == places.end() ? losses.anywhere : losses.on[place->second]) += loss.count;
  }
  return losses;
}

}  // namespace noised
