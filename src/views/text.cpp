// SPDX-License-Identifier: Apache-2.0
// Each kind of cell in both forms.
#include "views/text.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "views/views.h"

namespace noised::views {

std::string format_share(double ratio) {
  const double percent = 100 * ratio;
  if (percent <= 0) return "0%";
  if (percent < 0.0001) return "<0.0001%";
  if (percent < 0.1) return fmt::format("{:.4f}%", percent);
  if (percent < 1) return fmt::format("{:.3f}%", percent);
  if (percent < 10) return fmt::format("{:.2f}%", percent);
  return fmt::format("{:.1f}%", percent);
}

std::string format_containment(double ratio) {
  if (ratio >= 1) return "100.0000%";
  // What is a whole number of millionths, but not in binary, is not to lose one of them.
  return fmt::format("{:.4f}%", std::min(std::floor(1e6 * ratio + 1e-6), 999'999.0) / 1e4);
}

std::string format_rate(std::uint64_t count, std::uint64_t ns) {
  if (ns == 0) return "-";
  const double rate = 1e9 * ratio(count, ns);
  if (rate < 10) return fmt::format("{:.2f}", rate);
  if (rate < 100) return fmt::format("{:.1f}", rate);
  return fmt::format("{:.0f}", rate);
}

std::string wrapped(std::string_view line, std::size_t width, std::size_t indent) {
  std::string text;
  std::size_t used = 0;
  while (!line.empty()) {
    // The spaces before a word go with it, but for those at which a line ends.
    const std::size_t word = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', word), line.size());
    if (used != 0 && used + end > width) {
      text += '\n' + std::string(indent, ' ');
      used = indent;
      line.remove_prefix(word);
      text += line.substr(0, end - word);
      used += end - word;
      line.remove_prefix(end - word);
    } else {
      text += line.substr(0, end);
      used += end;
      line.remove_prefix(end);
    }
  }
  return text;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

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

namespace {

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string text = "\"";
  for (const char byte : field) {
    if (byte == '"') text += '"';
    text += byte;
  }
  return text + '"';
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += ',';
    line += quoted(printable(fields[i]));
  }
  return line + "\r\n";
}

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
