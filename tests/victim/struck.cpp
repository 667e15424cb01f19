// SPDX-License-Identifier: Apache-2.0
// Occurrences looked up among the gaps.
#include "victim/struck.h"

#include <algorithm>

#include "selftest/shown_events.h"

namespace noised::victim {
namespace {

using selftest::Occurrence;
using selftest::Shape;
using selftest::Truth;

class Gaps {
 public:
  explicit Gaps(const std::vector<Gap>& gaps) : gaps_(gaps), taken_(gaps.size(), false) {}

  // True if there are any in [start_ns, end_ns]. Each counts once, however many occurrences it has.
  bool take(std::uint64_t start_ns, std::uint64_t end_ns, bool only_first, Struck& out) {
    auto gap = std::ranges::partition_point(gaps_, [&](const Gap& each) { return each.end_ns <= start_ns; });
    bool any = false;
    for (; gap != gaps_.end() && gap->start_ns <= end_ns && !(any && only_first); ++gap) {
      any = true;
      const auto index = static_cast<std::size_t>(gap - gaps_.begin());
      if (taken_[index]) continue;
      taken_[index] = true;
      ++out.gaps;
      out.gap_ns += gap->end_ns - gap->start_ns;
    }
    return any;
  }

 private:
  const std::vector<Gap>& gaps_;
  std::vector<bool> taken_;
};

void show(const Truth& truth, const Account& account, const std::vector<DetourView>& detours, Struck& out) {
  std::vector<DetourView> sorted = detours;
  std::ranges::sort(sorted, {}, &DetourView::start_ns);
  for (const auto& each :
       selftest::find_shown_events({truth.sources, 0, truth.inside, truth.victim, {}}, account.cpu, sorted)) {
    if (each.start_ns < truth.first_ns || each.end_ns > truth.last_ns) continue;
    out.shown += each.intervals;
    out.shown_ns += each.task_ns;
  }
}

}  // namespace

Struck strike(const Truth& truth, const Account& account, const std::vector<DetourView>& detours) {
  Struck out;
  out.mode = truth.mode;
  Gaps gaps(account.gaps);
  for (const Occurrence& each : truth.occurrences) {
    if (each.start_ns < account.first_ns || each.end_ns > account.last_ns) continue;
    out.occurrences += each.count;
    if (!gaps.take(each.start_ns, each.end_ns, truth.shape == Shape::events, out)) continue;
    out.struck += each.count;
    if (truth.shape != Shape::activations) continue;
    out.wall_ns += each.end_ns - each.start_ns;
    out.cpu_ns += each.cpu_ns;
    out.charged_ns += each.charged_ns;
  }
  show(truth, account, detours, out);
  return out;
}

}  // namespace noised::victim
