// SPDX-License-Identifier: Apache-2.0
// An HTML table, row by row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noised::page {

class TableWriter {
 public:
  /// Headers that begin with '>' are of columns of figures. Caption and headers are plain text.
  TableWriter(std::string_view caption, const std::vector<std::string>& headers);

  /// One cell for each header, as HTML: what is not ours is to be escaped (escape_html).
  void row(const std::vector<std::string>& cells);
  /// A last row, which sums the others.
  void sum(const std::vector<std::string>& cells);
  /// The table, and below it a remark (plain text), if there is any.
  std::string finish(std::string_view remark = {});

 private:
  void write(const std::vector<std::string>& cells, const char* before, const char* after);

  std::vector<bool> figures_;
  std::string html_;
};

}  // namespace noised::page
