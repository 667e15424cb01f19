// SPDX-License-Identifier: Apache-2.0
// Its threads are tasks as all others: measured like them, and summed by name.
#include "views/own.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/saturating.h"
#include "base/text.h"
#include "model/sources.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {

std::string own_noise_text(std::span<const ReportSource> sources, std::uint64_t stolen_ns) {
  constexpr std::size_t kNamed = 3;
  std::map<std::string, std::uint64_t> by_name;
  std::uint64_t sum_ns = 0;
  const bool any_nameless = std::ranges::any_of(
      sources, [](const ReportSource& source) { return source.kind == "task" && source.name == "other"; });
  const char* const known = any_nameless ? ", of the tasks that have names here" : "";
  for (const ReportSource& source : sources) {
    if (!is_own(kind_named(source.kind).value_or(Kind::none), source.name)) continue;
    std::uint64_t& named_ns = by_name[source.name];
    named_ns = saturating_add(named_ns, source.total_ns);
    sum_ns = saturating_add(sum_ns, source.total_ns);
  }
  if (sum_ns == 0) return std::string("nothing") + known;
  std::vector<std::pair<std::string, std::uint64_t>> largest(by_name.begin(), by_name.end());
  std::ranges::stable_sort(largest, std::ranges::greater(), &std::pair<std::string, std::uint64_t>::second);
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, largest.size()); ++i)
    names +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(largest[i].first), format_duration(largest[i].second));
  return fmt::format("{} ({}) by {}{}{}", format_duration(sum_ns), format_share(ratio(sum_ns, stolen_ns)), names,
                     largest.size() > kNamed ? ", ..." : "", known);
}

}  // namespace noised::views
