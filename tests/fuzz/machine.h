// SPDX-License-Identifier: Apache-2.0
// One watched CPU from its rings to the report: the parts of the pipeline, without a kernel, in the order in which a
// drain takes them, and what must hold of all that comes out. The clock is the fuzzer's: the same bytes do the same.
#pragma once

#include <noised/abi.h>

#include <utility>
#include <vector>

#include "account/detour_feed.h"
#include "account/loop_cpu.h"
#include "account/lost_counts.h"
#include "account/report_builder.h"
#include "fuzz.h"
#include "pipeline/chains.h"
#include "probe/detour_ring.h"
#include "system/records.h"
#include "view.h"

namespace noised::fuzz {

using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::probe;
using namespace noised::system;

// Like a new one, which is 5 MB and takes longer to make than all else.
inline CauseMatcher& fresh_causes() {
  static const CauseMatcher fresh;
  static CauseMatcher used;
  return used = fresh;
}

/// One at a time.
class Machine {
 public:
  void add_record(const void* bytes, std::size_t size) {
    hand_over(bytes, size,
              [&](const noised_record& record, const char* comm, const noised_run_record*) { take(record, comm); });
  }
  void add_origin(const void* bytes, std::size_t size) {
    hand_over_origin(bytes, size, [&](const noised_origin& origin) {
      if (is_sound(origin, now_ns_)) return causes_.add(origin);
      origins_missing_ = true;
    });
  }
  void pass(std::uint64_t ns) { now_ns_ += ns; }
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }

  /// A drain: what came since the last, and one gap of the loop's that began `ago_ns` before now.
  void drain(std::uint64_t ago_ns, std::uint64_t length_ns, GapKind kind) {
    Detour detour;
    detour.start_ns = std::max(last_end_ns_, now_ns_ - std::min(now_ns_, ago_ns));
    detour.end_ns = detour.start_ns + length_ns;
    now_ns_ = std::max(now_ns_, detour.end_ns);
    last_end_ns_ = now_ns_;
    const bool lost = join(kind == GapKind::detour ? UINT64_MAX : detour.end_ns);
    if (kind == GapKind::rested) {
      watched_.rest(detour);
    } else if (kind == GapKind::moved || doubt_.take_stopped(detour)) {
      watched_.skip(detour);
      causes_.forget(now_ns_);
    } else {
      detour.in_doubt = doubt_.touch(detour);
      check(detour.in_doubt || !lost, "a detour that a bad record touches is in doubt");
      add(detour);
    }
    doubt_.unseen_ns().clear();
  }

  /// All that was counted, as the daemon reports it; `as_text` too, which takes ten times as long.
  void check_report(bool as_text) {
    drain(0, 1'000'000, GapKind::detour);
    check(watched_.matcher().held() == 0, "no interval holds up the others");
    watched_.finish(now_ns_);
    const Containment& containment = watched_.matcher().containment();
    check(containment.contained <= containment.eligible, "no more intervals are contained than there are");
    Snapshot snapshot;
    snapshot.cpus.resize(1);
    watched_.statistics().copy_to(snapshot.cpus[0].statistics);
    const Report report = build_report(snapshot, sources_, {});
    check_cpu(report.cpus.at(0));
    std::uint64_t total_ns = 0;
    for (const ReportSource& source : report.sources) total_ns += source.total_ns;
    check(total_ns == detour_ns_, "the sources sum to the detours");
    std::uint64_t count = 0;
    for (const ReportCombination& combination : report.combinations) count += combination.count;
    check(count == detours_, "each detour has one combination");
    if (!as_text) return;
    check_view(views::to_json(report), views::parse_report);
    check_view(views::to_json(to_view(fed_, sources_)), views::parse_detour);
  }

 private:
  static constexpr std::uint64_t kToleranceNs = 20;
  static constexpr std::string_view kSymbols =
      "ffffffff81000100 t tick_nohz_handler\nffffffff81000200 t resched_curr\n";

  void take(const noised_record& record, const char* comm) {
    switch (meaning_of(record, comm, now_ns_)) {
      case Meaning::interval:
        intervals_.push_back(Interval{record.start_ns, record.start_ns + record.duration_ns,
                                      names_.resolve(record, comm), static_cast<Kind>(record.kind), record.flags,
                                      record.id, 0});
        break;
      case Meaning::unseen:
        doubt_.unseen_ns().push_back(record.start_ns);
        break;
      case Meaning::stopped:
        doubt_.stopped_ns().push_back(record.start_ns);
        break;
      case Meaning::stolen:
        watched_.add(StealWindow{record.start_ns, record.start_ns + record.duration_ns, record.id});
        break;
      case Meaning::bad:
        bad_ = true;
        break;
    }
  }

