// SPDX-License-Identifier: Apache-2.0
// A table of text whose columns are as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace noised::views {

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

}  // namespace noised::views
