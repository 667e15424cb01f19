// SPDX-License-Identifier: Apache-2.0
#include "page/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "page/html_text.h"
#include "views/format.h"

namespace noised::page {

std::string share_html(std::uint64_t part, std::uint64_t whole) {
  return escape_html(views::format_share(views::ratio(part, whole)));
}

std::string category_html(Category category) {
  std::string name(to_string(category));
  std::replace(name.begin(), name.end(), '_', ' ');
  return fmt::format(R"(<span class="name"><span class="key c-{}"></span>{}</span>)", to_string(category), name);
}

std::string category_html(std::string_view name) {
  const auto category = category_named(name);
  return category ? category_html(*category) : escape_html(name);
}

std::string sources_html(const std::vector<std::string>& sources) {
  std::string html;
  for (const std::string& source : sources) html += (html.empty() ? "" : " + ") + code_html(source);
  return html;
}

std::string entries_html(const DetourView& detour, const std::set<std::string>& untimed) {
  std::string html;
  for (const DetourEntryView& entry : detour.entries) {
    if (!html.empty()) html += ", ";
    const std::string label = entry.kind + ":" + entry.name;
    html += code_html(label) + " " + (untimed.contains(label) ? "not timed" : duration_html(entry.self_ns));
  }
  if (detour.overhead_ns != 0) html += (html.empty() ? "overhead " : ", overhead ") + duration_html(detour.overhead_ns);
  return html;
}

}  // namespace noised::page
