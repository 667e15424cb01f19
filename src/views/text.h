// SPDX-License-Identifier: Apache-2.0
// A table that is written once and read in two forms: by people, and by programs as comma-separated values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "views/table.h"

namespace noised::views {

/// One cell in both forms; what is not known is "-" for people and empty for programs.
struct Cell {
  std::string text;
  std::string csv;
};

Cell number_cell(std::uint64_t number);
/// A duration: with its unit, or as integer nanoseconds.
Cell time_cell(std::uint64_t nanoseconds);
/// A share (1 is everything): as a percentage, or as the ratio.
Cell share_cell(double ratio);
/// Events per second of `ns` nanoseconds.
Cell rate_cell(std::uint64_t count, std::uint64_t ns);
Cell name_cell(std::string_view name);
Cell unknown_cell();
/// The CPU's number, or "all".
Cell cpu_cell(std::optional<unsigned> cpu);

class CellTable {
 public:
  struct Column {
    std::string title;  ///< for people
    std::string field;  ///< for programs
    Table::Align align;
    bool only_csv = false;
  };

  explicit CellTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row; there must be one cell a column.
  void add(std::vector<Cell> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// As Table::text().
  [[nodiscard]] std::string text() const;
  /// One header line, then the rows.
  [[nodiscard]] std::string csv() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace noised::views
