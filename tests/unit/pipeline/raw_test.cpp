// SPDX-License-Identifier: Apache-2.0
// What five kernels handed over of three CPUs with a load each, played again through the real pipeline: what it tells
// of each load is what the kernel itself recorded. tests/vm/capture makes the captures.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "selftest/compare.h"
#include "unit/pipeline/raw_capture.h"

using namespace noised;
using namespace noised::account;
using namespace noised::probe;
using namespace noised::test;

namespace {

// What the kernel itself recorded of a run: when the task came and left, before and after our programs saw that.
struct Run {
  double came_early_ns = 0;
  double came_late_ns = 0;
  double left_early_ns = 0;
  double left_late_ns = 0;
};

struct RawTruth {
  std::vector<selftest::Truth> loads;  // their own word
  std::map<std::pair<unsigned, std::string>, std::vector<Run>> runs;
};

RawTruth read_truth(const std::string& kernel) {
  RawTruth truth;
  std::map<std::pair<unsigned, std::string>, std::pair<double, double>> since;
  std::ifstream file(path_of(kernel + ".truth"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('{')) {
      auto load = selftest::parse_truth(line);
      REQUIRE(load);
      truth.loads.push_back(std::move(load).value());
      continue;
    }
    unsigned cpu = 0;
    double before = 0;
    double after = 0;
    std::string left;
    std::string came;
    std::istringstream words(line);
    words >> cpu >> before >> after >> std::ws;
    REQUIRE((std::getline(words, left, '\t') && std::getline(words, came)));
    before *= 1e9;
    after *= 1e9;
    const auto begun = since.find({cpu, left});
    if (begun != since.end() && left.starts_with("load-"))
      truth.runs[{cpu, left}].push_back({begun->second.first, begun->second.second, before, after});
    if (begun != since.end()) since.erase(begun);
    since[{cpu, came}] = {before, after};
  }
  return truth;
}

using LossByCpu = std::map<std::pair<std::optional<unsigned>, std::string>, std::uint64_t>;

// When the loops gave their CPUs away by themselves, as the kernel marked it: nobody observed the gaps around these
// marks. By place; the clock is interpolated between the two samples around.
std::vector<std::vector<selftest::Span>> unobserved_in(const RawCapture& capture) {
  std::vector<raw::Clock> clocks(capture.head.clocks.begin(), capture.head.clocks.end());
  for (const RawBatch& batch : capture.batches) clocks.push_back(batch.counts.clock);
  const auto to_ns = [&](std::uint64_t ticks) {
    const auto after = std::upper_bound(clocks.begin() + 1, clocks.end() - 1, ticks,
                                        [](std::uint64_t value, const raw::Clock& each) { return value < each.ticks; });
    const raw::Clock& from = *std::prev(after);
    const double rate = static_cast<double>(after->ns - from.ns) / static_cast<double>(after->ticks - from.ticks);
    return static_cast<std::uint64_t>(static_cast<double>(from.ns) +
                                      (static_cast<double>(ticks) - static_cast<double>(from.ticks)) * rate);
  };
  std::vector<std::vector<selftest::Span>> unobserved(capture.head.cpu_count);
  for (std::size_t place = 0; place < unobserved.size(); ++place) {
    std::set<std::uint64_t> marks_ns;
    for (const RawBatch& batch : capture.batches) {
      for (const noised_run_record& each : batch.cpus[place].records) {
        const noised_record& record = each.task.record;
        if (record.kind == NOISED_KIND_TASK && (record.flags & NOISED_FLAG_STOPPED) != 0)
          marks_ns.insert(record.start_ns);
      }
    }
    for (const RawBatch& batch : capture.batches) {
      for (const raw::Gap& gap : batch.cpus[place].gaps) {
        const selftest::Span span{to_ns(gap.start_ticks), to_ns(gap.end_ticks)};
        const auto mark = marks_ns.lower_bound(span.start_ns);
        if (mark != marks_ns.end() && *mark <= span.end_ns) unobserved[place].push_back(span);
      }
    }
  }
  return unobserved;
}

// What the capture itself says was lost, after the loops had ended: the kernel's counters, and what the loops did not
// observe.
LossByCpu losses_of(const RawCapture& capture, const std::vector<std::vector<selftest::Span>>& unobserved) {
  LossByCpu losses;
  const auto add = [&](std::optional<unsigned> cpu, const char* reason, std::uint64_t count) {
    if (count != 0) losses[{cpu, reason}] += count;
  };
  const RawBatch& last = capture.batches.back();
  for (std::size_t place = 0; place < capture.head.cpu_count; ++place) {
    const unsigned cpu = capture.head.cpus[place];
    const raw::CpuBatch& lost = last.cpus[place].counts;
    add(cpu, "ring_full", lost.lost_full);
    add(cpu, "ring_busy_in_nmi", lost.lost_nmi);
    add(cpu, "stack_full", lost.lost_depth);
    add(cpu, "unpaired", lost.lost_unpaired);
    add(cpu, "unseen_switch", lost.lost_unseen);
    add(cpu, "loop_stopped", unobserved[place].size());
    for (const RawBatch& batch : capture.batches) {
      for (const raw::Gap& gap : batch.cpus[place].gaps)
        add(cpu, "loop_moved", gap.kind == static_cast<std::uint64_t>(GapKind::moved) ? 1 : 0);
    }
  }
  add({}, "origin_ring_full", last.counts.lost_origins);
  return losses;
}

// What is wrong with what was shown, a sentence each.
class Mistakes {
 public:
  Mistakes(const RawCapture& capture, const RawTruth& truth)
      : capture_(capture),
        truth_(truth),
        shown_(play(capture)),
        unobserved_(unobserved_in(capture)),
        expected_(losses_of(capture, unobserved_)) {
    losses();
    for (std::size_t place = 0; place < capture.head.cpu_count; ++place) {
      const unsigned cpu = capture.head.cpus[place];
      const auto found =
          std::ranges::find_if(shown_.report.cpus, [&](const ReportCpu& each) { return each.cpu == cpu; });
      if (found == shown_.report.cpus.end()) {
        wrong(fmt::format("CPU {} is not shown", cpu));
        continue;
      }
      ledger(place, *found);
      load(place);
      own_word(place);
    }
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return mistakes_; }
  [[nodiscard]] std::string text() const { return fmt::format("{}", fmt::join(mistakes_, "\n")); }
  /// In few words, what was compared: so that a capture that shows nothing is noticed.
  [[nodiscard]] const std::string& summary() const { return summary_; }

