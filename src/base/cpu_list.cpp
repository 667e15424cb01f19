// SPDX-License-Identifier: Apache-2.0
// The kernel's CPU-list syntax: ranges, single CPUs, and strides "first-last:used/group".
#include <bitset>
#include <charconv>

#include <fmt/format.h>

#include "base/parse.h"
#include "base/quote.h"

namespace noised {

namespace {

// The largest NR_CPUS of any x86 kernel; refusing more keeps "0-4294967295" from filling the memory.
constexpr unsigned kMostCpus = 8192;

struct Range {
  unsigned first = 0;
  unsigned last = 0;
  unsigned used = 1;
  unsigned group = 1;
};

// Takes a number off the front of the text.
bool take_number(std::string_view& text, unsigned& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool parse_range(std::string_view text, Range& range) {
  if (!take_number(text, range.first)) return false;
  range.last = range.first;
  if (!take(text, '-')) return text.empty();
  if (!take_number(text, range.last)) return false;
  if (text.empty()) return true;
  return take(text, ':') && take_number(text, range.used) && take(text, '/') && take_number(text, range.group) &&
         text.empty();
}

Error refuse(std::string_view text, const std::string& why) {
  return usage_error("CPU list " + in_quotes(text) + ": " + why, "write numbers and ranges such as 1-3,5");
}

}  // namespace

Result<std::vector<unsigned>> parse_cpu_list(std::string_view text) {
  std::bitset<kMostCpus> set;  // not a growing list: "0-8191,0-8191,..." would take 4.7 KB a byte of text
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    Range range;
    if (!parse_range(item, range)) return refuse(text, in_quotes(item) + " is neither a CPU nor a range");
    if (range.last < range.first) return refuse(text, in_quotes(item) + " runs backwards");
    if (range.used == 0 || range.group < range.used) return refuse(text, in_quotes(item) + " has an impossible stride");
    if (range.last >= kMostCpus) return refuse(text, fmt::format("{} is above {}", in_quotes(item), kMostCpus - 1));
    for (unsigned cpu = range.first; cpu <= range.last; ++cpu) {
      if ((cpu - range.first) % range.group < range.used) set.set(cpu);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return refuse(text, "it ends with a comma");
  }
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < kMostCpus; ++cpu) {
    if (set[cpu]) cpus.push_back(cpu);
  }
  return cpus;
}

std::string format_cpu_list(const std::vector<unsigned>& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (last > first) text += '-' + std::to_string(cpus[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace noised
