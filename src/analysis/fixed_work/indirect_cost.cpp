// SPDX-License-Identifier: Apache-2.0
// Patterns of episodes become the rows of one fit for each of the three costs.
#include "analysis/fixed_work/indirect_cost.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/fixed_work/cost_fit.h"
#include "model/combinations.h"

namespace noised::analysis {
namespace {

template <typename Visit>
void for_each_source(const PhaseEpisodes::Pattern& pattern, Visit&& visit) {
  for (std::size_t i = 1; i < pattern.size(); i += 2) visit(SourceId{pattern[i]}, pattern[i + 1]);
}

/// Every source, the one in most episodes first; those that are in too few of them, or for which there is no room,
/// together as one, the last.
std::vector<IndirectCost> sources_of(const PhaseEpisodes& episodes, bool judged) {
  std::map<SourceId, IndirectCost> by_id;
  for (const auto& [pattern, sums] : episodes.patterns()) {
    const std::uint64_t count = sums.residual.count + (judged ? 0 : sums.unjudged);
    if (count == 0) continue;
    for_each_source(pattern, [&](SourceId id, std::uint32_t activations) {
      IndirectCost& cost = by_id[id];
      cost.sources = {id};
      cost.each = {1};
      cost.episodes += count;
      cost.activations += count * activations;
    });
  }
  std::vector<IndirectCost> all;
  all.reserve(by_id.size());
  for (auto& [id, cost] : by_id) all.push_back(std::move(cost));
  std::sort(all.begin(), all.end(), [](const IndirectCost& a, const IndirectCost& b) {
    return a.episodes != b.episodes ? a.episodes > b.episodes : a.sources < b.sources;
  });
  std::size_t own = 0;
  while (own < std::min(all.size(), kMostRegressors) && all[own].episodes >= kLeastEpisodes) ++own;
  if (own == all.size()) return all;
  IndirectCost others;
  others.sources = {kOtherSource};
  others.each = {1};
  others.why_not = NoCost::few;
  for (std::size_t i = own; i < all.size(); ++i) {
    others.episodes += all[i].episodes;
    others.activations += all[i].activations;
  }
  all.resize(own);
  all.push_back(std::move(others));
  return all;
}

/// The rows, the quiet phases first, and of each the times that a cost is fitted to.
struct Rows {
  std::vector<FitRow> rows;
  std::vector<const EpisodeSums*> sums;
};

Rows rows_of(const PhaseEpisodes& episodes, const std::vector<IndirectCost>& sources, const EpisodeSums& quiet) {
  std::map<SourceId, std::size_t> regressor;
  for (std::size_t i = 0; i < sources.size(); ++i) regressor[sources[i].sources.front()] = i;
  Rows rows;
  rows.rows.push_back({1, static_cast<double>(quiet.residual.count), std::vector<double>(sources.size())});
  rows.sums.push_back(&quiet);
  for (const auto& [pattern, sums] : episodes.patterns()) {
    if (sums.residual.count == 0) continue;
    FitRow row{static_cast<double>(pattern[0]), static_cast<double>(sums.residual.count),
               std::vector<double>(sources.size())};
    for_each_source(pattern, [&](SourceId id, std::uint32_t activations) {
      const auto own = regressor.find(id);
      row.activations[own != regressor.end() ? own->second : sources.size() - 1] += activations;
    });
    rows.rows.push_back(std::move(row));
    rows.sums.push_back(&sums);
  }
  return rows;
}

std::vector<FitTimes> times_of(const Rows& rows, Spread EpisodeSums::* part) {
  std::vector<FitTimes> times;
  times.reserve(rows.sums.size());
  for (const EpisodeSums* const sums : rows.sums) times.push_back({(sums->*part).mean_ns, (sums->*part).squares});
  return times;
}

// Student's quantile for so many episodes: Fisher's and Cornish's first term beside the normal one.
CostEstimate estimate(const CostFit::Cost& cost, std::uint64_t episodes) {
  const double quantile = 1.96 + 2.4 / static_cast<double>(episodes - 1);
  return {cost.ns, cost.ns - quantile * cost.error_ns, cost.ns + quantile * cost.error_ns};
}

NoCost why_not(const PhaseEpisodes& episodes, const IndirectCost& cost) {
  std::uint64_t without = episodes.quiet().count();
  for (const auto& [pattern, sums] : episodes.patterns()) {
    bool inside = false;
    for_each_source(pattern, [&](SourceId id, std::uint32_t) { inside |= id == cost.sources.front(); });
    if (!inside) without += pattern[0] * (sums.residual.count + sums.unjudged);
  }
  return without < kLeastEpisodes ? NoCost::always : NoCost::never_quiet;
}

}  // namespace

IndirectCosts indirect_costs(const PhaseEpisodes& episodes) {
  IndirectCosts result;
  result.length_bias_ns = episodes.length_bias_ns();
  std::vector<IndirectCost> sources = sources_of(episodes, result.length_bias_ns.has_value());
  if (!result.length_bias_ns) {
    for (IndirectCost& each : sources) {
      if (each.why_not == NoCost::none) each.why_not = why_not(episodes, each);
    }
    result.sources = std::move(sources);
    return result;
  }
  EpisodeSums quiet;
  quiet.residual = quiet.outside = episodes.quiet_spread();
  const Rows rows = rows_of(episodes, sources, quiet);
  const CostFit fit(rows.rows, sources.size());
  const auto both = fit.fit(times_of(rows, &EpisodeSums::residual), *result.length_bias_ns);
  const auto inside = fit.fit(times_of(rows, &EpisodeSums::inside), 0);
  const auto outside = fit.fit(times_of(rows, &EpisodeSums::outside), *result.length_bias_ns);
  result.base_ns = static_cast<double>(episodes.quiet().total_ns()) / static_cast<double>(episodes.quiet().count());
  for (std::size_t i = 0; i < fit.groups().size(); ++i) {
    const CostFit::Group& group = fit.groups()[i];
    IndirectCost cost = sources[group.regressor];
    for (const CostFit::Companion& companion : group.companions) {
      cost.sources.push_back(sources[companion.regressor].sources.front());
      cost.each.push_back(companion.each);
    }
    if (group.tangled) cost.why_not = NoCost::tangled;
    if (cost.why_not == NoCost::none) {
      cost.indirect = estimate(both.costs[i], cost.episodes);
      cost.inside = estimate(inside.costs[i], cost.episodes);
      cost.after = estimate(outside.costs[i], cost.episodes);
    }
    result.sources.push_back(std::move(cost));
  }
  return result;
}

}  // namespace noised::analysis
