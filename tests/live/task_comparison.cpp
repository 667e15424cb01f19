// SPDX-License-Identifier: Apache-2.0
// Counts are the same to the last one. Of times, no bound is a number: noised's program at a tracepoint runs between it
// and the next on that CPU, and the kernel reads its clock between two tracepoints, however long a host keeps it.
#include "task_comparison.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/clocks.h"

namespace noised::live {

void TickClock::read() {
  moments_.push_back(read_moment());
  timespec raw{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
  const std::uint64_t since_ns = monotonic_ns() - moments_.back().ns;
  unadjusted_ns_.push_back(static_cast<std::uint64_t>(raw.tv_sec) * 1'000'000'000U +
                           static_cast<std::uint64_t>(raw.tv_nsec) - since_ns);
}

namespace {

std::int64_t on_line(const Moment& a, const Moment& b, std::uint64_t ticks) {
  const double rate = static_cast<double>(b.ns - a.ns) / static_cast<double>(b.ticks - a.ticks);
  return static_cast<std::int64_t>(a.ns) +
         static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks - a.ticks)) * rate);
}

}  // namespace

std::int64_t TickClock::to_ns(std::uint64_t ticks) const {
  const auto after = std::ranges::upper_bound(moments_, ticks, {}, &Moment::ticks);
  const auto at = std::clamp<std::ptrdiff_t>(after - moments_.begin(), 1, std::ssize(moments_) - 1);
  return on_line(*(moments_.begin() + at - 1), *(moments_.begin() + at), ticks);
}

std::int64_t TickClock::doubt_ns() const {
  std::int64_t most = 0;
  for (std::size_t at = 1; at + 1 < moments_.size(); ++at) {
    const std::int64_t expected = on_line(moments_[at - 1], moments_[at + 1], moments_[at].ticks);
    most = std::max(most, std::abs(expected - static_cast<std::int64_t>(moments_[at].ns)));
  }
  return 2 * most;
}

double TickClock::skew() const {
  const auto adjusted = static_cast<double>(moments_.back().ns - moments_.front().ns);
  const auto unadjusted = static_cast<double>(unadjusted_ns_.back() - unadjusted_ns_.front());
  return std::abs(unadjusted / adjusted - 1);
}

void Compared::add(std::int64_t told, std::int64_t recounted) {
  ++count;
  told_ns += told;
  recounted_ns += recounted;
  largest_ns = std::max(largest_ns, std::abs(told - recounted));
}

Compared& Compared::operator+=(const Compared& other) {
  count += other.count;
  told_ns += other.told_ns;
  recounted_ns += other.recounted_ns;
  largest_ns = std::max(largest_ns, other.largest_ns);
  beyond += other.beyond;
  return *this;
}

namespace {

class Comparison {
 public:
  Comparison(const ToldTasks& told, const TickClock& clock, std::int64_t end_ns)
      : told_(told), clock_(clock), doubt_ns_(clock.doubt_ns()), end_ns_(end_ns) {
    const ReportLost& lost = told.report.lost;
    excused_ = lost.events + lost.unpaired + lost.missed_runs;
  }

  TaskComparison compare(const TaskRecount& recounted) {
    for (const std::string& line : recounted.contradictions) result_.disagreements.push_back("ftrace: " + line);
    std::set<int> told;
    for (const WatchTask& task : told_.report.tasks) {
      const auto pid = static_cast<int>(task.pid);
      const auto found = recounted.tasks.find(pid);
      told.insert(pid);
      begin_task(pid, task.name);
      if (found == recounted.tasks.end() || found->second.runs.empty()) {
        disagree("is noised's alone");
        continue;
      }
      compare_task(task, told_.tasks.at(pid), found->second);
    }
    for (const auto& [pid, task] : recounted.tasks) {
      begin_task(pid, "?");
      if (!told.contains(pid) && !task.runs.empty() && !excuses(task.runs.size())) disagree("is ftrace's alone");
    }
    if (told_.report.tasks_seen != told.size()) disagree("is the last of fewer tasks than were seen");
    check_share(&ComparedTask::runs, "runs");
    check_share(&ComparedTask::interruptions, "interruptions");
    return std::move(result_);
  }

 private:
  void begin_task(int pid, const std::string& name) { who_ = name + " (" + std::to_string(pid) + ")"; }
  void disagree(const std::string& what) { result_.disagreements.push_back(who_ + " " + what); }

  // What is missing may be what noised says that it lost, once.
  bool excuses(std::uint64_t missing) {
    if (missing > excused_) return false;
    excused_ -= missing;
    result_.exceptions.lost += missing;
    return true;
  }

  bool same_count(const std::string& what, std::uint64_t told, std::uint64_t recounted) {
    if (told == recounted) return true;
    if (told > recounted || !excuses(recounted - told))
      disagree("has " + std::to_string(told) + " " + what + ", by ftrace " + std::to_string(recounted));
    return false;
  }

