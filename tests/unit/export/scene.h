// SPDX-License-Identifier: Apache-2.0
// A recorded run on two CPUs as a file, for exporters.
#pragma once

#include "export/export.h"
#include "unit/recording/scene.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::exports;
using namespace noised::recording;

/// A run that loses some events of CPU 1, and some nobody knows where.
class LossyRun : public RecordedRun {
 public:
  void fill(Snapshot& snapshot) const override {
    RecordedRun::fill(snapshot);
    add_loss(1U, "ring_full", intervals / 100, snapshot.lost);
    add_loss({}, "missed_run", 3, snapshot.lost);
  }
};

/// Records a whole run, or (`from_start` false) what came after some of it, which `run` then has too.
inline void record_run(RecordedRun& run, const std::string& path, bool from_start = true) {
  if (!from_start) {
    for (int i = 0; i < 20; ++i) run.drain(nullptr, 10);
  }
  record_drains(run, path, 100);
}

inline Play play_of(const std::string& path) {
  return [path] { return Player::open(path); };
}

/// The report of what a recording has.
inline Report report_of(const std::string& path) {
  auto player = Player::open(path);
  REQUIRE(player);
  while (player.value().step()) {
  }
  return player.value().report();
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool no_progress(double /*share*/) { return true; }

}  // namespace noised::test
