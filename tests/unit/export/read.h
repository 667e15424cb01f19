// SPDX-License-Identifier: Apache-2.0
// Exported files, read as far as tests need it.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace noised::test {

/// Sums of the columns with numbers, by their name; how many rows under "".
inline std::map<std::string, std::uint64_t> sums(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<std::string> names;
  std::istringstream head(line);
  for (std::string name; std::getline(head, name, ',');) names.push_back(name);
  std::map<std::string, std::uint64_t> sum;
  while (std::getline(file, line)) {
    ++sum[""];
    std::istringstream row(line);
    std::string field;
    for (std::size_t i = 0; std::getline(row, field, ',') && i < names.size(); ++i) {
      const bool number = !field.empty() && field.find_first_not_of("0123456789") == std::string::npos;
      if (number) sum[names[i]] += std::stoull(field);
    }
  }
  return sum;
}

/// The fields of a message, of the wire types that are written: numbers, and texts or messages.
struct Fields {
  std::map<std::uint64_t, std::uint64_t> numbers;
  std::map<std::uint64_t, std::string_view> texts;
};

inline bool next_field(std::string_view& bytes, Fields& fields) {
  if (bytes.empty()) return false;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      REQUIRE(!bytes.empty());
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  };
  const std::uint64_t tag = varint();
  if (tag % 8 == 0) {
    fields.numbers[tag / 8] = varint();
    return true;
  }
  const std::uint64_t length = tag % 8 == 1 ? 8 : varint();
  REQUIRE(length <= bytes.size());
  fields.texts[tag / 8] = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return true;
}

inline Fields parse(std::string_view bytes) {
  Fields fields;
  while (next_field(bytes, fields)) {
  }
  return fields;
}

}  // namespace noised::test
