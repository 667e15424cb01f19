// SPDX-License-Identifier: Apache-2.0
// Numbers and names as people read them, in a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace noised::views {

/// A ratio (1 is everything) as a percentage with three significant digits: "63.1%", "0.123%", "<0.0001%".
std::string format_share(double ratio);

/// A share of intervals as a percentage with four decimals, rounded down: only all of them are "100.0000%".
std::string format_containment(double ratio);

/// Events per second of `ns` nanoseconds, with three significant digits: "1000", "12.3", "0.25"; "-" if ns is 0.
std::string format_rate(std::uint64_t count, std::uint64_t ns);

/// `part` as a share of `whole` (1 is everything); 0 if whole is 0.
double ratio(std::uint64_t part, std::uint64_t whole);

/// The text with every byte that is not printable ASCII as '?': a task's name must not drive the terminal.
std::string printable(std::string_view text);

}  // namespace noised::views