  // Returns whether a record was bad. Nothing was observed just before `back_ns`.
  bool join(std::uint64_t back_ns) {
    const bool lost = std::exchange(bad_, false);
    doubt_.look(lost, now_ns_, now_ns_);
    const bool missing = std::exchange(origins_missing_, false);
    const bool causes_known = !lost && !missing;
    if (!causes_known) causes_.forget(now_ns_);
    for (Interval& interval : intervals_) {
      if (interval.end_ns >= back_ns) causes_.unobserved_until(std::exchange(back_ns, UINT64_MAX));
      if (causes_known) interval.cause = causes_.cause_of(interval);
      check(watched_.add(interval), "there is room for an interval");
    }
    if (back_ns != UINT64_MAX) causes_.unobserved_until(back_ns);
    causes_.settle(now_ns_);
    intervals_.clear();
    return lost;
  }

  void add(const Detour& detour) {
    const DetourLedger& ledger = watched_.add(detour, kToleranceNs);
    check_ledger(ledger);
    check(!detour.in_doubt || ledger.detour.in_doubt, "what was in doubt stays in doubt");
    const auto describe = [&](const DetourLedger& described, std::size_t index, FeedDetour& to) {
      chains_.describe(described, index, causes_, now_ns_, to);
    };
    to_feed(0, ledger, sources_, describe, fed_);
    check_shown(ledger);
    ++detours_;
    detour_ns_ += detour.end_ns - detour.start_ns;
  }

  static void check_ledger(const DetourLedger& ledger) {
    const std::uint64_t duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
    check(ledger.adds_up_to(duration_ns), "the ledger adds up");
    check(!ledger.detour.in_doubt || ledger.outside_ns() == 0, "a detour in doubt is booked on nobody");
    check(ledger.detour.in_doubt || ledger.unexplained_ns == 0, "a detour without doubt is explained");
    std::uint64_t self_ns = 0;
    for (const LedgerEntry& entry : ledger.entries) {
      check(entry.self_ns <= duration_ns - self_ns, "no interval has more than is left of the detour");
      check(entry.start_ns >= ledger.detour.start_ns && entry.start_ns + entry.self_ns <= ledger.detour.end_ns,
            "an interval's time is the detour's");
      self_ns += entry.self_ns;
    }
    check(self_ns == ledger.explained_ns, "what is explained is the intervals' own");
  }

  void check_shown(const DetourLedger& ledger) const {
    const DetourView view = to_view(fed_, sources_);
    std::uint64_t sum_ns = view.overhead_ns;
    for (const DetourEntryView& entry : view.entries) sum_ns += entry.self_ns;
    check(sum_ns == view.duration_ns, "a detour as shown adds up");
    check(view.incomplete == ledger.detour.in_doubt, "a detour in doubt is shown as incomplete");
  }

  void check_cpu(const ReportCpu& cpu) const {
    const std::uint64_t sum_ns =
        cpu.explained_ns + cpu.overhead_ns + cpu.hypervisor_ns + cpu.hardware_ns + cpu.unexplained_ns;
    check(sum_ns == cpu.detour_ns && cpu.detour_ns == detour_ns_, "the totals are those of the detours");
    check(cpu.detours == detours_, "each detour is counted once");
    check(cpu.hardware_ns == 0, "on a virtual machine nothing is the hardware's");
  }

  std::uint64_t now_ns_ = 1'000'000;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t detours_ = 0;
  std::uint64_t detour_ns_ = 0;
  bool bad_ = false;
  bool origins_missing_ = false;
  std::vector<Interval> intervals_;
  SourceTable sources_;
  Names names_{sources_, Kallsyms::parse(kSymbols), "/nonexistent"};
  Services services_{"", "/nonexistent"};
  Chains chains_{names_, sources_, services_};
  CauseMatcher& causes_ = fresh_causes();
  DoubtfulTimes doubt_{0};
  LoopCpu watched_{{.threshold_ns = 200}, sources_};
  FeedDetour fed_;
};

}  // namespace noised::fuzz
