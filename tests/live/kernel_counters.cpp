// SPDX-License-Identifier: Apache-2.0
// Reading /proc/interrupts and /proc/softirqs.
#include "kernel_counters.h"

#include <cctype>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace noised::live {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The column of a CPU: offline CPUs have none, so it is found in the header.
std::size_t column_of(unsigned cpu, const std::string& header) {
  const std::vector<std::string> words = words_of(header);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "CPU" + std::to_string(cpu)) return i + 1;
  }
  return 0;
}

// Rows that are numbered, devices' interrupts, go by their name; others by their label.
enum class Rows { numbered, labelled };

std::map<std::string, std::uint64_t> read_table(const std::string& path, unsigned cpu, Rows rows) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::size_t column = column_of(cpu, line);
  std::map<std::string, std::uint64_t> counts;
  while (std::getline(file, line)) {
    const std::vector<std::string> words = words_of(line);
    if (column == 0 || words.size() <= column) continue;
    std::string label = words[0].substr(0, words[0].size() - 1);
    const bool numbered = std::isdigit(static_cast<unsigned char>(label[0])) != 0;
    if (numbered != (rows == Rows::numbered)) continue;
    if (numbered) label = words.back();
    counts[label] += std::stoull(words[column]);
  }
  return counts;
}

}  // namespace

KernelCounters read_kernel_counters(unsigned cpu) {
  return {read_table("/proc/interrupts", cpu, Rows::labelled), read_table("/proc/interrupts", cpu, Rows::numbered),
          read_table("/proc/softirqs", cpu, Rows::labelled)};
}

}  // namespace noised::live
