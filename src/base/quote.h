// SPDX-License-Identifier: Apache-2.0
// User input and system errors as they appear inside one-line messages.
#pragma once

#include <string>
#include <string_view>

namespace noised {

/// The text in single quotes, on one line: control characters become '?', and what is over 100 bytes is cut.
std::string in_quotes(std::string_view text);

/// The text on one line: control characters become '?'.
std::string on_one_line(std::string_view text);

/// The text as it is where it is UTF-8; every other byte, and a backslash, as \xNN: a task may call itself anything,
/// and two names that differ stay different.
std::string as_utf8(std::string_view text);

/// What an errno value means ("Permission denied").
std::string errno_text(int error);

}  // namespace noised
