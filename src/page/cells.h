// SPDX-License-Identifier: Apache-2.0
// What stands in the cells of several tables, as HTML.
#pragma once

#include <noised/types.h>
#include <noised/views.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace noised::page {

/// "63.1%"; of nothing, "0%".
std::string share_html(std::uint64_t part, std::uint64_t whole);
/// The category with its colour.
std::string category_html(Category category);
/// The same of its name, which may be anything.
std::string category_html(std::string_view name);
/// Sources that came together.
std::string sources_html(const std::vector<std::string>& sources);
/// The entries of a detour with their self times; `untimed`: "kind:name" of those that were only counted.
std::string entries_html(const DetourView& detour, const std::set<std::string>& untimed);

}  // namespace noised::page
