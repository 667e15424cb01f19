// SPDX-License-Identifier: Apache-2.0
// Back from the JSON of noisectl phases to what it says of indirect costs.
#include <algorithm>
#include <cmath>
#include <map>

#include "model/json_fields.h"
#include "views/phases.h"

namespace noised::views {
namespace {

struct Weighted {
  double activations = 0;
  analysis::CostEstimate sum;
};

std::optional<double> number_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// One row of a CPU's table. False: it is none.
bool read_row(const Json& row, std::map<std::string, Weighted>& known, std::vector<std::string>& unknown) {
  if (!row.is_object() || !row.contains("sources") || !row.at("sources").is_array() || row.at("sources").empty() ||
      !row.at("sources").front().is_string() || !row.contains("after"))
    return false;
  const std::string source = row.at("sources").front().get<std::string>();
  const auto activations = number_of(row, "activations");
  if (!activations || *activations < 0) return false;
  const Json& after = row.at("after");
  if (after.is_null() || *activations == 0) {
    unknown.push_back(source);
    return true;
  }
  const auto ns = number_of(after, "ns");
  const auto low_ns = number_of(after, "low_ns");
  const auto high_ns = number_of(after, "high_ns");
  constexpr double kMostNs = 1e12;
  for (const auto& each : {ns, low_ns, high_ns}) {
    if (!each || std::abs(*each) > kMostNs) return false;
  }
  Weighted& sum = known[source];
  sum.activations += *activations;
  sum.sum.ns += *activations * *ns;
  sum.sum.low_ns += *activations * *low_ns;
  sum.sum.high_ns += *activations * *high_ns;
  return true;
}

std::optional<analysis::AfterCost> cost_of(const std::string& source, const Weighted& weighted) {
  if (weighted.activations <= 0) return std::nullopt;
  analysis::AfterCost cost{{}, {}, weighted.sum};
  cost.cost.ns /= weighted.activations;
  cost.cost.low_ns /= weighted.activations;
  cost.cost.high_ns /= weighted.activations;
  if (source == "others") return cost;
  const std::size_t colon = source.find(':');
  cost.kind = kind_named(source.substr(0, colon));
  if (!cost.kind || colon == std::string::npos) return std::nullopt;
  cost.name = source.substr(colon + 1);
  return cost;
}

Error no_costs(const std::string& what) { return failure(what, "make it with 'noisectl phases --json'"); }

}  // namespace

Result<PhaseAfterCosts> parse_after_costs(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object() || parsed.value("schema", Json()) != "noised.phases/1")
    return no_costs("it is not what 'noisectl phases --json' prints");
  if (!parsed.contains("cpus") || !parsed.at("cpus").is_array()) return no_costs("phases.cpus: no array");
  std::map<std::string, Weighted> known;
  PhaseAfterCosts result;
  for (const Json& cpu : parsed.at("cpus")) {
    const Json none;
    const Json& indirect = cpu.is_object() && cpu.contains("indirect") ? cpu.at("indirect") : none;
    if (!indirect.is_object() || !indirect.contains("sources") || !indirect.at("sources").is_array())
      return no_costs("phases.cpus: no indirect costs");
    for (const Json& row : indirect.at("sources")) {
      if (!read_row(row, known, result.unknown)) return no_costs("phases.cpus.indirect.sources: no cost");
    }
  }
  for (const auto& [source, weighted] : known) {
    if (auto cost = cost_of(source, weighted)) result.costs.push_back(std::move(*cost));
  }
  // What one CPU knows, another need not.
  std::erase_if(result.unknown, [&](const std::string& source) { return known.contains(source); });
  std::ranges::sort(result.unknown);
  result.unknown.erase(std::ranges::unique(result.unknown).begin(), result.unknown.end());
  return result;
}

}  // namespace noised::views
