// SPDX-License-Identifier: Apache-2.0
#include "page/html_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/quote.h"
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

}  // namespace noised::page
