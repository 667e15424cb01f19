// SPDX-License-Identifier: Apache-2.0
// More events than the ring holds: nothing breaks, every event is counted as recorded or as lost, and no detour that
// misses one passes for complete.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "ftrace.h"
#include "loads.h"
#include "measurement.h"
#include "recount.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr const char* kHandling = "handle_mm_fault";

// All but the faults, which are too many for ftrace: those the kernel counts for the thread.
std::vector<std::string> events_but_faults() {
  std::vector<std::string> events = recounted_events();
  std::erase_if(events, [](const std::string& event) { return event.starts_with("exceptions/"); });
  return events;
}

struct Overloaded {
  Report report;
  std::vector<DetourView> detours;
  std::uint64_t orphans = 0;
  Faults faults;
  std::vector<Recounted> others;
  Moment before_begin, after_begin, before_end, after_end;
  std::uint64_t load_from_ns = 0;
  std::uint64_t load_until_ns = 0;  // and what it left was drained
  std::uint64_t milliseconds = 0;   // of the load
  std::uint64_t late_ns = 0;        // the longest time without a drain under load

  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const {
    const auto rate =
        static_cast<double>(before_end.ns - after_begin.ns) / static_cast<double>(before_end.ticks - after_begin.ticks);
    return after_begin.ns + static_cast<std::uint64_t>(static_cast<double>(ticks - after_begin.ticks) * rate);
  }
};

// The ring is drained every 25 ms, after `rest_ms` more in which it is not.
Overloaded overload(std::uint64_t buffer_bytes, std::uint64_t load_ms, std::uint64_t rest_ms) {
  const unsigned cpu = probed_cpu();
  Overloaded outcome;
  outcome.milliseconds = load_ms;
  MeasurementOptions options;
  options.buffer_bytes = buffer_bytes;
  Ftrace ftrace(cpu, events_but_faults());
  Measurement measurement(cpu, options);
  outcome.before_begin = read_moment();
  measurement.begin();
  outcome.after_begin = read_moment();
  // Something that is complete: where the CPU is isolated and has no tick, the loop alone has no detours.
  measurement.run(200, [&] { sleep_on(cpu, 150); });
  // What is lost may have been lost since the counters were looked at: the last look before the load is after this.
  outcome.load_from_ns = monotonic_ns();
  measurement.run(1);
  {
    const std::jthread load([&] { outcome.faults = fault_pages(cpu, load_ms); });
    const std::uint64_t end_ns = monotonic_ns() + load_ms * 1'000'000;
    for (std::uint64_t drained_ns = monotonic_ns(); drained_ns < end_ns;) {
      Measurement::rest(rest_ms);
      measurement.run(1);  // one drain, 25 ms from now
      const std::uint64_t before_ns = std::exchange(drained_ns, monotonic_ns());
      outcome.late_ns = std::max(outcome.late_ns, drained_ns - before_ns);
    }
  }
  measurement.run(100);
  outcome.load_until_ns = monotonic_ns();
  measurement.run(500, [&] { sleep_on(cpu, 400); });
  outcome.before_end = read_moment();
  measurement.end();
  outcome.after_end = read_moment();
  const std::vector<TraceEvent> events = ftrace.stop();
  const std::uint64_t begin_ticks = outcome.after_begin.ticks;
  outcome.others =
      recount(events, measurement.probe_tid(), begin_ticks, begin_ticks, measurement.tracer().callback_ends())
          .intervals;
  outcome.report = measurement.report();
  outcome.detours = measurement.detours();
  outcome.orphans = measurement.orphans();
  return outcome;
}

bool is_interval_kind(const std::string& kind) {
  return kind != "hypervisor" && kind != "hardware" && kind != "unexplained" && kind != "overhead" && kind != "nmi";
}

// Where the kernel lets it be timed, the handling of a fault is a record of its own.
bool times_faults(const Report& report) {
  return std::ranges::none_of(report.unsupported,
                              [](const std::string& what) { return what.starts_with("page_fault duration"); });
}

// Recorded and lost together are what the kernel says that there was.
void check_total(const Overloaded& outcome) {
  std::uint64_t recorded = outcome.orphans;
  for (const ReportSource& source : outcome.report.sources) {
    // A handling alone is of a fault that was counted, whose task lost the CPU between the two.
    const bool is_alone = source.kind == "page_fault" && source.name == kHandling;
    if (is_interval_kind(source.kind) && !is_alone) recorded += source.count;
  }
  std::uint64_t least = outcome.faults.least;
  std::uint64_t most = outcome.faults.most;
  for (const Recounted& one : outcome.others) {
    if (one.start_ticks >= outcome.after_begin.ticks && one.end_ticks <= outcome.before_end.ticks) ++least;
    if (one.end_ticks >= outcome.before_begin.ticks && one.start_ticks <= outcome.after_end.ticks) ++most;
  }
  const std::uint64_t lost = outcome.report.lost.events;
  INFO("kernel " << least << " to " << most << ", recorded " << recorded << ", lost " << lost);
  CHECK(recorded + lost >= least);
  CHECK(recorded + lost <= most + (lost != 0 && times_faults(outcome.report) ? outcome.faults.most : 0));
  CHECK(most - least <= 100);
  WARN(outcome.faults.least * 1000 / outcome.milliseconds << " faults a second, recorded " << recorded << ", lost "
                                                          << lost);
}

