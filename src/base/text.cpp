// SPDX-License-Identifier: Apache-2.0
// User input must not break the promise that an error is one line.
#include "base/text.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace noised {
namespace {

constexpr std::size_t kLongest = 100;

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

// The length of the UTF-8 sequence that the text begins with; 0 if it is none.
std::size_t sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text[i])) return 0;
  }
  // Overlong forms, surrogates and what lies beyond the last character.
  const auto second = static_cast<unsigned char>(text[1]);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0 || text.front() == '\\') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string on_one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  return "'" + on_one_line(text.substr(0, kLongest)) + (text.size() > kLongest ? "...'" : "'");
}

namespace {

// Edits from one to the other: a letter more, fewer, another, or two changed about (optimal string alignment).
std::size_t edits_between(std::string_view from, std::string_view to) {
  const std::size_t width = to.size() + 1;
  std::vector<std::size_t> edits((from.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return edits[i * width + j]; };
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t other = from[i - 1] == to[j - 1] ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + other});
      const bool about = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (about) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return edits.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::string_view lines) {
  constexpr std::size_t kLongestWord = 64;
  constexpr std::size_t kShort = 5;
  std::size_t least = word.size() <= kShort ? 2 : 3;
  std::optional<std::string> found;
  while (!lines.empty() && word.size() <= kLongestWord) {
    const std::string_view line = take_line(lines);
    const std::size_t edits = edits_between(word, line);
    if (edits >= least) continue;
    least = edits;
    found = line;
  }
  return found;
}

std::string errno_text(int error) { return std::generic_category().message(error); }

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char& byte : safe)
    if (byte < 0x20 || byte > 0x7e) byte = '?';
  return safe;
}

}  // namespace noised