  // Something that noised noted at a tracepoint, after ftrace. Where the kernel refused the program's run, noised has
  // the begin of another interval there.
  void check_moment(const std::string& what, std::uint64_t told_ns, const Between& ticks, bool may_be_lost = false) {
    const auto told = static_cast<std::int64_t>(told_ns);
    const std::int64_t least = clock_.to_ns(ticks.least) - doubt_ns_;
    const std::int64_t most = ticks.most == UINT64_MAX ? INT64_MAX : clock_.to_ns(ticks.most) + doubt_ns_;
    if (told < least || told > most) {
      if (may_be_lost && excuses(1)) return;
      disagree(what + " is told at " + std::to_string(told) + ", by ftrace from " + std::to_string(least) + " to " +
               std::to_string(most));
    }
  }

  void compare_task(const WatchTask& view, const ToldTask& told, const RecountedTask& recounted) {
    ComparedTask task{static_cast<int>(view.pid), view.name, {}, {}, {}};
    std::uint64_t signalled = 0;
    Between yielded_ns;
    if (same_count("runs", told.runs.size(), recounted.runs.size())) {
      bool after_signal = false;
      for (std::size_t at = 0; at < told.runs.size(); ++at) {
        compare_run(told.runs[at], recounted.runs[at], task.runs);
        compare_wait(told.runs[at], recounted.runs[at], after_signal, yielded_ns, task.waits);
        after_signal = recounted.runs[at].runnable && !told.runs[at].involuntary;
        signalled += after_signal ? 1 : 0;
      }
      if (signalled > recounted.signals)
        disagree("left " + std::to_string(signalled) + " times of its own will, by ftrace it could run on");
      result_.exceptions.signalled += signalled;
      check_report(view, told, recounted, yielded_ns);
    }
    compare_interruptions(told, recounted, task.interruptions);
    result_.tasks.push_back(std::move(task));
  }

  void compare_run(const ToldRun& told, const RecountedRun& recounted, Compared& runs) {
    check_moment("begin of a run", told.start_ns, recounted.in);
    check_moment("end of a run", told.start_ns + told.duration_ns, recounted.out);
    if (told.involuntary && !recounted.runnable) disagree("was switched out against its will, by ftrace it slept");
    if (told.ended != recounted.ended) disagree("does not end with the same run");
    if (told.migrated != recounted.migrated) disagree("does not move with the same run");
    const auto ns = static_cast<std::int64_t>(told.duration_ns);
    const std::int64_t by_ftrace = clock_.to_ns(recounted.out.least) - clock_.to_ns(recounted.in.least);
    runs.add(ns, by_ftrace);
    if (std::abs(ns - by_ftrace) > 2 * end_ns_) ++runs.beyond;
  }

  // The wait before a run.
  void compare_wait(const ToldRun& told, const RecountedRun& run, bool after_signal, Between& yielded_ns,
                    Compared& waits) {
    const RecountedWait& wait = run.wait;
    const std::int64_t from_least = clock_.to_ns(wait.from.least);
    const std::int64_t from_most = clock_.to_ns(wait.from.most);
    // Noised counts until its own begin of the run then.
    const std::int64_t to_most =
        wait.handed_over ? static_cast<std::int64_t>(told.start_ns) : clock_.to_ns(wait.to.most);
    const std::int64_t slack =
        doubt_ns_ + static_cast<std::int64_t>(static_cast<double>(to_most - from_least) * (clock_.skew() + kRounding)) +
        1;
    const std::int64_t to_least = clock_.to_ns(wait.to.least - wait.moving_ticks);
    const std::int64_t least = std::max<std::int64_t>(to_least - from_most - slack, 0);
    const std::int64_t most = to_most - from_least + slack;
    const auto ns = static_cast<std::int64_t>(told.waited_ns);
    if (wait.reason == WaitReason::yielded || (wait.may_be_yielded && ns == 0)) {
      ++result_.yields;
      yielded_ns.least += static_cast<std::uint64_t>(least);
      yielded_ns.most += static_cast<std::uint64_t>(most);
      if (ns != 0) disagree("is told a wait for a CPU that it gave away");
      return;
    }
    if (wait.reason == WaitReason::unknown) return disagree("ran, by ftrace nobody knows why");
    const bool is_queued = wait.reason == WaitReason::woken || after_signal;
    if (ns != 0 && told.wait != (is_queued ? "queued" : "preempted")) disagree("was " + told.wait + " otherwise");
    if (ns < least || ns > most)
      disagree("waited " + std::to_string(ns) + " ns (" + (is_queued ? "queued" : "preempted") + "), by ftrace from " +
               std::to_string(least) + " to " + std::to_string(most));
    waits.add(ns, clock_.to_ns(run.in.least) - clock_.to_ns(wait.begin_ticks));
    if (ns == 0) {
      ++result_.exceptions.uncounted;
      result_.exceptions.uncounted_ns += clock_.to_ns(run.in.least) - clock_.to_ns(wait.begin_ticks);
    }
    if (wait.moving_ticks != 0) ++result_.exceptions.moved;
    if (wait.handed_over_late) ++result_.exceptions.handed_over_late;
  }

