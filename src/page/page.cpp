// SPDX-License-Identifier: Apache-2.0
// What the template's comments stand for.
#include "page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <string_view>

#include "page/html.h"

namespace noised::page {
namespace {

std::string title(const PageInput& input) {
  return escape_html(fmt::format("Noise of {}, {}", input.report.host, input.report.start));
}

std::string part(std::string_view name, const PageInput& input) {
  struct Part {
    std::string_view name;
    std::string (*make)(const PageInput&);
  };
  static constexpr std::array<Part, 13> kParts{{{"title", title},
                                                {"data", to_json},
                                                {"about", about_table},
                                                {"categories", category_table},
                                                {"cpus", cpu_table},
                                                {"sources", source_table},
                                                {"tails", tail_table},
                                                {"combinations", combination_table},
                                                {"detours", detour_table},
                                                {"projection-head", projection_head},
                                                {"projection", projection_tables},
                                                {"phases", phase_tables},
                                                {"advice", advice_tables}}};
  const auto found = std::find_if(kParts.begin(), kParts.end(), [&](const Part& it) { return it.name == name; });
  assert(found != kParts.end());
  return found->make(input);
}

}  // namespace

std::string render(const PageInput& input) {
  return fill_template(kTemplate, [&](std::string_view name) { return part(name, input); });
}

std::vector<std::size_t> shown_cpus(const Report& report) {
  std::vector<std::size_t> places(report.cpus.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return report.cpus[a].detour_ns > report.cpus[b].detour_ns; });
  places.resize(std::min(places.size(), kMostCpus));
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace noised::page
