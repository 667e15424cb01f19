// SPDX-License-Identifier: Apache-2.0
// Judging. Shares are compared in whole numbers: at the limit is not above it.
#include "analysis/check/check.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/text.h"
#include "base/units.h"

namespace noised::analysis {
namespace {

constexpr double kBillion = 1e9;
// Of a loop's CPU, these are detours that may not have come. All others are what its names are made of: the loop has
// seen how long it was away.
constexpr std::array<std::string_view, 4> kOfDetours = {kBlind, "detour_ring_full", "clock_backward", "recording_full"};
// What concerns no CPU may have been of any. The others of these are of who caused something, and limits ask who took
// it.
constexpr std::array<std::string_view, 6> kOfAnyCpu = {"missed_run", "bad_record",   "recording_full",
                                                       "clock_step", "clock_source", "task_table_full"};
// Where tasks were there for less of the time, a share of it says little.
constexpr std::uint64_t kLeastShareObserved = 10;  // a tenth

bool above(std::uint64_t part_ns, std::uint64_t whole_ns, std::uint64_t billionths) {
  __extension__ using Wide = unsigned __int128;
  return whole_ns != 0 && static_cast<Wide>(part_ns) * 1'000'000'000U > static_cast<Wide>(billionths) * whole_ns;
}

double share_of(std::uint64_t part_ns, std::uint64_t whole_ns) {
  return whole_ns == 0 ? 0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

bool matches(const std::string& pattern, const ReportSource& source) {
  return ::fnmatch(pattern.c_str(), (source.kind + ":" + source.name).c_str(), 0) == 0;
}

template <std::size_t kSize>
bool contains(const std::array<std::string_view, kSize>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

class Judge {
 public:
  Judge(const Report& report, const NoiseLimits& limits, CheckView& view)
      : report_(report), limits_(limits), view_(view) {}

  void judge(const ReportCpu& cpu) {
    view_.max_detour_ns = std::max(view_.max_detour_ns, cpu.max_detour_ns);
    view_.max_share = std::max(view_.max_share, share_of(cpu.detour_ns, cpu.observed_ns));
    look_for_blindness(cpu);
    const bool knows_shares = !hides_shares(cpu);
    if (limits_.max_detour_ns && cpu.max_detour_ns > *limits_.max_detour_ns)
      too_long(cpu, "", cpu.max_detour_ns, *limits_.max_detour_ns, cpu.longest);
    if (limits_.max_share && knows_shares && above(cpu.detour_ns, cpu.observed_ns, *limits_.max_share))
      too_much(cpu, "", cpu.detour_ns, *limits_.max_share, totals(cpu, "*"));
    for (const SourceLimit& limit : limits_.sources) judge(cpu, limit, knows_shares);
  }
  void not_measured(unsigned cpu) { view_.blind.push_back({cpu, "nobody measures it"}); }

 private:
  void judge(const ReportCpu& cpu, const SourceLimit& limit, bool knows_shares) {
    std::vector<ReportPart> longest;
    std::uint64_t total_ns = 0;
    for (const ReportSource& source : report_.sources) {
      if (source.cpu != cpu.cpu || !matches(limit.pattern, source)) continue;
      total_ns += source.total_ns;
      longest.push_back({source.kind, source.name, source.max_ns});
    }
    std::ranges::stable_sort(longest, std::ranges::greater(), &ReportPart::self_ns);
    if (limit.max_ns) {
      std::erase_if(longest, [&](const ReportPart& part) { return part.self_ns <= *limit.max_ns; });
      if (!longest.empty()) too_long(cpu, limit.pattern, longest.front().self_ns, *limit.max_ns, longest);
    }
    if (limit.share && knows_shares && above(total_ns, cpu.observed_ns, *limit.share))
      too_much(cpu, limit.pattern, total_ns, *limit.share, totals(cpu, limit.pattern));
  }

  [[nodiscard]] std::vector<ReportPart> totals(const ReportCpu& cpu, const std::string& pattern) const {
    std::vector<ReportPart> parts;
    for (const ReportSource& source : report_.sources) {
      if (source.cpu == cpu.cpu && source.total_ns != 0 && matches(pattern, source))
        parts.push_back({source.kind, source.name, source.total_ns});
    }
    std::ranges::stable_sort(parts, std::ranges::greater(), &ReportPart::self_ns);
    return parts;
  }

  void too_long(const ReportCpu& cpu, const std::string& source, std::uint64_t found_ns, std::uint64_t allowed_ns,
                std::vector<ReportPart> by) {
    view_.noisy.push_back({cpu.cpu, source, found_ns, allowed_ns, {}, {}, std::move(by)});
  }
  void too_much(const ReportCpu& cpu, const std::string& source, std::uint64_t found_ns, std::uint64_t allowed,
                std::vector<ReportPart> by) {
    view_.noisy.push_back({cpu.cpu,
                           source,
                           {},
                           {},
                           share_of(found_ns, cpu.observed_ns),
                           static_cast<double>(allowed) / kBillion,
                           std::move(by)});
  }

  [[nodiscard]] bool hides_noise(const ReportCpu& cpu, const ReportLoss& loss) const {
    if (loss.cpu ? *loss.cpu != cpu.cpu : !contains(kOfAnyCpu, loss.reason)) return false;
    if (loss.reason == "sample_ring_full") return false;  // of the loop's work
    return cpu.mode != "probe" || !limits_.sources.empty() || contains(kOfDetours, loss.reason);
  }
  // A gap that is no detour may be above a limit that is shorter than the threshold.
  [[nodiscard]] bool is_below_threshold(const ReportCpu& cpu) const {
    const auto below = [&](const std::optional<std::uint64_t>& limit_ns) {
      return limit_ns && *limit_ns < cpu.threshold_ns;
    };
    return below(limits_.max_detour_ns) ||
           std::ranges::any_of(limits_.sources, [&](const SourceLimit& limit) { return below(limit.max_ns); });
  }
  // Sources that have no name of their own any more may be any that a limit is of.
  [[nodiscard]] bool is_nameless(const ReportSource& source) const {
    const auto of_kind = [&](const SourceLimit& limit) {
      return !matches(limit.pattern, source) &&
             ::fnmatch(limit.pattern.substr(0, limit.pattern.find(':')).c_str(), source.kind.c_str(), 0) == 0;
    };
    return source.name == "other" && std::ranges::any_of(limits_.sources, of_kind);
  }
  // Tasks' time is told by records, and a run whose record is lost is missing in what was observed: the rest would be a
  // large share of little. A loop knows itself how long it observed, and what is lost there makes its shares smaller.
  [[nodiscard]] bool hides_shares(const ReportCpu& cpu) const {
    if (cpu.mode == "probe") return false;
    return cpu.observed_ns < report_.elapsed_ns / kLeastShareObserved ||
           std::ranges::any_of(report_.lost.by, [&](const ReportLoss& loss) { return hides_noise(cpu, loss); });
  }
  [[nodiscard]] std::string why_blind(const ReportCpu& cpu) const {
    if (cpu.observed_ns == 0)
      return cpu.mode == "watch" ? "no task ran there, so none can tell" : "nothing was observed there";
    if (cpu.mode != "probe" && cpu.observed_ns < report_.elapsed_ns / kLeastShareObserved)
      return fmt::format("observed for {:.1f}% of the time only", 100 * share_of(cpu.observed_ns, report_.elapsed_ns));
    if (cpu.blind_ns != 0) return fmt::format("its loop was off it for {} ns", cpu.blind_ns);
    if (is_below_threshold(cpu)) return fmt::format("a limit is below its threshold of {} ns", cpu.threshold_ns);
    for (const ReportLoss& loss : report_.lost.by) {
      if (hides_noise(cpu, loss)) return fmt::format("lost: {} {}", loss.count, loss.reason);
    }
    for (const ReportSource& source : report_.sources) {
      if (source.cpu == cpu.cpu && is_nameless(source)) return "there are too many sources to name each";
    }
    return "";
  }
  void look_for_blindness(const ReportCpu& cpu) {
    std::string reason = why_blind(cpu);
    if (!reason.empty()) view_.blind.push_back({cpu.cpu, std::move(reason)});
  }

  const Report& report_;
  const NoiseLimits& limits_;
  CheckView& view_;
};

}  // namespace

Result<SourceLimit> parse_source_limit(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string limit = equals == std::string::npos ? "" : text.substr(equals + 1);
  SourceLimit read{text.substr(0, equals), {}, {}};
  if (equals == std::string::npos || read.pattern.find(':') == std::string::npos)
    return usage_error(in_quotes(text) + " is no limit of a source", "write KIND:NAME=LIMIT, such as task:agent*=20us");
  const std::string kind = read.pattern.substr(0, read.pattern.find(':'));
  if (kind.find_first_of("*?[") == std::string::npos && !kind_named(kind))
    return usage_error(in_quotes(text) + ": there is no kind " + in_quotes(kind),
                       "write one of a report, such as task, irq, softirq, vector, hrtimer, timer or hypervisor");
  auto number = limit.ends_with('%') ? parse_share(limit) : parse_time(limit);
  if (!number) return usage_error(in_quotes(text) + ": " + number.error().what, number.error().remedy);
  (limit.ends_with('%') ? read.share : read.max_ns) = number.value();
  return read;
}

CheckView check_noise(const Report& report, const NoiseLimits& limits) {
  CheckView view;
  view.elapsed_ns = report.elapsed_ns;
  Judge judge(report, limits, view);
  std::vector<unsigned> cpus;
  // Where there are loops, what is watched besides is what is busy with everything else.
  const bool has_loops = std::ranges::any_of(report.cpus, [](const ReportCpu& cpu) { return cpu.mode != "watch"; });
  for (const ReportCpu& cpu : report.cpus) {
    if (!limits.cpus && has_loops && cpu.mode == "watch") continue;
    if (limits.cpus && std::ranges::find(*limits.cpus, cpu.cpu) == limits.cpus->end()) continue;
    cpus.push_back(cpu.cpu);
    judge.judge(cpu);
  }
  for (const unsigned cpu : limits.cpus.value_or(std::vector<unsigned>())) {
    if (std::ranges::find(cpus, cpu) == cpus.end()) judge.not_measured(cpu);
  }
  std::ranges::sort(cpus);
  view.cpus = format_cpu_list(cpus);
  const bool is_blind = !view.blind.empty() || cpus.empty();
  view.verdict = !view.noisy.empty() ? "noisy" : is_blind ? "blind" : "good";
  return view;
}

}  // namespace noised::analysis