 private:
  void wrong(std::string sentence) { mistakes_.push_back(std::move(sentence)); }
  [[nodiscard]] bool lost_on(unsigned cpu) const {
    return std::ranges::any_of(expected_,
                               [&](const auto& each) { return !each.first.first || each.first.first == cpu; });
  }

  void losses() {
    LossByCpu told;
    for (const ReportLoss& loss : shown_.report.lost.by) told[{loss.cpu, loss.reason}] += loss.count;
    for (const auto& [key, count] : told) {
      const std::uint64_t meant = expected_.contains(key) ? expected_.at(key) : 0;
      if (meant != count) wrong(lost_text(key) + fmt::format(" is told {} times, and happened {} times", count, meant));
    }
    for (const auto& [key, count] : expected_) {
      if (!told.contains(key)) wrong(lost_text(key) + fmt::format(" is not told, and happened {} times", count));
    }
  }
  static std::string lost_text(const LossByCpu::key_type& key) {
    return (key.first ? fmt::format("CPU {}: ", *key.first) : std::string()) + "loss " + key.second;
  }

  // Every gap is a detour, and every nanosecond of it is somebody's.
  void ledger(std::size_t place, const ReportCpu& cpu) {
    std::uint64_t gaps = 0;
    std::uint64_t ticks = 0;
    for (const RawBatch& batch : capture_.batches) {
      for (const raw::Gap& gap : batch.cpus[place].gaps) {
        if (gap.kind != static_cast<std::uint64_t>(GapKind::detour)) continue;
        ++gaps;
        ticks += gap.end_ticks - gap.start_ticks;
      }
    }
    double unobserved_ns = 0;
    for (const selftest::Span& span : unobserved_[place])
      unobserved_ns += static_cast<double>(span.end_ns - span.start_ns);
    gaps -= unobserved_[place].size();
    if (cpu.detours != gaps) wrong(fmt::format("CPU {}: {} gaps are {} detours", cpu.cpu, gaps, cpu.detours));
    const raw::Clock& first = capture_.head.clocks.front();
    const raw::Clock& last = capture_.batches.back().counts.clock;
    const double ns = static_cast<double>(ticks) * static_cast<double>(last.ns - first.ns) /
                      static_cast<double>(last.ticks - first.ticks);
    if (std::abs(ns - unobserved_ns - static_cast<double>(cpu.detour_ns)) >
        static_cast<double>(2 * shown_.uncertainty_ns * (gaps + 1))) {
      wrong(fmt::format("CPU {}: gaps of {:.0f} ns are detours of {} ns", cpu.cpu, ns, cpu.detour_ns));
    }
    const std::uint64_t parts =
        cpu.explained_ns + cpu.overhead_ns + cpu.hypervisor_ns + cpu.hardware_ns + cpu.unexplained_ns;
    if (parts != cpu.detour_ns)
      wrong(fmt::format("CPU {}: the ledger's parts are {} ns, its detours {} ns", cpu.cpu, parts, cpu.detour_ns));
    single_detours(cpu);
    if (!cpu.containment) return wrong(fmt::format("CPU {}: containment is not known", cpu.cpu));
    if (*cpu.containment != 1.0) wrong(fmt::format("CPU {}: containment is {}", cpu.cpu, *cpu.containment));
    if (!lost_on(cpu.cpu) && cpu.unexplained_ns != 0)
      wrong(fmt::format("CPU {}: {} ns unexplained, though nothing was lost", cpu.cpu, cpu.unexplained_ns));
  }

