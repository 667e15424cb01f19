// SPDX-License-Identifier: Apache-2.0
// One pass over the detours; memory is that of the groups.
#include "analysis/advice/collector.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace noised::analysis {
namespace {

constexpr std::size_t kFewestTimeBlocks = 8;

}  // namespace

void TimeBlocks::widen(std::uint64_t width_ns) {
  while (width_ns_ < width_ns) {
    for (std::size_t i = 0; i < sums_.size(); i += 2) sums_[i / 2] = sums_[i] + sum(i + 1);
    sums_.resize((sums_.size() + 1) / 2);
    width_ns_ *= 2;
  }
}

void TimeBlocks::add(std::uint64_t at_ns, double amount) {
  while (at_ns / width_ns_ >= kMost) widen(2 * width_ns_);
  const std::size_t block = at_ns / width_ns_;
  if (block >= sums_.size()) sums_.resize(block + 1);
  sums_[block] += amount;
}

void TimeBlocks::add_stretch(std::uint64_t start_ns, std::uint64_t end_ns) {
  if (start_ns >= end_ns) return;
  add(end_ns - 1, 0);  // as wide as it will be
  while (start_ns < end_ns) {
    // The end of the last block that there can be is no time that 64 bits hold.
    const std::uint64_t part_ns = std::min(end_ns - start_ns, width_ns_ - start_ns % width_ns_);
    add(start_ns, static_cast<double>(part_ns));
    start_ns += part_ns;
  }
}

double students_t(std::size_t degrees) {
  assert(degrees > 0);
  constexpr double z = 1.959963985;
  const auto n = static_cast<double>(degrees);
  // Abramowitz and Stegun 26.7.5.
  return z + (std::pow(z, 3) + z) / 4 / n + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96 / (n * n) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / 384 / (n * n * n);
}

Share share_of(TimeBlocks amount, TimeBlocks observed, TimeBlocks less, double factor) {
  const std::uint64_t width = std::max({amount.width_ns(), observed.width_ns(), less.width_ns()});
  for (TimeBlocks* blocks : {&amount, &observed, &less}) blocks->widen(width);
  const auto at = [&](std::size_t i) { return amount.sum(i) - factor * less.sum(i); };
  double amounts = 0;
  double times = 0;
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    amounts += at(i);
    times += observed.sum(i);
    if (observed.sum(i) > 0) ++blocks;
  }
  if (times <= 0) return {};
  Share share{amounts / times, std::nullopt, std::nullopt};
  if (blocks < kFewestTimeBlocks) return share;
  double squares = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    const double off = at(i) - share.value * observed.sum(i);
    squares += off * off;
  }
  const auto n = static_cast<double>(blocks);
  const double half = students_t(blocks - 1) * std::sqrt(n / (n - 1) * squares) / times;
  share.low = std::max(0.0, share.value - half);
  share.high = share.value + half;
  return share;
}

namespace {

unsigned bit(Plan plan) { return 1U << static_cast<unsigned>(plan); }

unsigned plans_of(const NoiseGroup& group) {
  const Expect expect = rule(group.rule).expect;
  if (expect == Expect::nothing) return 0;
  const bool all = expect == Expect::all;
  unsigned plans = 0;
  for (const Remedy& remedy : group.remedies) {
    if (!available(remedy)) continue;
    plans |= bit(Plan::every_at_most) | (all ? bit(Plan::every) : 0);
    if (isolates(remedy)) plans |= bit(Plan::boot_at_most) | (all ? bit(Plan::boot) : 0);
  }
  return plans;
}

}  // namespace

AdviceCollector::AdviceCollector(const SourceTable& sources, const Machine& machine)
    : machine_(machine), classifier_(sources) {}

void AdviceCollector::close(Watched& cpu, std::uint64_t end_ns) {
  if (cpu.open) observed_.add_stretch(offset(cpu.since_ns), offset(end_ns));
  cpu.open = false;
}

void AdviceCollector::see(Watched& cpu, const Detour& detour) {
  if (cpu.begun && !cpu.open) cpu = {true, true, detour.start_ns, detour.start_ns};
  cpu.until_ns = std::max(cpu.until_ns, detour.end_ns);
}

void AdviceCollector::begins(std::size_t cpu, std::uint64_t first_ns) {
  if (cpu >= cpus_.size()) cpus_.resize(cpu + 1);
  if (start_ns_ == UINT64_MAX) start_ns_ = first_ns;
  Watched& watched = cpus_[cpu];
  const bool again = watched.begun;
  close(watched, watched.until_ns);
  // A new part says again when the loop began: then what it is the first to tell opens it.
  if (again && first_ns <= watched.until_ns) return;
  watched = {true, true, first_ns, first_ns};
}

