// SPDX-License-Identifier: Apache-2.0
// Writing it, and reading it with every number checked: what it says is compared with a machine that is in use.
#include "views/baseline_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "views/json_fields.h"
#include "views/json_parts.h"

namespace noised::views {
namespace {

constexpr const char* kSchema = "noised.baseline/1";
constexpr std::uint64_t kMostDoubled = 34;  // a block of five years
constexpr std::size_t kMostCpus = 8192;

Json detours_json(const std::vector<DurationCounts>& detours) {
  Json json = Json::array();
  for (const DurationCounts& block : detours) {
    Json pairs = Json::array();
    for (const auto& [low_ns, count] : block) pairs.push_back(Json::array({low_ns, count}));
    json.push_back(std::move(pairs));
  }
  return json;
}

Json source_json(const BaselineSource& source) {
  Json blocks = Json::array();
  for (std::size_t i = 0; i < source.blocks.size(); ++i) {
    const SourceBlock& block = source.blocks[i];
    if (block.count != 0) blocks.push_back(Json::array({i, block.count, block.self_ns}));
  }
  return Json{{"kind", to_string(source.kind)}, {"name", source.name}, {"blocks", std::move(blocks)}};
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

void read_detours(const Fields& fields, Baseline& baseline) {
  const Json* const blocks = fields.array("detours");
  if (blocks == nullptr) return;
  if (blocks->size() >= kMostBlocks + 1) return fields.fail("detours", "more blocks than there can be");
  for (const Json& block : *blocks) {
    DurationCounts& counts = baseline.detours.emplace_back();
    if (!block.is_array()) return fields.fail("detours", "not an array of arrays");
    for (const Json& item : block) {
      std::array<std::uint64_t, 2> pair{};
      const bool read = numbers_of(item, pair);
      if (!read || pair[1] == 0 || duration_bucket(pair[0]) != pair[0] || !counts.emplace(pair[0], pair[1]).second)
        return fields.fail("detours", "not different buckets with their counts");
    }
  }
}

void read_source(const Fields& fields, Baseline& baseline) {
  BaselineSource source;
  std::string kind;
  fields.read("kind", kind);
  fields.read("name", source.name);
  const Json* const blocks = fields.array("blocks");
  if (blocks == nullptr) return;
  const auto known = kind_named(kind);
  if (!known || *known == Kind::none) return fields.fail("kind", "'" + kind + "' is no kind of source");
  source.kind = *known;
  source.blocks.resize(baseline.blocks());
  if (blocks->empty()) return fields.fail("blocks", "a source without any activation");
  for (const Json& item : *blocks) {
    std::array<std::uint64_t, 3> triple{};
    if (!numbers_of(item, triple) || triple[0] >= source.blocks.size() || triple[1] == 0 ||
        source.blocks[triple[0]].count != 0)
      return fields.fail("blocks", "not different blocks with their counts and self times");
    source.blocks[triple[0]] = {triple[1], triple[2]};
  }
  const auto key = [](const BaselineSource& each) { return std::tie(each.kind, each.name); };
  if (!baseline.sources.empty() && key(baseline.sources.back()) >= key(source))
    return fields.fail("name", "sources are not in order");
  baseline.sources.push_back(std::move(source));
}

void read_block_length(const Fields& fields, Baseline& baseline) {
  fields.read("block_ns", baseline.block_ns);
  for (std::uint64_t doubled = 0; doubled <= kMostDoubled; ++doubled)
    if (baseline.block_ns == kShortestBlockNs << doubled) return;
  fields.fail("block_ns", fmt::format("not {} times a power of two", kShortestBlockNs));
}

void read_cpus(const Fields& fields, Baseline& baseline) {
  fields.each("cpus", [&](const Fields& item) {
    BaselineCpu& cpu = baseline.cpus.emplace_back();
    item.read("cpu", cpu.cpu);
    item.read("threshold_ns", cpu.threshold_ns);
    item.read("observed_ns", cpu.observed_ns);
  });
  if (baseline.cpus.empty() || baseline.cpus.size() > kMostCpus) fields.fail("cpus", "as many CPUs as there cannot be");
}

void read_baseline(const Fields& fields, Baseline& baseline) {
  expect_schema(fields, kSchema);
  fields.read("host", baseline.host);
  fields.read("kernel", baseline.kernel);
  fields.read("boot_parameters", baseline.boot_parameters);
  fields.read("processor", baseline.processor);
  fields.read_nullable("start", baseline.start);
  fields.read("policy", baseline.policy);
  fields.read("duty_percent", baseline.duty_percent);
  fields.read("kinds", baseline.kinds);
  std::sort(baseline.kinds.begin(), baseline.kinds.end());
  fields.read("unsupported", baseline.unsupported);
  fields.object("lost", [&](const Fields& inner) { read_lost(inner, baseline.lost); });
  read_cpus(fields, baseline);
  read_block_length(fields, baseline);
  read_detours(fields, baseline);
  fields.each("sources", [&](const Fields& item) { read_source(item, baseline); });
}

}  // namespace

std::string to_json(const Baseline& baseline) {
  Json cpus = Json::array();
  for (const BaselineCpu& cpu : baseline.cpus)
    cpus.push_back({{"cpu", cpu.cpu}, {"threshold_ns", cpu.threshold_ns}, {"observed_ns", cpu.observed_ns}});
  Json sources = Json::array();
  for (const BaselineSource& source : baseline.sources) sources.push_back(source_json(source));
  return dump(Json{{"schema", kSchema},
                   {"host", baseline.host},
                   {"kernel", baseline.kernel},
                   {"boot_parameters", baseline.boot_parameters},
                   {"processor", baseline.processor},
                   {"start", baseline.start.empty() ? Json(nullptr) : Json(baseline.start)},
                   {"policy", baseline.policy},
                   {"duty_percent", baseline.duty_percent},
                   {"kinds", baseline.kinds},
                   {"unsupported", baseline.unsupported},
                   {"lost", lost_json(baseline.lost)},
                   {"cpus", std::move(cpus)},
                   {"block_ns", baseline.block_ns},
                   {"detours", detours_json(baseline.detours)},
                   {"sources", std::move(sources)}});
}

Result<Baseline> parse_baseline(std::string_view json) { return parse_as<Baseline>(json, "baseline", read_baseline); }

}  // namespace noised::views