  void single_detours(const ReportCpu& cpu) {
    std::uint64_t all_ns = 0;
    std::uint64_t uneven = 0;
    const std::vector<DetourView>& detours = shown_.detours[cpu.cpu];
    for (const DetourView& detour : detours) {
      std::uint64_t parts = detour.overhead_ns;
      for (const DetourEntryView& entry : detour.entries) parts += entry.self_ns;
      if (parts != detour.duration_ns) ++uneven;
      all_ns += detour.duration_ns;
    }
    if (uneven != 0) wrong(fmt::format("CPU {}: {} detours do not add up", cpu.cpu, uneven));
    if (detours.size() != cpu.detours || all_ns != cpu.detour_ns) {
      wrong(fmt::format("CPU {}: {} detours of {} ns are shown one by one, {} of {} ns in all", cpu.cpu, detours.size(),
                        all_ns, cpu.detours, cpu.detour_ns));
    }
  }

  // A load is shown where it ran, so often and for so long as the kernel says.
  void load(std::size_t place) {
    const unsigned cpu = capture_.head.cpus[place];
    const std::string name = fmt::format("load-cpu{}", cpu);
    std::size_t ran = 0;
    double least_ns = 0;
    double most_ns = 0;
    const auto found = truth_.runs.find({cpu, name});
    for (const Run& run : found == truth_.runs.end() ? std::vector<Run>() : found->second) {
      if (is_unobserved(place, run.came_late_ns)) continue;
      ++ran;
      least_ns += run.left_early_ns - run.came_late_ns;
      most_ns += run.left_late_ns - run.came_early_ns;
    }
    std::uint64_t count = 0;
    double total_ns = 0;
    for (const ReportSource& source : shown_.report.sources) {
      if (source.cpu != cpu || source.kind != "task" || !source.name.starts_with("load-")) continue;
      if (source.name != name) {
        wrong(fmt::format("CPU {} shows {} {} times", cpu, source.name, source.count));
        continue;
      }
      count = source.count;
      total_ns = static_cast<double>(source.total_ns);
    }
    const double inside_ns = interrupted_ns(place, name);
    summary_ += fmt::format("CPU {}: {} ran {} times, {:.3f} to {:.3f} ms, shown {} times, {:.3f} + {:.3f} ms\n", cpu,
                            name, ran, least_ns / 1e6, most_ns / 1e6, count, total_ns / 1e6, inside_ns / 1e6);
    // tests/vm/capture keeps none whose time is less well known.
    if (ran < 20 || most_ns - least_ns > 0.02 * most_ns)
      wrong(fmt::format("CPU {}: what is recorded of {} shows nothing", cpu, name));
    if (count != ran) wrong(fmt::format("CPU {}: {} ran {} times, and is shown {} times", cpu, name, ran, count));
    // The kernel's record has microseconds.
    const double rounding_ns = 2'000 * static_cast<double>(ran);
    if (total_ns + inside_ns < least_ns - rounding_ns || total_ns + inside_ns > most_ns + rounding_ns) {
      wrong(fmt::format(
          "CPU {}: {} ran for {:.0f} to {:.0f} ns, and is shown with {:.0f} ns, interrupts in it with {:.0f}", cpu,
          name, least_ns, most_ns, total_ns, inside_ns));
    }
  }

