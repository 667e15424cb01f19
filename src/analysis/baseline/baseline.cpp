// SPDX-License-Identifier: Apache-2.0
#include "analysis/baseline/baseline.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/saturating.h"
#include "base/text.h"

namespace noised::analysis {

std::uint64_t duration_bucket(std::uint64_t duration_ns) {
  constexpr int kStepBits = 4;
  const int shift = std::max(0, static_cast<int>(std::bit_width(duration_ns)) - kStepBits - 1);
  return duration_ns >> shift << shift;
}

Baseline with_longer_blocks(const Baseline& run) {
  Baseline longer = run;
  longer.block_ns *= 2;
  const std::size_t blocks = run.blocks() / 2;
  longer.detours.assign(blocks, {});
  for (std::size_t block = 0; block < 2 * blocks; ++block) {
    for (const auto& [low_ns, count] : run.detours[block]) {
      std::uint64_t& sum = longer.detours[block / 2][low_ns];
      sum = saturating_add(sum, count);
    }
  }
  for (BaselineSource& source : longer.sources) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const SourceBlock& first = source.blocks[2 * block];
      const SourceBlock& second = source.blocks[2 * block + 1];
      source.blocks[block] = {saturating_add(first.count, second.count), saturating_add(first.self_ns, second.self_ns)};
    }
    source.blocks.resize(blocks);
  }
  std::erase_if(longer.sources, [](const BaselineSource& source) {
    return std::all_of(source.blocks.begin(), source.blocks.end(), [](const SourceBlock& b) { return b.count == 0; });
  });
  return longer;
}

void BaselineCollector::begin(std::size_t cpu, std::uint64_t first_ns) {
  Position& position = cpus_[cpu];
  first_ns = std::max(first_ns, from_ns_);
  if (position.began && first_ns <= position.last_ns) return;
  position = {true, first_ns, position.reached_ns, 0, position.reached_ns, first_ns};
}

void BaselineCollector::skip(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  Position& position = cpus_[cpu];
  (void)observed_at(position, start_ns);
  start_ns = std::max(start_ns, position.origin_ns);
  position.skipped_ns = saturating_add(position.skipped_ns, end_ns - std::min(start_ns, end_ns));
}

std::uint64_t BaselineCollector::observed_at(Position& position, std::uint64_t time_ns) {
  if (!position.began) position = {true, time_ns, 0, 0, 0, time_ns};
  position.last_ns = std::max(position.last_ns, time_ns);
  const std::uint64_t from_ns = saturating_add(position.origin_ns, position.skipped_ns);
  const std::uint64_t observed_ns = saturating_add(position.base_ns, time_ns - std::min(time_ns, from_ns));
  position.reached_ns = std::max(position.reached_ns, observed_ns);
  return observed_ns;
}

std::size_t BaselineCollector::block_at(std::uint64_t observed_ns) {
  while (observed_ns / block_ns_ >= kMostBlocks) double_blocks();
  return observed_ns / block_ns_;
}

void BaselineCollector::double_blocks() {
  block_ns_ *= 2;
  const auto join = [](auto& blocks, const auto& add) {
    for (std::size_t i = 0; i < kMostBlocks; ++i) {
      auto block = std::exchange(blocks[i], {});
      add(blocks[i / 2], block);
    }
  };
  join(detours_, [](DurationCounts& to, const DurationCounts& from) {
    for (const auto& [low_ns, count] : from) to[low_ns] = saturating_add(to[low_ns], count);
  });
  for (std::vector<SourceBlock>& blocks : counts_) {
    if (blocks.empty()) continue;
    join(blocks, [](SourceBlock& to, const SourceBlock& from) {
      to = {saturating_add(to.count, from.count), saturating_add(to.self_ns, from.self_ns)};
    });
  }
}

void BaselineCollector::count(SourceId source, std::size_t block, std::uint64_t self_ns) {
  if (source >= counts_.size()) counts_.resize(source + 1);
  if (counts_[source].empty()) counts_[source].resize(kMostBlocks);
  SourceBlock& counted = counts_[source][block];
  counted = {saturating_add(counted.count, 1), saturating_add(counted.self_ns, self_ns)};
}

void BaselineCollector::add(std::size_t cpu, const account::DetourLedger& ledger) {
  const std::size_t block = block_at(observed_at(cpus_[cpu], ledger.detour.start_ns));
  for (const account::LedgerEntry& entry : ledger.entries) count(entry.source, block, entry.self_ns);
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { count(sources_.gap(kind), block, ns); });
  // What others than the kernel took is in the sources above: it would hide how long the kernel takes.
  if (ledger.entries.empty()) return;
  std::uint64_t& durations = detours_[block][duration_bucket(ledger.explained_ns + ledger.overhead_ns)];
  durations = saturating_add(durations, 1);
}

void BaselineCollector::finish(Baseline& run) {
  std::uint64_t least_ns = run.cpus.empty() ? 0 : UINT64_MAX;
  for (const BaselineCpu& cpu : run.cpus) {
    (void)block_at(cpu.observed_ns);
    least_ns = std::min(least_ns, cpu.observed_ns);
  }
  const std::size_t blocks = least_ns / block_ns_;
  run.block_ns = block_ns_;
  run.detours.assign(detours_.begin(), detours_.begin() + static_cast<std::ptrdiff_t>(blocks));
  std::map<std::pair<Kind, std::string>, std::vector<SourceBlock>> merged;
  for (std::size_t id = 0; id < counts_.size(); ++id) {
    if (counts_[id].empty()) continue;
    const Source& source = sources_.at(static_cast<SourceId>(id));
    std::vector<SourceBlock>& to = merged[{source.kind, compared_name(source.kind, source.name)}];
    to.resize(blocks);
    for (std::size_t i = 0; i < blocks; ++i) {
      to[i] = {saturating_add(to[i].count, counts_[id][i].count),
               saturating_add(to[i].self_ns, counts_[id][i].self_ns)};
    }
  }
  run.sources.clear();
  for (auto& [key, counted] : merged) {
    const bool seen = std::any_of(counted.begin(), counted.end(), [](const SourceBlock& b) { return b.count != 0; });
    if (seen) run.sources.push_back({key.first, key.second, std::move(counted)});
  }
}

std::string compared_name(Kind kind, const std::string& name) {
  const std::size_t colon = name.find(':');
  if (kind != Kind::task || !name.starts_with("kworker/") || colon == std::string::npos) return as_utf8(name);
  const std::size_t end = name.find_first_not_of("0123456789", colon + 1);
  return as_utf8(name.substr(0, colon + 1) + "*" + (end == std::string::npos ? "" : name.substr(end)));
}

}  // namespace noised::analysis
