// SPDX-License-Identifier: Apache-2.0
// Reading one cell of /proc/interrupts and /proc/softirqs.
#include "selftest/kernel_count.h"

#include <fstream>
#include <sstream>

namespace noised::selftest {
namespace {

// How many columns the CPU's is after the label: offline CPUs have none. 0: it has none either.
std::size_t column_of(unsigned cpu, const std::string& header) {
  std::istringstream words(header);
  const std::string wanted = "CPU" + std::to_string(cpu);
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    ++column;
    if (word == wanted) return column;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> count_in(std::istream& table, unsigned cpu, const std::string& row) {
  std::string line;
  std::getline(table, line);
  const std::size_t column = column_of(cpu, line);
  if (column == 0) return std::nullopt;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string label;
    words >> label;
    if (label != row + ":") continue;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < column; ++i) words >> value;
    return words ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> interrupts_on(unsigned cpu, const std::string& row) {
  std::ifstream table("/proc/interrupts");
  return count_in(table, cpu, row);
}

std::optional<std::uint64_t> softirqs_on(unsigned cpu, const std::string& row) {
  std::ifstream table("/proc/softirqs");
  return count_in(table, cpu, row);
}

}  // namespace noised::selftest