  [[nodiscard]] bool is_unobserved(std::size_t place, double ns) const {
    return std::ranges::any_of(unobserved_[place], [&](const selftest::Span& span) {
      return ns >= static_cast<double>(span.start_ns) && ns <= static_cast<double>(span.end_ns);
    });
  }

  // What interrupts took of the runs of a task: the kernel's record has it as the task's, and what is shown as theirs.
  [[nodiscard]] double interrupted_ns(std::size_t place, const std::string& name) const {
    std::map<std::uint64_t, std::uint64_t> runs;  // end by start
    std::vector<std::pair<std::uint64_t, std::uint64_t>> others;
    for (const RawBatch& batch : capture_.batches) {
      for (const noised_run_record& each : batch.cpus[place].records) {
        const noised_record& record = each.task.record;
        const std::uint64_t end_ns = record.start_ns + record.duration_ns;
        if (record.kind != NOISED_KIND_TASK) others.emplace_back(record.start_ns, end_ns);
        const bool is_own = record.kind == NOISED_KIND_TASK && name == each.task.comm;
        if (is_own && !is_unobserved(place, static_cast<double>(record.start_ns))) runs[record.start_ns] = end_ns;
      }
    }
    std::ranges::sort(others);  // those around others first
    std::uint64_t inside_ns = 0;
    std::uint64_t until_ns = 0;
    for (const auto& [start_ns, end_ns] : others) {
      const std::uint64_t from_ns = std::max(start_ns, until_ns);
      if (end_ns <= from_ns) continue;
      until_ns = end_ns;
      const auto after = runs.upper_bound(from_ns);
      if (after != runs.begin() && from_ns < std::prev(after)->second) inside_ns += end_ns - from_ns;
    }
    return static_cast<double>(inside_ns);
  }

  // The same by the self-test's comparison with what the load says itself, activation by activation. It runs once more
  // to be told when to begin and once to end, which a slow host may let happen within what it takes for its own time.
  void own_word(std::size_t place) {
    constexpr std::uint64_t kEdges = 2;
    const unsigned cpu = capture_.head.cpus[place];
    for (const selftest::Truth& truth : truth_.loads) {
      if (truth.cpu != cpu) continue;
      for (const auto& [other, detours] : shown_.detours) {
        if (other != cpu && selftest::compare(truth, detours, {}).found != 0)
          wrong(fmt::format("CPU {}: its load is found on CPU {}", cpu, other));
      }
      const selftest::Losses losses{unobserved_[place].size(), unobserved_[place]};
      const selftest::Row row = selftest::compare(truth, shown_.detours[cpu], losses);
      summary_ +=
          fmt::format("CPU {}: {} activations, {} found, {} in doubt\n", cpu, row.injected, row.found, row.in_doubt);
      if (row.missed == 0 && row.misattributed <= kEdges && row.found + row.in_doubt == row.injected &&
          row.found >= row.injected * 8 / 10) {
        continue;
      }
      wrong(fmt::format("CPU {}: of {} activations {} are found, {} missed, {} misattributed, {} in doubt: {}", cpu,
                        row.injected, row.found, row.missed, row.misattributed, row.in_doubt, row.reason));
    }
  }