void AdviceCollector::gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (cpu >= cpus_.size()) return;
  close(cpus_[cpu], start_ns);
  cpus_[cpu] = {true, true, end_ns, end_ns};
}

std::size_t AdviceCollector::group_of(const Classifier::Entry& entry) {
  std::string key(1, static_cast<char>(entry.rule));
  key.append(entry.object);
  if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  if (groups_.size() >= kMostGroups) return group_of({RuleId::no_remedy, "other", {}, {}});
  NoiseGroup group;
  group.rule = entry.rule;
  group.object = entry.object;
  group.task = entry.task;
  for (const RemedyId id : rule(entry.rule).remedies) {
    if (id != RemedyId::none) group.remedies.push_back(make_remedy(id, {group.object, group.task}, machine_));
  }
  group.plans = plans_of(group);
  groups_.push_back(std::move(group));
  numbers_.emplace(std::move(key), groups_.size() - 1);
  return groups_.size() - 1;
}

void AdviceCollector::relieve(Relief& relief, double ns, bool whole, std::uint64_t at_ns) {
  relief.ns += ns;
  if (whole) ++relief.detours;
  relief.longest_ns = std::max(relief.longest_ns, static_cast<std::uint64_t>(ns));
  relief.blocks.add(offset(at_ns), ns);
}

void AdviceCollector::add_parts(const account::DetourLedger& ledger, std::string_view details) {
  parts_.clear();
  const auto& entries = classifier_.classify(ledger, details);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const account::LedgerEntry& entry = ledger.entries[i];
    const std::size_t number = group_of(entries[i]);
    NoiseGroup& group = groups_[number];
    group.self_ns += entry.self_ns;
    SeenSource& seen = group.sources[entry.source];
    ++seen.count;
    seen.self_ns += entry.self_ns;
    if (!entries[i].sender.empty() && (entry.kind == Kind::vector || entry.kind == Kind::csd)) {
      const std::string sender(entries[i].sender);
      if (group.senders.size() < kMostSenders || group.senders.contains(sender)) ++group.senders[sender];
    }
    if (group.rule == RuleId::tick && entry.kind == Kind::hrtimer) ++group.ticks;
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.group == number; });
    if (part == parts_.end()) {
      parts_.push_back({number, entry.self_ns});
    } else {
      part->self_ns += entry.self_ns;
    }
  }
}

void AdviceCollector::detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) {
  const std::uint64_t at_ns = ledger.detour.start_ns;
  if (cpu < cpus_.size()) see(cpus_[cpu], ledger.detour);
  const std::uint64_t duration_ns = ledger.detour.end_ns - at_ns;
  ++detours_;
  detour_ns_ += duration_ns;
  parts_of_all_ += ledger;
  noise_.add(offset(at_ns), static_cast<double>(duration_ns));
  caused_.add(offset(at_ns), static_cast<double>(ledger.explained_ns + ledger.overhead_ns));
  add_parts(ledger, details);

  const bool nobody_else = ledger.outside_ns() == 0 && ledger.unexplained_ns == 0;
  const bool alone = parts_.size() == 1;
  const std::uint64_t overhead_ns = ledger.overhead_ns;
  if (alone) groups_[parts_.front().group].overhead_ns += overhead_ns;
  if (!alone) shared_overhead_ns_ += overhead_ns;
  for (const Part& part : parts_) {
    const std::uint64_t ns = part.self_ns + (alone ? overhead_ns : 0);
    relieve(groups_[part.group].relief, static_cast<double>(ns), alone && nobody_else, at_ns);
  }
  for (std::size_t i = 0; i < kPlanCount; ++i) {
    std::uint64_t ns = 0;
    bool all = !parts_.empty();
    for (const Part& part : parts_) {
      const bool goes = (groups_[part.group].plans >> i & 1U) != 0;
      if (goes) ns += part.self_ns;
      all = all && goes;
    }
    if (all) ns += overhead_ns;
    if (ns > 0) relieve(plans_[i], static_cast<double>(ns), all && nobody_else, at_ns);
  }
}

void AdviceCollector::finish() {
  for (Watched& cpu : cpus_) close(cpu, cpu.until_ns);
}

}  // namespace noised::analysis
