// SPDX-License-Identifier: Apache-2.0
// From the numbers that the kernel hands over to sources with names.
#pragma once

#include <noised/abi.h>

#include <array>
#include <string>
#include <unordered_map>

#include "trace/kallsyms.h"
#include "trace/sources.h"

namespace noised {

/// Resolves and remembers. A known number costs one hash lookup (about 20 ns, in the daemon); a new one a name.
class Names {
 public:
  /// `sysroot` is "/" but in tests; irq names come from <sysroot>/sys/kernel/irq.
  Names(SourceTable& sources, Kallsyms symbols, std::string sysroot = "/");

  /// The source of a record; `comm` is used for tasks only.
  SourceId resolve(const noised_record& record, const char* comm);
  /// The source of a kind, other than task and page_fault, and the number that the kernel knows it by.
  SourceId resolve(Kind kind, std::uint64_t id) { return resolve(kind, id, false); }
  /// Name of the function at an address; the address in hexadecimal where there is none. Allocates.
  [[nodiscard]] std::string function(std::uint64_t address) const;

 private:
  struct Comm {
    std::array<char, 16> text;
    bool operator==(const Comm&) const = default;
  };
  struct CommHash {
    std::size_t operator()(const Comm& comm) const noexcept;
  };

  SourceId resolve(Kind kind, std::uint64_t id, bool unhandled);
  SourceId resolve_task(const char* comm);
  std::string name_of(Kind kind, std::uint64_t id, bool unhandled) const;
  std::string irq_name(std::uint64_t irq) const;

  SourceTable& sources_;
  Kallsyms symbols_;
  std::string sysroot_;
  std::array<std::unordered_map<std::uint64_t, SourceId>, 2 * kKindCount> by_id_;  // [kind + unhandled * kKindCount]
  std::unordered_map<Comm, SourceId, CommHash> by_comm_;
};

}  // namespace noised