  const RawCapture& capture_;
  const RawTruth& truth_;
  Shown shown_;
  std::vector<std::vector<selftest::Span>> unobserved_;  // by place
  LossByCpu expected_;
  std::vector<std::string> mistakes_;
  std::string summary_;
};

// What may go wrong between the kernel and the pipeline.
struct Fault {
  const char* what;
  std::function<void(RawCapture&)> plant;
};

void each_batch(RawCapture& capture, const std::function<void(RawBatch&)>& change) {
  for (RawBatch& batch : capture.batches) change(batch);
}

std::uint64_t ticks_of_ms(const RawCapture& capture) {
  const raw::Clock& first = capture.head.clocks.front();
  const raw::Clock& last = capture.batches.back().counts.clock;
  return static_cast<std::uint64_t>(static_cast<double>(last.ticks - first.ticks) /
                                    static_cast<double>(last.ns - first.ns) * 1e6);
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> kFaults = {
      {"the records of two rings are swapped",
       [](RawCapture& capture) {
         each_batch(capture, [](RawBatch& batch) { std::swap(batch.cpus[0].records, batch.cpus[1].records); });
       }},
      {"the gaps of two loops are swapped",
       [](RawCapture& capture) {
         each_batch(capture, [](RawBatch& batch) { std::swap(batch.cpus[1].gaps, batch.cpus[2].gaps); });
       }},
      {"the clock of one loop is 1 ms late",
       [](RawCapture& capture) {
         const std::uint64_t ms = ticks_of_ms(capture);
         each_batch(capture, [&](RawBatch& batch) {
           for (raw::Gap& gap : batch.cpus[1].gaps) {
             gap.start_ticks += ms;
             gap.end_ticks += ms;
           }
         });
       }},
      {"the clock of one CPU's records is 1 ms early",
       [](RawCapture& capture) {
         each_batch(capture, [](RawBatch& batch) {
           for (noised_run_record& record : batch.cpus[2].records) record.task.record.start_ns -= 1'000'000;
         });
       }},
      {"every third record is dropped",
       [](RawCapture& capture) {
         std::size_t number = 0;
         each_batch(capture, [&](RawBatch& batch) {
           for (RawCpu& cpu : batch.cpus) std::erase_if(cpu.records, [&](const auto&) { return number++ % 3 == 2; });
         });
       }},
      {"one run of a load is dropped",
       [](RawCapture& capture) {
         bool dropped = false;
         each_batch(capture, [&](RawBatch& batch) {
           std::erase_if(batch.cpus[1].records, [&](const noised_run_record& record) {
             const bool is_load = std::string_view(record.task.comm, 4) == "load";
             return is_load && !std::exchange(dropped, dropped || is_load);
           });
         });
       }},
      {"records come a drain late",
       [](RawCapture& capture) {
         std::vector<noised_run_record> held;
         each_batch(capture, [&](RawBatch& batch) { std::swap(held, batch.cpus[0].records); });
       }},
      {"tasks last 3% longer",
       [](RawCapture& capture) {
         each_batch(capture, [](RawBatch& batch) {
           for (noised_run_record& record : batch.cpus[0].records) {
             if (record.task.record.kind == NOISED_KIND_TASK)
               record.task.record.duration_ns += record.task.record.duration_ns * 3 / 100;
           }
         });
       }},
  };
  return kFaults;
}

}  // namespace

TEST_CASE("what a kernel handed over of three CPUs is told as that kernel recorded it", "[pipeline][raw]") {
  const std::string kernel = GENERATE(as<std::string>{}, "5.10", "6.1", "6.12", "6.12-rt", "7.2");
  const RawCapture capture = read_capture(kernel);
  const RawTruth truth = read_truth(kernel);
  REQUIRE(truth.loads.size() == capture.head.cpu_count);
  const Mistakes mistakes(capture, truth);
  INFO("Linux " << capture.head.kernel.data() << ", " << kernel << "\n" << mistakes.summary());
  CHECK(mistakes.text() == "");
}

TEST_CASE("what a kernel handed over is not told as it was once a fault is planted on the way", "[pipeline][raw]") {
  const std::string kernel = GENERATE(as<std::string>{}, "5.10", "6.1", "6.12", "6.12-rt", "7.2");
  const RawTruth truth = read_truth(kernel);
  for (const Fault& fault : faults()) {
    RawCapture capture = read_capture(kernel);
    fault.plant(capture);
    const Mistakes mistakes(capture, truth);
    INFO(kernel << ": " << fault.what);
    CHECK_FALSE(mistakes.all().empty());
  }
}
