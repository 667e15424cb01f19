// SPDX-License-Identifier: Apache-2.0
// noisectl watch --phases: the marks of an application beside the losses that the daemon tells.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/losses.h"
#include "model/watch.h"

#include "marks/mark_directory.h"
#include "marks/phase_join.h"
#include "system/clock.h"

namespace noised::client {

class PhaseWatch {
 public:
  /// Reads marks from a directory of its own, or from this one if it is not empty.
  static Result<PhaseWatch> create(const std::string& marks);

  /// The directory, for the application.
  [[nodiscard]] const std::string& marks() const { return directory_.path(); }
  /// Takes what the daemon told, beside the marks that are there by now.
  void take(const LossesView& losses);
  /// Adds the phases to the report.
  void fill(WatchReport& report);

 private:
  explicit PhaseWatch(marks::MarkDirectory directory) : directory_(std::move(directory)) {}
  [[nodiscard]] bool has_other_clock(const marks::RingReader& ring) const;
  void take(const marks::RingReader& ring, const std::vector<marks::Mark>& marks, std::uint64_t lost);

  marks::MarkDirectory directory_;
  system::ClockMap clock_;
  marks::PhaseJoin join_;
  std::vector<marks::TimedMark> timed_;
  std::set<std::uint32_t> refused_;  // threads whose clocks are not ours
};

}  // namespace noised::client
