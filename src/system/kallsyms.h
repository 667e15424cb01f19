// SPDX-License-Identifier: Apache-2.0
// Kernel addresses to names of functions, which come and go with modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace noised::system {

/// A compact copy of the text symbols of /proc/kallsyms: 16 bytes and the name each, about 3 MB for a Debian kernel.
class Kallsyms {
 public:
  /// Parses texts in the formats of /proc/kallsyms and /proc/modules; lines that do not fit are passed over.
  static Kallsyms parse(std::string_view symbols, std::string_view modules = {});
  /// Reads `kallsyms` and `modules` of the directory `proc`, and keeps them open: the kernel decides at open who may
  /// see addresses, and the daemon gives up that right. Without the first, or where kernel.kptr_restrict hides
  /// addresses, the table is empty.
  static Kallsyms open(const std::string& proc = "/proc");

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  /// The name of the function that begins at the address, valid until refresh() says true.
  [[nodiscard]] std::optional<std::string_view> at(std::uint64_t address) const;
  /// Where the function of this name begins; 0: there is none.
  [[nodiscard]] std::uint64_t address_of(std::string_view name) const;
  /// The function at or around the address ("tick_nohz_handler", or "name+0x10" inside one); nothing if outside.
  [[nodiscard]] std::optional<std::string> around(std::uint64_t address) const;

  /// False: the table stays as it is.
  [[nodiscard]] bool follows_modules() const { return bool(modules_file_) && !empty(); }
  /// Reads the table again if modules were loaded or unloaded since it was read; true if so. A system call for each
  /// 4 KiB of /proc/modules, and no memory, where nothing changed; else as long as at the start.
  bool refresh();

 private:
  using ModuleNumber = std::uint16_t;
  static constexpr ModuleNumber kKernel = std::numeric_limits<ModuleNumber>::max();
  static constexpr ModuleNumber kUnlisted = kKernel - 1;  // not in /proc/modules: BPF programs, trampolines

  struct Entry {
    std::uint64_t address;
    std::uint32_t name;  // offset in names_
    ModuleNumber module;
  };
  struct Module {
    std::string name;
    std::uint64_t begin;
    std::uint64_t end;
  };
  void clear();
  void add_module(std::string_view line);
  void add_symbol(std::string_view line);
  void sort();
  void read();
  [[nodiscard]] std::uint64_t hash_modules();
  [[nodiscard]] ModuleNumber module_named(std::string_view name);
  [[nodiscard]] const Entry* at_or_before(std::uint64_t address) const;
  [[nodiscard]] std::string_view name_of(const Entry& entry) const { return names_.data() + entry.name; }

  std::vector<Entry> entries_;  // by rising address; of several at one, in the order of the file
  std::string names_;           // NUL-separated
  std::vector<Module> modules_;
  ModuleNumber last_module_ = 0;  // of the last symbol added
  Descriptor symbols_file_;
  Descriptor modules_file_;
  std::vector<char> buffer_;  // what is read of either, piece by piece
  std::uint64_t modules_hash_ = 0;
};

/// The hrtimer callback that is the kernel's tick; 0: none of this name is there.
std::uint64_t tick_function(const Kallsyms& symbols);

}  // namespace noised::system