std::string name_of(const DetourEntryView& entry) {
  const std::size_t colon = entry.name.rfind(':');
  return entry.kind + ":" + (entry.kind == "irq" ? entry.name.substr(0, colon) : entry.name);
}

std::map<std::string, std::uint64_t> shown_counts(const DetourView& detour) {
  std::map<std::string, std::uint64_t> counts;
  for (const DetourEntryView& entry : detour.entries) {
    if (!is_interval_kind(entry.kind) || entry.kind == "page_fault") continue;
    std::uint64_t intervals = 1;
    for (const auto& [key, value] : entry.detail) {
      if (key == "intervals") intervals = std::stoull(value);
    }
    counts[name_of(entry)] += intervals;
  }
  return counts;
}

// A detour that is not marked has everything that ftrace saw in it. Returns how many were compared.
std::uint64_t check_complete(const Overloaded& outcome) {
  std::vector<std::map<std::string, std::uint64_t>> truth(outcome.detours.size());
  for (const Recounted& one : outcome.others) {
    if (one.start_ticks < outcome.after_begin.ticks) continue;
    const std::uint64_t middle_ns = outcome.to_ns(one.start_ticks + (one.end_ticks - one.start_ticks) / 2);
    const auto after = std::upper_bound(outcome.detours.begin(), outcome.detours.end(), middle_ns,
                                        [](std::uint64_t ns, const DetourView& d) { return ns < d.start_ns; });
    if (after == outcome.detours.begin()) continue;
    const auto at = std::prev(after);
    if (middle_ns < at->start_ns + at->duration_ns)
      ++truth[static_cast<std::size_t>(at - outcome.detours.begin())][one.source];
  }
  std::uint64_t compared = 0;
  for (std::size_t i = 0; i < outcome.detours.size(); ++i) {
    const DetourView& detour = outcome.detours[i];
    const bool inside =
        detour.start_ns > outcome.after_begin.ns && detour.start_ns + detour.duration_ns < outcome.before_end.ns;
    if (detour.incomplete || !inside || is_vague(detour)) continue;
    INFO(views::to_text(detour));
    CHECK(shown_counts(detour) == truth[i]);
    if (!truth[i].empty()) ++compared;
  }
  return compared;
}

}  // namespace

TEST_CASE("overload: the smallest ring, seldom drained") {
  const Overloaded outcome = overload(std::uint64_t{64} << 10U, 2000, 300);
  std::string reasons;
  for (const ReportLoss& loss : outcome.report.lost.by)
    reasons += loss.reason + " " + std::to_string(loss.count) + ", ";
  INFO(reasons << "load from " << outcome.load_from_ns << " to " << outcome.load_until_ns);
  CHECK(outcome.report.lost.events > outcome.faults.least / 2);
  CHECK(outcome.report.lost.incomplete_detours > 0);
  CHECK(outcome.report.lost.unpaired == 0);
  check_total(outcome);
  CHECK(check_complete(outcome) > 50);
  for (const DetourView& detour : outcome.detours) {
    const bool under_load =
        detour.start_ns + detour.duration_ns >= outcome.load_from_ns && detour.start_ns <= outcome.load_until_ns;
    INFO(views::to_text(detour));
    if (!under_load) CHECK_FALSE(detour.incomplete);
  }
}

TEST_CASE("overload: the default ring, drained as the daemon does, loses nothing", "[core]") {
  constexpr std::uint64_t kBytes = std::uint64_t{2} << 20U;
  constexpr std::uint64_t kRecord = 56;  // of a ring, with its header and a name
  const Overloaded outcome = overload(kBytes, 2000, 0);
  // A host that takes the housekeeping CPU for long makes the ring overflow, and that is counted.
  const std::uint64_t bytes = outcome.late_ns / 1'000 * outcome.faults.most / outcome.milliseconds * kRecord / 1'000;
  INFO("drained after " << outcome.late_ns << " ns at the latest, when " << bytes << " bytes had come");
  if (bytes < kBytes) {
    CHECK(outcome.report.lost.events == 0);
    CHECK(outcome.report.lost.incomplete_detours == 0);
  }
  CHECK(outcome.faults.least > 10'000);
  check_total(outcome);
  CHECK(check_complete(outcome) > 50);
}
