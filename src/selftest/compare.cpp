// SPDX-License-Identifier: Apache-2.0
// Matches occurrences with shown events, and judges the counts.
#include "selftest/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "selftest/shown_events.h"

namespace noised::selftest {
namespace {

// The places where an absence proves nothing.
class Doubts {
 public:
  Doubts(const Truth& truth, std::span<const DetourView> detours, const Losses& losses) : unshown_(losses.unshown) {
    if (losses.counted == 0) return;
    for (const DetourView& detour : detours) {
      if (detour.cpu == truth.cpu && detour.incomplete)
        incomplete_.push_back({detour.start_ns, detour.start_ns + detour.duration_ns});
    }
  }

  /// Something that did not show: noised says that it lost something there, or the stream did not show the detour.
  [[nodiscard]] bool excuse(const Occurrence& occurrence) const {
    return touches(incomplete_, occurrence) || touches(unshown_, occurrence);
  }

 private:
  // Spans are in order and apart from each other: the first that does not end before is the one to look at.
  static bool touches(const std::vector<Span>& spans, const Occurrence& occurrence) {
    const auto first = std::partition_point(spans.begin(), spans.end(),
                                            [&](const Span& span) { return span.end_ns < occurrence.start_ns; });
    return first != spans.end() && overlap(*first, occurrence);
  }

  const std::vector<Span>& unshown_;
  std::vector<Span> incomplete_;
};

// The shown events that overlap an occurrence: both are in order, and shown events are apart from each other.
std::span<ShownEvent> touching(std::vector<ShownEvent>& shown_events, const Occurrence& occurrence) {
  const auto first = std::partition_point(shown_events.begin(), shown_events.end(),
                                          [&](const ShownEvent& s) { return s.end_ns < occurrence.start_ns; });
  const auto last = std::partition_point(first, shown_events.end(),
                                         [&](const ShownEvent& s) { return s.start_ns <= occurrence.end_ns; });
  return {first, last};
}

bool in_window(const Truth& truth, const ShownEvent& shown_event) {
  return shown_event.start_ns >= truth.first_ns && shown_event.end_ns <= truth.last_ns;
}

std::vector<Occurrence> soonest_end_first(std::vector<Occurrence> occurrences) {
  std::stable_sort(occurrences.begin(), occurrences.end(), [](const Occurrence& a, const Occurrence& b) {
    return a.end_ns != b.end_ns ? a.end_ns < b.end_ns : a.start_ns > b.start_ns;
  });
  return occurrences;
}

// Who noised says had the CPU at the time of something that did not show.
void blame(const Truth& truth, const Occurrence& missed, std::uint64_t count, std::span<const DetourView> detours,
           Row& row) {
  if (count == 0) return;
  row.missed += count;
  const DetourEntryView* most = nullptr;
  for (const DetourView& detour : detours) {
    const Span span{detour.start_ns, detour.start_ns + detour.duration_ns};
    if (detour.cpu != truth.cpu || !overlap(span, missed)) continue;
    for (const DetourEntryView& entry : detour.entries) {
      if (most == nullptr || entry.self_ns > most->self_ns) most = &entry;
    }
  }
  row.blamed[most == nullptr ? "no detour" : most->kind + ":" + most->name] += count;
}

/// Events: each interval shown stands for one occurrence that was possible then. The one that must come soonest takes
/// the first; of those that end together (a batch of timers) the latest, so that what is left without an interval is
/// what lies where one is missing. Returns how many intervals noised showed.
std::uint64_t match_events(const Truth& truth, std::span<const DetourView> detours, const Doubts& doubts, Row& row) {
  std::vector<ShownEvent> shown_events =
      find_shown_events({truth.sources, 0, truth.inside, truth.victim, {}}, truth.cpu, detours);
  std::uint64_t shown = 0;
  for (const ShownEvent& shown_event : shown_events) shown += in_window(truth, shown_event) ? shown_event.intervals : 0;
  std::uint64_t matched = 0;
  for (const Occurrence& occurrence : soonest_end_first(truth.occurrences)) {
    std::uint64_t left = occurrence.count;
    bool placeless = false;
    for (ShownEvent& shown_event : touching(shown_events, occurrence)) {
      const std::uint64_t taken = std::min(left, shown_event.intervals);
      shown_event.intervals -= taken;
      left -= taken;
      matched += taken;
      (shown_event.incomplete ? row.in_doubt : row.found) += taken;
      placeless |= shown_event.placeless;
    }
    if (placeless || doubts.excuse(occurrence)) {
      row.in_doubt += left;
    } else {
      blame(truth, occurrence, left, detours, row);
    }
  }
  row.shared = truth.shared;
  if (truth.shared) return shown;
  const std::uint64_t real = std::max(matched, truth.kernel ? truth.kernel->count : 0);
  row.misattributed = shown - std::min(shown, real);
  return shown;
}

// Sums of the activations that can be timed.
struct Times {
  std::uint64_t shown_ns = 0;
  std::uint64_t worked_ns = 0;   // the least they can have taken: the work alone
  std::uint64_t charged_ns = 0;  // the most: with the ways, from the wakeup, when the CPU may still have been another's
  std::uint64_t activations = 0;
};

/// Activations that share a detour are compared together, and only when every one of them is beyond doubt. One that
/// does not show shares none, and is not clean.
class Group {
 public:
  void add(const Occurrence& activation, std::span<ShownEvent> shown_events, bool clean, Times& times) {
    if (shown_events.data() >= end_) close(times);
    clean_ &= clean;
    worked_ns_ += activation.cpu_ns;
    charged_ns_ += activation.charged_ns;
    ++activations_;
    for (const ShownEvent& shown_event : shown_events) {
      if (&shown_event < end_) continue;
      shown_ns_ += shown_event.task_ns;
      clean_ &= !shown_event.summed;
    }
    end_ = std::max<const ShownEvent*>(end_, shown_events.data() + shown_events.size());
  }

