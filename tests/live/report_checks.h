// SPDX-License-Identifier: Apache-2.0
// What the contract in design.md says of a report and of a detour, checked on the JSON that the programs print.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace noised::live {

using Json = nlohmann::json;

/// The one JSON object that the text is, but for white space around it; fails the test when it is anything else.
Json object_in(const std::string& text);

/// Every field of the contract is there with its type, no other at the top, and names come from the documented lists.
void check_fields(const Json& report);

/// The sums: each CPU's parts and sources add up to its detours, shares to 1, combinations to all detours.
void check_ledger(const Json& report);

/// A line of `detours --json`: its fields, and that its entries and overhead add up to its duration.
void check_detour(const Json& detour);

/// True for the line that stands for detours its reader was too slow for.
bool is_lost_line(const Json& line);

}  // namespace noised::live
