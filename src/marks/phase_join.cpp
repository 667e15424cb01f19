// SPDX-License-Identifier: Apache-2.0
// Losses are kept until no phase can be told any more that they touch.
#include "marks/phase_join.h"

#include <algorithm>

namespace noised::marks {
namespace {

using Wide = unsigned __int128;

constexpr std::size_t kOpen = 64;         // phases in one another; of more, the outermost are unpaired
constexpr std::size_t kOver = 1U << 20U;  // of a thread, that wait for their losses; the oldest are counted without
constexpr std::size_t kLosses = 8192;     // of a thread, before the older half is added to what it touches
// A thread that is stopped between the clock's reading and its mark loses time before anybody sees the mark.
constexpr std::size_t kRecent = 16;
constexpr std::uint64_t kQuietNs = 1'000'000'000;  // a thread that has not marked for so long may have ended

std::uint64_t end_of(const LossView& loss) { return loss.start_ns + loss.duration_ns; }

}  // namespace

unsigned PhaseJoin::phase(const std::string& name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  if (names_.size() == kNames) return 0;
  const auto number = static_cast<unsigned>(names_.size());
  numbers_.emplace(name, number);
  names_.push_back(name);
  totals_.emplace_back();
  return number;
}

void PhaseJoin::add(Thread& thread, const TimedMark& mark) {
  thread.last_ns = std::max(thread.last_ns, mark.ns);
  if (!mark.end) {
    if (thread.open.size() == kOpen) {
      thread.open.erase(thread.open.begin());
      ++missing_.unpaired;
    }
    thread.open.push_back(
        {.phase = mark.phase, .start_ns = mark.ns, .end_ns = UINT64_MAX, .incomplete = false, .stolen = {}});
    return;
  }
  const auto begun = std::find_if(thread.open.rbegin(), thread.open.rend(),
                                  [&](const Phase& open) { return open.phase == mark.phase; });
  if (begun == thread.open.rend() || mark.ns < begun->start_ns) {
    ++missing_.unpaired;
    return;
  }
  missing_.unpaired += static_cast<std::uint64_t>(begun - thread.open.rbegin());
  thread.open.erase(begun.base(), thread.open.end());
  thread.over.push_back(std::move(thread.open.back()));
  thread.open.pop_back();
  thread.over.back().end_ns = mark.ns;
}

void PhaseJoin::add(std::uint32_t tid, std::span<const TimedMark> marks, std::uint64_t lost) {
  Thread& thread = threads_[tid];
  if (lost != 0) {  // an end may be among them
    missing_.marks += lost;
    missing_.unpaired += thread.open.size();
    thread.open.clear();
  }
  for (const TimedMark& mark : marks) add(thread, mark);
  if (thread.over.size() <= kOver) return;
  missing_.unsettled += thread.over.size() - kOver;
  thread.over.erase(thread.over.begin(), thread.over.end() - static_cast<std::ptrdiff_t>(kOver));
}

// Of a loss that the phase's edge divides, each source has as much inside as its share of the whole is.
void PhaseJoin::take(const LossView& loss, Phase& phase) {
  const std::uint64_t from_ns = std::max(loss.start_ns, phase.start_ns);
  const std::uint64_t to_ns = std::min(end_of(loss), phase.end_ns);
  if (from_ns >= to_ns) return;
  const std::uint64_t inside_ns = to_ns - from_ns;
  phase.incomplete |= loss.incomplete;
  std::uint64_t before_ns = 0;
  std::uint64_t taken_ns = 0;
  for (const auto& [source, ns] : loss.parts) {
    before_ns += ns;
    const auto up_to_ns = static_cast<std::uint64_t>(Wide{before_ns} * inside_ns / loss.duration_ns);
    add_time(phase.stolen, source, up_to_ns - taken_ns);
    taken_ns = up_to_ns;
  }
}

void PhaseJoin::add(Thread& thread, const LossView& loss) {
  const auto touches = [&](const Phase& phase) {
    return loss.start_ns < phase.end_ns && phase.start_ns < end_of(loss);
  };
  // Its way back from the switch is in it, so that it ends a little after the run began (0.3 to 1.4 us).
  const bool before_run = loss.start_ns < thread.run_ns && thread.run_ns <= end_of(loss);
  const bool late = loss.start_ns < thread.told_ns && !before_run && std::ranges::none_of(thread.over, touches) &&
                    std::ranges::none_of(thread.open, touches);
  if (late) ++missing_.losses;
  const auto place = std::upper_bound(thread.losses.begin(), thread.losses.end(), loss.start_ns,
                                      [](std::uint64_t ns, const LossView& other) { return ns < other.start_ns; });
  thread.losses.insert(place, loss);
}

void PhaseJoin::count(std::uint32_t tid, const Thread& thread, Phase& phase) {
  if (phase.start_ns < since_ns_) {
    ++missing_.early;
    return;
  }
  if (!watched_.contains(tid)) {
    ++missing_.unwatched;
    return;
  }
  // Losses of a thread do not overlap, so that their ends are in the order of their starts.
  auto loss = std::partition_point(thread.losses.begin(), thread.losses.end(),
                                   [&](const LossView& each) { return end_of(each) <= phase.start_ns; });
  for (; loss != thread.losses.end() && loss->start_ns < phase.end_ns; ++loss) take(*loss, phase);
  totals_[phase.phase].add({.pid = tid,
                            .start_ns = phase.start_ns,
                            .end_ns = phase.end_ns,
                            .incomplete = phase.incomplete,
                            .stolen = std::move(phase.stolen)});
}

void PhaseJoin::forget_old(Thread& thread) {
  std::uint64_t needed_ns = thread.last_ns;
  for (const Phase& phase : thread.open) needed_ns = std::min(needed_ns, phase.start_ns);
  for (const Phase& phase : thread.over) needed_ns = std::min(needed_ns, phase.start_ns);
  std::erase_if(thread.losses, [needed_ns](const LossView& loss) { return end_of(loss) <= needed_ns; });
  if (thread.losses.size() > kLosses) forget_most(thread);
}

// In a long phase, or after the last one: what was taken is enough to know.
void PhaseJoin::forget_most(Thread& thread) {
  const auto recent = thread.losses.end() - static_cast<std::ptrdiff_t>(kRecent);
  for (auto loss = thread.losses.begin(); loss != recent; ++loss) {
    for (Phase& phase : thread.open) take(*loss, phase);
    for (Phase& phase : thread.over) take(*loss, phase);
  }
  thread.losses.erase(thread.losses.begin(), recent);
}

void PhaseJoin::settle(std::uint32_t tid, Thread& thread, std::uint64_t settled_ns, std::uint64_t run_start_ns) {
  std::erase_if(thread.over, [&](Phase& phase) {
    const bool waited = phase.start_ns < run_start_ns && run_start_ns <= phase.end_ns;
    if (phase.end_ns > settled_ns || waited) return false;
    thread.told_ns = std::max(thread.told_ns, phase.end_ns);
    count(tid, thread, phase);
    return true;
  });
  forget_old(thread);
}

// Who has no ring marks nothing: one that is created now begins its first phase after these losses.
void PhaseJoin::add(const LossesView& losses) {
  since_ns_ = losses.since_ns;
  missing_.losses += losses.dropped;
  watched_.insert(losses.watched.begin(), losses.watched.end());
  for (const LossSource& source : losses.sources) sources_[source.number] = {source.category, source.kind, source.name};
  for (const LossView& loss : losses.losses) {
    const auto thread = threads_.find(loss.pid);
    if (thread != threads_.end()) add(thread->second, loss);
  }
  const std::unordered_map<std::uint32_t, std::uint64_t> running(losses.running.begin(), losses.running.end());
  for (auto& [tid, thread] : threads_) {
    const auto run = running.find(tid);
    if (run != running.end()) thread.run_ns = run->second;
    settle(tid, thread, losses.settled_ns, run == running.end() ? 0 : run->second);
  }
  std::erase_if(threads_, [&](const auto& each) {
    const Thread& thread = each.second;
    return thread.open.empty() && thread.over.empty() && thread.last_ns + kQuietNs < losses.settled_ns;
  });
}

void PhaseJoin::finish() {
  for (auto& [tid, thread] : threads_) {
    missing_.unsettled += thread.over.size();
    missing_.unpaired += thread.open.size();
    thread.over.clear();
    thread.open.clear();
  }
}

std::vector<MarkedPhase> PhaseJoin::view() const {
  std::vector<MarkedPhase> phases;
  phases.reserve(totals_.size());
  for (std::size_t at = 0; at < totals_.size(); ++at) {
    if (totals_[at].empty()) continue;
    phases.push_back(totals_[at].view(sources_));
    phases.back().name = names_[at];
  }
  std::ranges::sort(phases, [](const MarkedPhase& a, const MarkedPhase& b) { return a.all.total_ns > b.all.total_ns; });
  return phases;
}

}  // namespace noised::marks
