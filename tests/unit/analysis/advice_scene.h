// SPDX-License-Identifier: Apache-2.0
// Detours by hand, with the details that a recording would have of them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/advice/collector.h"
#include "analysis/advice/machine.h"
#include "recording/bytes.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::analysis;
using namespace noised::recording;

/// A detour that is built entry by entry; its time is that of its parts.
class DetourScene {
 public:
  explicit DetourScene(SourceTable& sources, std::uint64_t start_ns = 1'000) : sources_(sources) {
    ledger.detour.start_ns = start_ns;
  }

  DetourScene& add(Kind kind, std::string_view name, unsigned depth, std::uint64_t self_ns,
                   std::initializer_list<std::pair<DetailKey, std::string_view>> told = {}) {
    const auto index = ledger.entries.size();
    LedgerEntry entry;
    entry.source = sources_.intern(kind, name);
    entry.kind = kind;
    entry.depth = static_cast<std::uint8_t>(depth);
    entry.self_ns = self_ns;
    entry.id = kind == Kind::task ? 42 : 0;
    ledger.entries.push_back(entry);
    ledger.explained_ns += self_ns;
    if (told.size() != 0) add_details(index, told);
    return *this;
  }
  DetourScene& overhead(std::uint64_t ns) {
    ledger.overhead_ns = ns;
    return *this;
  }
  DetourScene& outside(std::uint64_t hypervisor_ns, std::uint64_t hardware_ns) {
    ledger.hypervisor_ns = hypervisor_ns;
    ledger.hardware_ns = hardware_ns;
    return *this;
  }
  DetourLedger& done() {
    ledger.detour.end_ns = ledger.detour.start_ns + ledger.sum_ns();
    return ledger;
  }

  DetourLedger ledger;
  std::string details;

 private:
  void add_details(std::size_t index, std::initializer_list<std::pair<DetailKey, std::string_view>> given) {
    std::string packed(1'000, '\0');
    ByteWriter inner(packed);
    for (const auto& [key, value] : given) {
      inner.byte(static_cast<std::uint8_t>(key));
      inner.text(value);
    }
    std::string entry(1'100, '\0');
    ByteWriter outer(entry);
    outer.byte(static_cast<std::uint8_t>(index));
    outer.text(std::string_view(packed).substr(0, inner.size()));
    details += entry.substr(0, outer.size());
  }

  SourceTable& sources_;
};

/// A machine with four CPUs, of which 1 to 3 are watched, and of which only the command line is known.
inline Machine recorded_machine(std::string_view command_line = "quiet") {
  Machine machine;
  machine.why = "recorded elsewhere";
  machine.boot = BootLine(command_line);
  machine.watched = {1, 2, 3};
  machine.housekeeping = {0};
  return machine;
}

}  // namespace noised::test
