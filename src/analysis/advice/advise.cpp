// SPDX-License-Identifier: Apache-2.0
// From groups of noise to advice, the largest gain first.
#include "analysis/advice/advise.h"

#include <algorithm>

namespace noised::analysis {
namespace {

double ratio_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// The ticks that are taken to stay, and what a tick's group gives back: their share is taken off every gain.
struct Staying {
  TimeBlocks ticks;
  double share = 0;
  double detours = 0;
  unsigned plans = 0;
};

class Assembly {
 public:
  Assembly(const AdviceCollector& collected, const SourceTable& sources, const Report& report)
      : collected_(collected), sources_(sources) {
    for (const ReportCpu& cpu : report.cpus) observed_ns_ += static_cast<double>(cpu.observed_ns);
    for (const NoiseGroup& group : collected.groups()) {
      if (group.rule != RuleId::tick) continue;
      staying_.share = staying_share(group);
      staying_.ticks = group.relief.blocks;
      staying_.detours = staying_.share * static_cast<double>(group.relief.detours);
      staying_.plans = group.plans;
    }
  }

  [[nodiscard]] AdviceItem item(const NoiseGroup& group) const {
    const Rule& of = rule(group.rule);
    AdviceItem item;
    item.rule = of.name;
    item.title = of.title;
    item.object = group.object;
    item.self_ns = group.self_ns;
    item.overhead_ns = group.overhead_ns;
    item.total_ns = group.self_ns + group.overhead_ns;
    item.share = ratio_of(static_cast<double>(item.total_ns), static_cast<double>(collected_.detour_ns()));
    item.remaining_per_second = of.remaining_per_second;
    item.remedies = group.remedies;
    for (const auto& [id, seen] : group.sources) {
      const Source& source = sources_.at(id);
      item.sources.push_back({std::string(to_string(source.kind)), source.name, seen.count, seen.self_ns});
    }
    std::stable_sort(item.sources.begin(), item.sources.end(),
                     [](const AdviceSource& a, const AdviceSource& b) { return a.self_ns > b.self_ns; });
    item.senders.assign(group.senders.begin(), group.senders.end());
    std::stable_sort(item.senders.begin(), item.senders.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    const bool some = std::any_of(group.remedies.begin(), group.remedies.end(), available);
    if (some && of.expect != Expect::nothing) item.gain = gain(group.relief, group.rule == RuleId::tick);
    if (item.gain) item.gain->at_most = of.expect == Expect::at_most;
    return item;
  }

  [[nodiscard]] AdvicePlan plan(Plan sure, Plan at_most) const {
    AdvicePlan plan{gain(collected_.plan(sure), has_tick(sure)), gain(collected_.plan(at_most), has_tick(at_most))};
    plan.at_most.at_most = true;
    return plan;
  }

  /// Time in no interval, as an item of its own.
  [[nodiscard]] AdviceItem nobodys(RuleId id, std::uint64_t ns, const Machine& machine) const {
    NoiseGroup group;
    group.rule = id;
    group.self_ns = ns;
    for (const RemedyId remedy : rule(id).remedies) {
      if (remedy != RemedyId::none) group.remedies.push_back(make_remedy(remedy, {}, machine));
    }
    return item(group);
  }

 private:
  [[nodiscard]] double staying_share(const NoiseGroup& group) const {
    const double stay = rule(group.rule).remaining_per_second * observed_ns_ / 1e9;
    return std::min(1.0, ratio_of(stay, static_cast<double>(group.ticks)));
  }
  [[nodiscard]] bool has_tick(Plan plan) const { return (staying_.plans >> static_cast<unsigned>(plan) & 1U) != 0; }

  [[nodiscard]] Gain gain(const Relief& relief, bool with_tick) const {
    Gain gain;
    gain.share = with_tick ? share_of(relief.blocks, collected_.observed(), staying_.ticks, staying_.share)
                           : share_of(relief.blocks, collected_.observed());
    const double detours = static_cast<double>(relief.detours) - (with_tick ? staying_.detours : 0);
    gain.detours_per_second = 1e9 * ratio_of(std::max(0.0, detours), observed_ns_);
    gain.longest_ns = relief.longest_ns;
    return gain;
  }

  const AdviceCollector& collected_;
  const SourceTable& sources_;
  double observed_ns_ = 0;
  Staying staying_;
};

// Once for each parameter, in the order of the items.
std::string boot_line_of(const std::vector<AdviceItem>& items) {
  std::vector<std::string> settings;
  for (const AdviceItem& item : items) {
    for (const Remedy& remedy : item.remedies) {
      const bool wanted = item.gain && isolates(remedy) && available(remedy) && !remedy.setting.empty();
      if (wanted && std::find(settings.begin(), settings.end(), remedy.setting) == settings.end())
        settings.push_back(remedy.setting);
    }
  }
  std::string line;
  for (const std::string& setting : settings) line += (line.empty() ? "" : " ") + setting;
  return line;
}

bool before(const AdviceItem& a, const AdviceItem& b) {
  const double gain_a = a.gain ? a.gain->share.value : -1;
  const double gain_b = b.gain ? b.gain->share.value : -1;
  if (gain_a != gain_b) return gain_a > gain_b;
  return a.total_ns > b.total_ns;
}

}  // namespace

Advice advise(const AdviceCollector& collected, const SourceTable& sources, const Machine& machine,
              const Report& report) {
  const Assembly assembly(collected, sources, report);
  Advice advice;
  advice.live = machine.live;
  advice.why = machine.why;
  advice.cpus = machine.watched;
  advice.housekeeping = machine.housekeeping;
  for (const ReportCpu& cpu : report.cpus) advice.observed_ns += cpu.observed_ns;
  advice.detours = collected.detours();
  advice.detour_ns = collected.detour_ns();
  advice.shared_overhead_ns = collected.shared_overhead_ns();
  advice.noise = share_of(collected.noise(), collected.observed());
  advice.caused = share_of(collected.caused(), collected.observed());
  for (const NoiseGroup& group : collected.groups()) advice.items.push_back(assembly.item(group));
  const Ledger& all = collected.parts_of_all();
  const std::pair<RuleId, std::uint64_t> outside[] = {{RuleId::hypervisor, all.hypervisor_ns},
                                                      {RuleId::hardware, all.hardware_ns},
                                                      {RuleId::unexplained, all.unexplained_ns}};
  for (const auto& [id, ns] : outside) {
    if (ns != 0) advice.items.push_back(assembly.nobodys(id, ns, machine));
  }
  std::stable_sort(advice.items.begin(), advice.items.end(), before);
  advice.boot_line = boot_line_of(advice.items);
  if (!advice.boot_line.empty()) advice.boot = assembly.plan(Plan::boot, Plan::boot_at_most);
  advice.every = assembly.plan(Plan::every, Plan::every_at_most);
  return advice;
}

}  // namespace noised::analysis
