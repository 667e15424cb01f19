// SPDX-License-Identifier: Apache-2.0
// Measuring and padding the cells of a table.
#include "views/table.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

namespace noised::views {

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(columns_[i].title.size());
    for (const auto& row : rows_) widths[i] = std::max(widths[i], row[i].size());
  }

  std::string text;
  const auto append = [&](auto cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string& cell = cell_at(i);
      line += columns_[i].align == Align::left ? fmt::format("{:<{}}", cell, widths[i])
                                               : fmt::format("{:>{}}", cell, widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  append([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) append([&](std::size_t i) -> const std::string& { return row[i]; });
  return text;
}

}  // namespace noised::views
