// SPDX-License-Identifier: Apache-2.0
// Kernel function addresses to names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace noised {

/// A compact copy of the text symbols of /proc/kallsyms: 12 bytes and the name each, about 3 MB for a Debian kernel.
class Kallsyms {
 public:
  /// Parses text in the format of /proc/kallsyms; lines that do not fit are passed over.
  static Kallsyms parse(std::string_view text);
  /// Reads `path`; without it, or where kernel.kptr_restrict hides addresses, the table is empty.
  static Kallsyms read(const std::string& path = "/proc/kallsyms");

  [[nodiscard]] bool empty() const { return addresses_.empty(); }
  /// The function at or around the address ("tick_nohz_handler", or "name+0x10" inside one); nothing if outside.
  [[nodiscard]] std::optional<std::string> find(std::uint64_t address) const;

 private:
  struct Entry {
    std::uint64_t address;
    std::uint32_t name;  // offset in names_
  };
  void add_line(std::string_view line, std::vector<Entry>& entries);
  void adopt(std::vector<Entry> entries);

  std::vector<std::uint64_t> addresses_;  // rising
  std::vector<std::uint32_t> offsets_;
  std::string names_;  // NUL-separated
};

}  // namespace noised