  // The report has the sums of what was compared one by one.
  void check_report(const WatchTask& view, const ToldTask& told, const RecountedTask& recounted,
                    const Between& yielded_ns) {
    WatchCounts sums;
    for (const ToldRun& run : told.runs) {
      ++sums.runs;
      sums.run_ns += run.duration_ns;
      sums.migrations += run.migrated ? 1 : 0;
      ++(run.involuntary ? sums.involuntary : sums.voluntary);
      (run.wait == "preempted" ? sums.preempted_ns : sums.queued_ns) += run.waited_ns;
      sums.max_wait_ns = std::max(sums.max_wait_ns, run.waited_ns);
    }
    std::uint64_t may_be_yields = 0;
    for (const RecountedRun& run : recounted.runs) {
      sums.yields += run.yielded ? 1 : 0;
      may_be_yields += run.wait.may_be_yielded ? 1 : 0;
    }
    const WatchCounts& counts = view.counts;
    const auto same = [&](const char* what, std::uint64_t reported, std::uint64_t sum) {
      if (reported != sum) disagree("reports " + std::to_string(reported) + " " + what + " of " + std::to_string(sum));
    };
    same("runs", counts.runs, sums.runs);
    same("ns of runs", counts.run_ns, sums.run_ns);
    same("voluntary switches", counts.voluntary, sums.voluntary);
    same("involuntary switches", counts.involuntary, sums.involuntary);
    same("migrations", counts.migrations, sums.migrations);
    same("ns preempted", counts.preempted_ns, sums.preempted_ns);
    same("ns queued", counts.queued_ns, sums.queued_ns);
    same("ns of the longest wait", counts.max_wait_ns, sums.max_wait_ns);
    if (counts.yields < sums.yields || counts.yields > sums.yields + may_be_yields)
      disagree("yielded " + std::to_string(counts.yields) + " times, by ftrace " + std::to_string(sums.yields) +
               " or " + std::to_string(may_be_yields) + " more");
    same("unseen runs", counts.unseen_runs, 0);
    same("end", view.ended ? 1 : 0, told.runs.back().ended ? 1 : 0);
    if (counts.yielded_ns < yielded_ns.least || counts.yielded_ns > yielded_ns.most)
      disagree("gave " + std::to_string(counts.yielded_ns) + " ns away, by ftrace from " +
               std::to_string(yielded_ns.least) + " to " + std::to_string(yielded_ns.most));
  }

  void compare_interruptions(const ToldTask& told, const RecountedTask& recounted, Compared& interruptions) {
    std::map<std::string, std::vector<const ToldInterruption*>> by_source;
    std::map<std::string, std::vector<std::size_t>> by_ftrace;
    for (const ToldInterruption& each : told.interruptions) by_source[each.source].push_back(&each);
    for (std::size_t at = 0; at < recounted.interruptions.size(); ++at) {
      const Recounted& each = recounted.interruptions[at].first;
      const bool own_call = each.depth == 1 && each.source.starts_with("csd:");
      if (!own_call) by_ftrace[each.source].push_back(at);
    }
    for (const auto& [source, all] : by_source) {
      if (!by_ftrace.contains(source)) disagree("has " + std::to_string(all.size()) + " " + source + ", ftrace none");
    }
    for (const auto& [source, all] : by_ftrace) {
      const auto& others = by_source[source];
      if (!same_count(source, others.size(), all.size())) continue;
      for (std::size_t at = 0; at < all.size(); ++at) {
        const auto& [one, after_start] = recounted.interruptions[all[at]];
        check_moment(source, others[at]->start_ns, {one.start_ticks, after_start}, true);
        const auto ns = static_cast<std::int64_t>(others[at]->self_ns);
        const std::int64_t ns_by_ftrace =
            clock_.to_ns(one.end_ticks - one.nested_ticks) - clock_.to_ns(one.start_ticks);
        interruptions.add(ns, ns_by_ftrace);
        if (std::abs(ns - ns_by_ftrace) > 2 * (1 + static_cast<std::int64_t>(one.nested)) * end_ns_)
          ++interruptions.beyond;
      }
    }
  }

  // An end costs less than `end_ns_` in 90% of cases: of a few, each may be one of the others.
  void check_share(Compared ComparedTask::* figure, const char* what) {
    constexpr std::uint64_t kEnough = 50;
    Compared all;
    for (const ComparedTask& task : result_.tasks) all += task.*figure;
    who_ = "of " + std::to_string(all.count) + " " + what;
    if (all.count >= kEnough && all.beyond * 10 > all.count)
      disagree(std::to_string(all.beyond) + " differ by more than both tracers cost");
  }

  static constexpr double kRounding = 1e-6;  // of the factors by which the kernel's clocks multiply the counter

  const ToldTasks& told_;
  const TickClock& clock_;
  std::int64_t doubt_ns_;
  std::int64_t end_ns_;
  std::uint64_t excused_;
  std::string who_;
  TaskComparison result_;
};

}  // namespace

TaskComparison compare_tasks(const ToldTasks& told, const TaskRecount& recounted, const TickClock& clock,
                             std::int64_t end_ns) {
  return Comparison(told, clock, end_ns).compare(recounted);
}

}  // namespace noised::live
