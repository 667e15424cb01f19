// SPDX-License-Identifier: Apache-2.0
// Texts and figures as they stand in HTML. What comes from a recording may be anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace noised::page {

/// The text with nothing in it that HTML gives a meaning, in content or in a quoted attribute. Control characters,
/// which HTML does not allow, and bytes that are no UTF-8 become \xNN.
std::string escape_html(std::string_view text);

/// JSON that can neither end the script element it stands in nor begin a comment there.
std::string escape_script(std::string_view json);

/// "12.4 µs", as HTML, with the exact nanoseconds as its title.
std::string duration_html(std::uint64_t ns);

/// The same, with a sign if it is negative: a cost may be.
std::string signed_duration_html(double ns);

/// A name as it is in the kernel, or something to type, out of anything.
std::string code_html(std::string_view text);

/// An exact count, in groups of three digits.
std::string grouped(std::uint64_t number);

}  // namespace noised::page
