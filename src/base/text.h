// SPDX-License-Identifier: Apache-2.0
// The kernel's text files, word by word. Nothing is allocated here: some are read while noised measures.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace noised {

// User input and system errors as they appear inside one-line messages.

/// The text in single quotes, on one line: control characters become '?', and what is over 100 bytes is cut.
std::string in_quotes(std::string_view text);

/// The text on one line: control characters become '?'.
std::string on_one_line(std::string_view text);

/// The text as it is where it is UTF-8; every other byte, and a backslash, as \xNN: a task may call itself anything,
/// and two names that differ stay different.
std::string as_utf8(std::string_view text);

/// The text with every byte that is not printable ASCII as '?': a task's name must not drive the terminal.
std::string printable(std::string_view text);

/// Of these lines the one that is most like the word, if it may have been meant: two letters more, fewer, other or
/// changed about, or one of a short word.
std::optional<std::string> nearest(std::string_view word, std::string_view lines);

/// What an errno value means ("Permission denied").
std::string errno_text(int error);

/// Takes the first line off the front, without its end.
inline std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

/// Takes what stands before the next white space off the front; empty at the end.
inline std::string_view take_word(std::string_view& text) {
  constexpr std::string_view kWhite = " \t\n";
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(kWhite)));
  const std::string_view word = text.substr(0, text.find_first_of(kWhite));
  text.remove_prefix(word.size());
  return word;
}

/// The decimal number that the whole word is; nothing if it is none, or too large.
template <typename Number>
std::optional<Number> to_number(std::string_view word) {
  Number number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace noised
