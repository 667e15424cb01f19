// SPDX-License-Identifier: Apache-2.0
// Writing it, and reading it with every number checked: what it says is compared with a machine that is in use.
#include "views/baseline_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "model/json_parts.h"

namespace noised::views {
namespace {

constexpr std::uint64_t kMostDoubled = 34;  // a block of five years
constexpr std::size_t kMostCpus = 8192;

Json detours_json(const std::vector<analysis::DurationCounts>& detours) {
  Json json = Json::array();
  for (const analysis::DurationCounts& block : detours) {
    Json pairs = Json::array();
    for (const auto& [low_ns, count] : block) pairs.push_back(Json::array({low_ns, count}));
    json.push_back(std::move(pairs));
  }
  return json;
}

// Of blocks in which there was one.
Json blocks_json(const std::vector<analysis::SourceBlock>& blocks) {
  Json json = Json::array();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].count != 0) json.push_back(Json::array({i, blocks[i].count, blocks[i].self_ns}));
  return json;
}

/// The numbers of one small array, or false.
template <std::size_t kSize>
bool numbers_of(const Json& item, std::array<std::uint64_t, kSize>& numbers) {
  if (!item.is_array() || item.size() != kSize) return false;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (!item[i].is_number_unsigned()) return false;
    numbers[i] = item[i].get<std::uint64_t>();
  }
  return true;
}

void read_detours(const Fields& fields, std::vector<analysis::DurationCounts>& detours) {
  const Json* const blocks = fields.array("detours");
  if (blocks == nullptr) return;
  if (blocks->size() >= analysis::kMostBlocks + 1) return fields.fail("detours", "more blocks than there can be");
  for (const Json& block : *blocks) {
    analysis::DurationCounts& counts = detours.emplace_back();
    if (!block.is_array()) return fields.fail("detours", "not an array of arrays");
    for (const Json& item : block) {
      std::array<std::uint64_t, 2> pair{};
      const bool read = numbers_of(item, pair);
      if (!read || pair[1] == 0 || analysis::duration_bucket(pair[0]) != pair[0] ||
          !counts.emplace(pair[0], pair[1]).second)
        return fields.fail("detours", "not different buckets with their counts");
    }
  }
}

// There are as many as the run has.
void read_blocks(const Fields& fields, std::vector<analysis::SourceBlock>& out) {
  const Json* const blocks = fields.array("blocks");
  if (blocks == nullptr) return;
  if (blocks->empty()) return fields.fail("blocks", "a source without any activation");
  for (const Json& item : *blocks) {
    std::array<std::uint64_t, 3> triple{};
    if (!numbers_of(item, triple) || triple[0] >= out.size() || triple[1] == 0 || out[triple[0]].count != 0)
      return fields.fail("blocks", "not different blocks with their counts and self times");
    out[triple[0]] = {triple[1], triple[2]};
  }
}

void read_kind(const Fields& fields, Kind& kind) {
  std::string name;
  fields("kind", name);
  kind = kind_named(name).value_or(Kind::none);
  if (kind == Kind::none) fields.fail("kind", "'" + name + "' is no kind of source");
}

constexpr auto kBaselineSourceFields = [](auto& source, const auto& field) {
  field.custom("kind", source.kind, [](Kind kind) { return to_string(kind); }, read_kind);
  field("name", source.name);
  field.custom("blocks", source.blocks, blocks_json, read_blocks);
};

Json sources_json(const analysis::Baseline& baseline) { return fields_json(baseline.sources, kBaselineSourceFields); }

void read_sources(const Fields& fields, analysis::Baseline& baseline) {
  fields("sources", baseline.sources, [&](analysis::BaselineSource& source, const Fields& item) {
    source.blocks.resize(baseline.blocks());
    kBaselineSourceFields(source, item);
    const auto key = [](const analysis::BaselineSource& each) { return std::tie(each.kind, each.name); };
    const std::vector<analysis::BaselineSource>& all = baseline.sources;
    if (all.size() > 1 && key(all[all.size() - 2]) >= key(source)) item.fail("name", "sources are not in order");
  });
}

constexpr auto kBaselineCpuFields = [](auto& cpu, const auto& field) {
  field("cpu", cpu.cpu);
  field("threshold_ns", cpu.threshold_ns);
  field("observed_ns", cpu.observed_ns);
};

constexpr auto kBaselineFields = [](auto& baseline, const auto& field) {
  field.schema("noised.baseline/1");
  field("host", baseline.host);
  field("kernel", baseline.kernel);
  field("boot_parameters", baseline.boot_parameters);
  field("processor", baseline.processor);
  field.nullable("start", baseline.start);
  field("policy", baseline.policy);
  field("duty_percent", baseline.duty_percent);
  field("kinds", baseline.kinds);
  field("unsupported", baseline.unsupported);
  field("lost", baseline.lost, kLostFields);
  field("cpus", baseline.cpus, kBaselineCpuFields);
  field("block_ns", baseline.block_ns);
  field.custom("detours", baseline.detours, detours_json, read_detours);
  field.custom("sources", baseline, sources_json, read_sources);
};

bool block_length(std::uint64_t ns) {
  for (std::uint64_t doubled = 0; doubled <= kMostDoubled; ++doubled)
    if (ns == analysis::kShortestBlockNs << doubled) return true;
  return false;
}

void read_baseline(analysis::Baseline& baseline, const Fields& fields) {
  kBaselineFields(baseline, fields);
  std::sort(baseline.kinds.begin(), baseline.kinds.end());
  if (baseline.cpus.empty() || baseline.cpus.size() > kMostCpus) fields.fail("cpus", "as many CPUs as there cannot be");
  if (!block_length(baseline.block_ns))
    fields.fail("block_ns", fmt::format("not {} times a power of two", analysis::kShortestBlockNs));
}

}  // namespace

std::string to_json(const analysis::Baseline& baseline) { return dump(fields_json(baseline, kBaselineFields)); }

Result<analysis::Baseline> parse_baseline(std::string_view json) {
  return parse_as<analysis::Baseline>(json, "baseline", read_baseline);
}

}  // namespace noised::views