  void close(Times& times) {
    if (clean_ && activations_ != 0) {
      times.shown_ns += shown_ns_;
      times.worked_ns += worked_ns_;
      times.charged_ns += charged_ns_;
      times.activations += activations_;
    }
    worked_ns_ = charged_ns_ = shown_ns_ = activations_ = 0;
    clean_ = true;
  }

 private:
  const ShownEvent* end_ = nullptr;  // after the last one counted
  std::uint64_t worked_ns_ = 0;
  std::uint64_t charged_ns_ = 0;
  std::uint64_t shown_ns_ = 0;
  std::uint64_t activations_ = 0;
  bool clean_ = true;
};

// The host took the CPU meanwhile: the activation is there, but how long noised should have shown it is not known.
bool stretched(const Occurrence& activation, std::span<const ShownEvent> shown_events) {
  if (std::any_of(shown_events.begin(), shown_events.end(), [](const ShownEvent& s) { return s.stretched; }))
    return true;
  const auto wall_ns = static_cast<double>(activation.end_ns - activation.start_ns);
  const auto cpu_ns = static_cast<double>(activation.cpu_ns);
  return wall_ns - cpu_ns > cpu_ns * kStretch + static_cast<double>(kStretchFloor);
}

// An activation that does not show was booked on others, where a detour that holds all of it names who had the time:
// what a loss hides is unexplained.
bool blamed_on_others(const Truth& truth, const Occurrence& activation, std::span<const DetourView> detours) {
  return std::ranges::any_of(detours, [&](const DetourView& detour) {
    const std::uint64_t end_ns = detour.start_ns + detour.duration_ns;
    if (detour.cpu != truth.cpu || detour.start_ns > activation.start_ns || end_ns < activation.end_ns) return false;
    std::uint64_t unexplained_ns = 0;
    for (const DetourEntryView& entry : detour.entries) {
      if (entry.kind == "unexplained") unexplained_ns += entry.self_ns;
    }
    return static_cast<double>(unexplained_ns) < static_cast<double>(activation.cpu_ns) * (1 - kMostBlamed);
  });
}

void judge_activation(const Truth& truth, const Occurrence& activation, std::span<ShownEvent> shown_events,
                      std::span<const DetourView> detours, const Doubts& doubts, Row& row) {
  if (shown_events.empty()) {
    const bool blamed = blamed_on_others(truth, activation, detours);
    if (!blamed && doubts.excuse(activation)) {
      ++row.in_doubt;
      return;
    }
    if (blamed) ++row.misattributed;
    blame(truth, activation, 1, detours, row);
  } else if (std::any_of(shown_events.begin(), shown_events.end(), [](const ShownEvent& s) { return s.wrong_waker; })) {
    ++row.misattributed;
    ++row.missed;
    ++row.blamed["another waker"];
  } else if (std::any_of(shown_events.begin(), shown_events.end(), [](const ShownEvent& s) { return s.incomplete; })) {
    ++row.in_doubt;
  } else {
    ++row.found;
  }
}

// Whether the task was preempted on its way from one activation to the next, so that it shows once more in between;
// each preemption explains one such interval.
bool on_the_way(std::vector<Occurrence>& activations, const ShownEvent& shown_event) {
  const auto next = std::partition_point(activations.begin(), activations.end(),
                                         [&](const Occurrence& each) { return each.start_ns < shown_event.start_ns; });
  if (next == activations.end() || next->preempted == 0) return false;
  --next->preempted;
  return true;
}

/// Activations of one task; returns the number of detours in which noised showed it.
std::uint64_t match_task(const Truth& truth, unsigned source, std::span<const DetourView> detours, const Doubts& doubts,
                         Times& times, Row& row) {
  std::vector<Occurrence> activations = truth.occurrences;
  std::erase_if(activations, [source](const Occurrence& each) { return each.source != source; });
  const unsigned pid = activations.empty() ? 0 : activations.front().pid;
  std::vector<ShownEvent> shown_events =
      find_shown_events({{truth.sources[source]}, pid, {}, {}, truth.waker}, truth.cpu, detours);
  std::vector<bool> used(shown_events.size(), false);
  Group group;
  for (const Occurrence& activation : activations) {
    const std::span<ShownEvent> touched = touching(shown_events, activation);
    for (const ShownEvent& shown_event : touched)
      used[static_cast<std::size_t>(&shown_event - shown_events.data())] = true;
    const std::uint64_t found = row.found;
    judge_activation(truth, activation, touched, detours, doubts, row);
    const bool timed = row.found != found && activation.charged_ns != 0 && !stretched(activation, touched);
    group.add(activation, touched, timed, times);
  }
  group.close(times);
  std::uint64_t shown = 0;
  for (std::size_t i = 0; i < shown_events.size(); ++i) {
    if (!in_window(truth, shown_events[i])) continue;
    ++shown;
    if (!used[i] && !on_the_way(activations, shown_events[i])) ++row.misattributed;
  }
  return shown;
}

std::uint64_t match_activations(const Truth& truth, std::span<const DetourView> detours, const Doubts& doubts,
                                Row& row) {
  Times times;
  std::uint64_t shown = 0;
  for (unsigned source = 0; source < truth.sources.size(); ++source)
    shown += match_task(truth, source, detours, doubts, times, row);
  row.timed = times.activations;
  if (times.charged_ns != 0) {
    const double middle_ns = (static_cast<double>(times.worked_ns) + static_cast<double>(times.charged_ns)) / 2;
    row.time_error = static_cast<double>(times.shown_ns) / middle_ns - 1;
    row.time_uncertainty = std::abs(static_cast<double>(times.charged_ns) / middle_ns - 1);
  }
  return shown;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Wilson's lower bound of a share, one-sided, at 95%.
double least_share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  constexpr double kZ = 1.645;
  const auto n = static_cast<double>(whole);
  const double p = static_cast<double>(std::min(part, whole)) / n;
  const double middle = p + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return std::max(0.0, (middle - half) / (1 + kZ * kZ / n));
}

std::string blamed_text(const Row& row) {
  std::string text;
  for (const auto& [name, count] : row.blamed) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? text : "; noised showed there: " + text;
}

// Why too little is known to say anything; empty: enough is.
std::string why_undecided(const Truth& truth, const Row& row) {
  const std::uint64_t judged = row.found + row.missed;
  if (row.least_recall() < kLeastCertain) return fmt::format("only {} could be judged, which proves little", judged);
  if (share(judged, row.injected) < kLeastJudged)
    return fmt::format("only {} of {} could be judged: the host, or a loss, touched the others", judged, row.injected);
  if (truth.shape == Shape::activations && share(row.timed, row.injected) < kLeastTimed)
    return fmt::format("only {} of {} could be timed", row.timed, row.injected);
  // The host had the CPU while the kernel charged the task for it.
  if (row.time_error && row.time_uncertainty > kLargestTimeError)
    return fmt::format("the kernel's account is known within {:.1f}% only", row.time_uncertainty * 100);
  return {};
}

std::string why_not(const Truth& truth, const Row& row) {
  if (row.injected == 0) return "nothing was injected";
  if (truth.kernel && truth.kernel->count < row.injected)
    return fmt::format("the generator is wrong: {} counts only {}", truth.kernel->counter, truth.kernel->count);
  const std::uint64_t judged = row.found + row.missed;
  if (share(row.found, judged) < kLeastRecall)
    return fmt::format("found {} of {}{}", row.found, judged, blamed_text(row));
  if (share(row.misattributed, row.shown) > 1 - kLeastPrecision)
    return fmt::format("{} of the {} shown were not done", row.misattributed, row.shown);
  if (row.time_error && std::abs(*row.time_error) > std::max(kLargestTimeError, row.time_uncertainty))
    return "the time is wrong";
  return {};
}

// Nothing may show; but where nothing at all was shown, that says nothing.
std::string why_not_absent(const Truth& truth, std::span<const DetourView> detours, Row& row) {
  for (const ShownEvent& each : find_shown_events({truth.sources, 0, {}, {}, {}}, truth.cpu, detours))
    row.misattributed += in_window(truth, each) ? each.intervals : 0;
  if (row.misattributed != 0) return fmt::format("{} shown where none was", row.misattributed);
  const bool any = std::any_of(detours.begin(), detours.end(), [&](const DetourView& detour) {
    return detour.cpu == truth.cpu && detour.start_ns >= truth.first_ns && detour.start_ns <= truth.last_ns;
  });
  return any ? "" : "no detour of the CPU was shown at all";
}

}  // namespace

double Row::least_recall() const { return least_share(found, found + missed); }

double Row::least_precision() const { return shared ? 0 : least_share(shown - std::min(shown, misattributed), shown); }

Row compare(const Truth& truth, std::span<const DetourView> detours, const Losses& losses) {
  Row row;
  row.mode = truth.mode;
  row.cpu = truth.cpu;
  row.how = truth.how;
  if (!truth.unsupported.empty()) {
    row.verdict = Verdict::unsupported;
    row.reason = truth.unsupported;
    return row;
  }
  row.injected = truth.injected();
  const Doubts doubts(truth, detours, losses);
  switch (truth.shape) {
    case Shape::events:
      row.shown = match_events(truth, detours, doubts, row);
      row.reason = why_not(truth, row);
      break;
    case Shape::activations:
      row.shown = match_activations(truth, detours, doubts, row);
      row.reason = why_not(truth, row);
      break;
    case Shape::absence:
      row.reason = why_not_absent(truth, detours, row);
      break;
  }
  // Noise that could not be made, like too little of it, says nothing of noised.
  const bool nothing_done = row.injected == 0 && row.misattributed == 0;
  if (truth.shape != Shape::absence && (nothing_done || row.reason.empty())) {
    if (row.injected != 0) row.reason = why_undecided(truth, row);
    row.undecided = !row.reason.empty();
  }
  row.verdict = row.reason.empty() ? Verdict::pass : Verdict::fail;
  return row;
}

bool all_pass(const std::vector<Row>& rows) {
  const auto is = [](Verdict verdict) { return [verdict](const Row& row) { return row.verdict == verdict; }; };
  return std::any_of(rows.begin(), rows.end(), is(Verdict::pass)) &&
         std::none_of(rows.begin(), rows.end(), is(Verdict::fail));
}

}  // namespace noised::selftest
