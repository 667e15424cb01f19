// SPDX-License-Identifier: Apache-2.0
// Each kind of cell in both forms.
#include "views/cells.h"

#include <cassert>

#include <fmt/format.h>

#include "views/csv.h"
#include "views/format.h"
#include "views/views.h"

namespace noised::views {

Cell number_cell(std::uint64_t number) { return {std::to_string(number), std::to_string(number)}; }

Cell time_cell(std::uint64_t nanoseconds) { return {format_duration(nanoseconds), std::to_string(nanoseconds)}; }

Cell share_cell(double ratio) { return {format_share(ratio), fmt::format("{:.9f}", ratio)}; }

Cell rate_cell(std::uint64_t count, std::uint64_t ns) {
  if (ns == 0) return unknown_cell();
  return {format_rate(count, ns), fmt::format("{:.6f}", 1e9 * ratio(count, ns))};
}

Cell name_cell(std::string_view name) { return {printable(name), std::string(name)}; }

Cell unknown_cell() { return {"-", ""}; }

Cell cpu_cell(std::optional<unsigned> cpu) { return cpu ? number_cell(*cpu) : Cell{"all", "all"}; }

void CellTable::add(std::vector<Cell> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string CellTable::text() const {
  std::vector<Table::Column> shown;
  for (const Column& column : columns_) {
    if (!column.only_csv) shown.push_back({column.title, column.align});
  }
  Table table(std::move(shown));
  for (const std::vector<Cell>& row : rows_) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!columns_[i].only_csv) cells.push_back(row[i].text);
    }
    table.add(std::move(cells));
  }
  return table.text();
}

std::string CellTable::csv() const {
  std::vector<std::string> fields;
  fields.reserve(columns_.size());
  for (const Column& column : columns_) fields.push_back(column.field);
  std::string text = csv_line(fields);
  for (const std::vector<Cell>& row : rows_) {
    fields.clear();
    for (const Cell& cell : row) fields.push_back(cell.csv);
    text += csv_line(fields);
  }
  return text;
}

}  // namespace noised::views
