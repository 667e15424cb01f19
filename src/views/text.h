// SPDX-License-Identifier: Apache-2.0
// A table that is written once and read in two forms: by people, and by programs as comma-separated values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace noised::views {

// Numbers and names as people read them, in a terminal.

/// A ratio (1 is everything) as a percentage with three significant digits: "63.1%", "0.123%", "<0.0001%".
std::string format_share(double ratio);

/// A share of intervals as a percentage with four decimals, rounded down: only all of them are "100.0000%".
std::string format_containment(double ratio);

/// Nanoseconds with a sign, in the unit that leaves three significant digits: "-1.23 us", "0 ns".
std::string signed_duration(double ns);

/// Events per second of `ns` nanoseconds, with three significant digits: "1000", "12.3", "0.25"; "-" if ns is 0.
std::string format_rate(std::uint64_t count, std::uint64_t ns);

/// `part` as a share of `whole` (1 is everything); 0 if whole is 0.
double ratio(std::uint64_t part, std::uint64_t whole);

/// The line in lines of at most `width` characters where it has spaces for that, the later ones indented.
std::string wrapped(std::string_view line, std::size_t width, std::size_t indent);

// A table of text whose columns are as wide as their widest cell.

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row; there must be one cell a column.
  void add(std::vector<std::string> cells);

  /// Title line and rows, two spaces between columns, each line ended, no trailing spaces.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Comma-separated values (RFC 4180).

/// One record with its line end. Bytes that the RFC does not allow (a task may call itself anything) become '?'.
std::string csv_line(const std::vector<std::string>& fields);

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
