// SPDX-License-Identifier: Apache-2.0
// The template with its comments replaced, in one pass: what is put in is never looked at again.
#include "page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <string_view>

#include "page/html_text.h"

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
  constexpr std::string_view kOpen = "<!--";
  constexpr std::string_view kClose = "-->";
  std::string page;
  std::string_view rest = kTemplate;
  for (std::size_t at = rest.find(kOpen); at != std::string_view::npos; at = rest.find(kOpen)) {
    page += rest.substr(0, at);
    rest.remove_prefix(at + kOpen.size());
    const std::size_t end = rest.find(kClose);
    assert(end != std::string_view::npos);
    page += part(rest.substr(0, end), input);
    rest.remove_prefix(end + kClose.size());
  }
  return page += rest;
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
