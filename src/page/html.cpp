// SPDX-License-Identifier: Apache-2.0
#include "page/html.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::page {

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char byte : as_utf8(text)) {
    switch (byte) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if ((byte >= 0 && byte < 0x20) || byte == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        } else {
          out += byte;
        }
    }
  }
  return out;
}

std::string escape_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size(); ++at) {
    // U+2028 and U+2029 end a line for a script, though not for JSON.
    const std::string_view rest = json.substr(at, 3);
    if (json[at] == '<') {
      out += "\\u003c";
    } else if (rest == "\xe2\x80\xa8" || rest == "\xe2\x80\xa9") {
      out += rest.back() == '\xa8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      out += json[at];
    }
  }
  return out;
}

std::string duration_html(std::uint64_t ns) {
  std::string text = views::format_duration(ns);
  if (text.ends_with(" us")) {
    text.resize(text.size() - 2);
    text += "µs";
  }
  return fmt::format("<span title=\"{} ns\">{}</span>", grouped(ns), text);
}

std::string signed_duration_html(double ns) {
  return (ns < -0.5 ? "−" : "") + duration_html(static_cast<std::uint64_t>(std::llround(std::abs(ns))));
}

std::string code_html(std::string_view text) { return "<code>" + escape_html(text) + "</code>"; }

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

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
