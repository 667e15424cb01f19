// SPDX-License-Identifier: Apache-2.0
#include "page/table_writer.h"

#include <fmt/format.h>

#include <cassert>

#include "page/html_text.h"

namespace noised::page {

TableWriter::TableWriter(std::string_view caption, const std::vector<std::string>& headers) {
  html_ = fmt::format("<div class=\"table\"><table><caption>{}</caption>\n<thead><tr>", escape_html(caption));
  for (std::string_view header : headers) {
    figures_.push_back(header.starts_with('>'));
    if (figures_.back()) header.remove_prefix(1);
    html_ +=
        fmt::format("<th scope=\"col\"{}>{}</th>", figures_.back() ? R"( class="figure")" : "", escape_html(header));
  }
  html_ += "</tr></thead>\n<tbody>\n";
}

void TableWriter::write(const std::vector<std::string>& cells, const char* before, const char* after) {
  assert(cells.size() == figures_.size());
  html_ += before;
  for (std::size_t i = 0; i < cells.size(); ++i)
    html_ += fmt::format("<td{}>{}</td>", figures_[i] ? R"( class="figure")" : "", cells[i]);
  html_ += after;
}

void TableWriter::row(const std::vector<std::string>& cells) { write(cells, "<tr>", "</tr>\n"); }

void TableWriter::sum(const std::vector<std::string>& cells) { write(cells, "<tr class=\"sum\">", "</tr>\n"); }

std::string TableWriter::finish(std::string_view remark) {
  html_ += "</tbody></table></div>\n";
  if (!remark.empty()) html_ += fmt::format("<p class=\"remark\">{}</p>\n", escape_html(remark));
  return std::move(html_);
}

}  // namespace noised::page
