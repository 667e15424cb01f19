// SPDX-License-Identifier: Apache-2.0
// Words of the command line; flags come before the CPUs, as in isolcpus=.
#include "analysis/advice/boot_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/cpus.h"

namespace noised::analysis {
namespace {

// The kernel takes '-' and '_' in names for the same.
std::string plain(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

// As the kernel takes flags off isolcpus=: whatever begins with a letter.
std::string_view take_flags(std::string_view text, std::vector<std::string>& flags) {
  while (!text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0) {
    const std::size_t comma = text.find(',');
    flags.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
  return text;
}

}  // namespace

BootLine::BootLine(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  while (true) {
    const std::size_t start = text.find_first_not_of(kSpace);
    if (start == std::string_view::npos) return;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find_first_of(kSpace));
    if (word == "--") return;
    const std::size_t equals = word.find('=');
    parameters_.emplace_back(plain(word.substr(0, equals)),
                             equals == std::string_view::npos ? "" : std::string(word.substr(equals + 1)));
    text.remove_prefix(word.size());
  }
}

std::optional<std::string> BootLine::value(std::string_view name) const {
  const auto found = std::find_if(parameters_.rbegin(), parameters_.rend(),
                                  [wanted = plain(name)](const auto& each) { return each.first == wanted; });
  if (found == parameters_.rend()) return std::nullopt;
  return found->second;
}

std::optional<CpuParameter> BootLine::cpus(std::string_view name) const {
  CpuParameter parameter;
  const auto text = value(name);
  if (!text) return parameter;
  const std::string_view list = take_flags(*text, parameter.flags);
  if (list.empty() && !text->empty()) return std::nullopt;  // "all": no flag, but a list
  auto cpus = parse_cpu_list(list);
  if (!cpus) return std::nullopt;
  parameter.cpus = std::move(cpus).value();
  return parameter;
}

std::string BootLine::with(std::string_view name, const std::vector<std::string>& flags,
                           const std::vector<unsigned>& cpus) const {
  CpuParameter parameter = this->cpus(name).value_or(CpuParameter{});
  for (const std::string& flag : flags) {
    if (std::find(parameter.flags.begin(), parameter.flags.end(), flag) == parameter.flags.end())
      parameter.flags.push_back(flag);
  }
  parameter.flags.push_back(format_cpu_list(united(parameter.cpus, cpus)));
  return fmt::format("{}={}", name, fmt::join(parameter.flags, ","));
}

bool includes(const std::vector<unsigned>& whole, const std::vector<unsigned>& part) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

std::vector<unsigned> united(const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
  std::vector<unsigned> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

std::vector<unsigned> without(const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
  std::vector<unsigned> left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

}  // namespace noised::analysis
