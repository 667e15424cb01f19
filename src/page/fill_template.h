// SPDX-License-Identifier: Apache-2.0
// A page out of a template: its comments name what takes their place.
#pragma once

#include <cassert>
#include <string>
#include <string_view>

namespace noised::page {

/// The template with part(name) for each <!--name-->, in one pass: what is put in is never looked at again.
template <typename Part>
std::string fill_template(std::string_view rest, Part&& part) {
  constexpr std::string_view kOpen = "<!--";
  constexpr std::string_view kClose = "-->";
  std::string page;
  for (std::size_t at = rest.find(kOpen); at != std::string_view::npos; at = rest.find(kOpen)) {
    page += rest.substr(0, at);
    rest.remove_prefix(at + kOpen.size());
    const std::size_t end = rest.find(kClose);
    assert(end != std::string_view::npos);
    page += part(rest.substr(0, end));
    rest.remove_prefix(end + kClose.size());
  }
  return page += rest;
}

}  // namespace noised::page
