// SPDX-License-Identifier: Apache-2.0
// Reading /proc/kallsyms.
#include "trace/kallsyms.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace noised {
namespace {

// Farther from the symbol before it than this, an address lies in no known function.
constexpr std::uint64_t kLongestFunction = 1U << 20U;

}  // namespace

void Kallsyms::add_line(std::string_view line, std::vector<Entry>& entries) {
  std::uint64_t address = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  const auto type_at = static_cast<std::size_t>(end - line.data()) + 1;
  if (error != std::errc{} || address == 0 || type_at + 2 >= line.size()) return;
  const char type = line[type_at];
  if (type != 't' && type != 'T' && type != 'w' && type != 'W') return;
  std::string_view name = line.substr(type_at + 2);
  name = name.substr(0, name.find_first_of("\t "));  // a module's name follows a tab
  entries.push_back({address, static_cast<std::uint32_t>(names_.size())});
  names_.append(name).push_back('\0');
}

void Kallsyms::adopt(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.address < b.address; });
  addresses_.reserve(entries.size());
  offsets_.reserve(entries.size());
  for (const Entry& entry : entries) {
    addresses_.push_back(entry.address);
    offsets_.push_back(entry.name);
  }
  names_.shrink_to_fit();
}

Kallsyms Kallsyms::parse(std::string_view text) {
  Kallsyms table;
  std::vector<Entry> entries;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    table.add_line(text.substr(0, end), entries);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  table.adopt(std::move(entries));
  return table;
}

Kallsyms Kallsyms::read(const std::string& path) {
  Kallsyms table;
  std::vector<Entry> entries;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) table.add_line(line, entries);
  table.adopt(std::move(entries));
  return table;
}

std::optional<std::string> Kallsyms::find(std::uint64_t address) const {
  const auto next = std::upper_bound(addresses_.begin(), addresses_.end(), address);
  if (next == addresses_.begin()) return std::nullopt;
  // Of several names at one address, the first that the kernel lists.
  const auto found = std::lower_bound(addresses_.begin(), next, *(next - 1));
  const std::uint64_t offset = address - *found;
  if (offset >= kLongestFunction) return std::nullopt;
  const char* name = names_.data() + offsets_[static_cast<std::size_t>(found - addresses_.begin())];
  return offset == 0 ? std::string(name) : fmt::format("{}+{:#x}", name, offset);
}

}  // namespace noised
