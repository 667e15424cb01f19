// SPDX-License-Identifier: Apache-2.0
// From the numbers that the kernel hands over to sources with names.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <noised/abi.h>

#include "model/sources.h"
#include "system/kallsyms.h"

namespace noised::system {

// What cannot be known, never shown by its address, which kernel.kptr_restrict may be there to hide.
inline constexpr std::string_view kUnknown = "unknown";

/// The name under which tasks called so are counted. Which of its interchangeable workers serves a CPU is chance, and
/// over months there are many: "kworker/1:0" is "kworker/1:*". `numbers`: each number is "*", too, as where a job gives
/// each of its threads one ("worker-4711" is "worker-*").
std::string task_name(std::string_view comm, bool numbers);

/// Resolves and remembers, until what it resolved has changed. A known number costs one hash lookup (about 20 ns, in
/// the daemon); a new one a name.
class Names {
 public:
  /// `sysroot` is "/" but in tests; irq names come from <sysroot>/sys/kernel/irq.
  Names(SourceTable& sources, Kallsyms symbols, std::string sysroot = "/");

  /// Forgets what has changed since the last look: modules that came or went, interrupts that others have now. For each
  /// drain, before its records are resolved; it looks once a second.
  void look(std::uint64_t now_ns);
  /// The source of a task that is called so, as of now.
  SourceId task(const char* comm);
  /// This source is still in use: it is not silent.
  void touch(SourceId source) { used_ns_[SourceTable::slot_of(source)] = now_ns_; }
  /// True where there are many names of tasks, but not soon after silent() was asked.
  [[nodiscard]] bool is_crowded() const;
  /// Where it is crowded: the names to leave, the longest silent ones first. All of them are to be told to let_go(), or
  /// none.
  std::vector<Departure> silent();
  /// These names leave the table, too.
  void let_go(std::span<const Departure> departures);
  /// The source of a record; `comm` is used for tasks only.
  SourceId resolve(const noised_record& record, const char* comm);
  /// The source of a kind, other than task and page_fault, and the number that the kernel knows it by.
  SourceId resolve(Kind kind, std::uint64_t id) { return resolve(kind, id, false); }
  /// Name of the kernel's function around the address of an instruction ("name+0x10"), valid until the next call.
  std::string_view code(std::uint64_t address);

 private:
  struct Comm {
    std::array<char, 16> text;
    bool operator==(const Comm&) const = default;
  };
  struct CommHash {
    std::size_t operator()(const Comm& comm) const noexcept;
  };

  struct KnownIrq {
    std::uint64_t number;
    std::string actions;  // when its name was made
  };
  using ById = std::unordered_map<std::uint64_t, SourceId>;

  SourceId resolve(Kind kind, std::uint64_t id, bool unhandled);
  SourceId resolve_function(Kind kind, std::uint64_t address, ById& known);
  std::string name_of(Kind kind, std::uint64_t id, bool unhandled);
  std::string irq_name(std::uint64_t irq);
  bool look_at_modules();
  void look_at_irqs();
  std::string_view actions_of(std::uint64_t irq);

  SourceTable& sources_;
  Kallsyms symbols_;
  std::string sysroot_;
  std::array<ById, 2 * kKindCount> by_id_;  // [kind + unhandled * kKindCount]
  std::unordered_map<Comm, SourceId, CommHash> by_comm_;
  std::vector<std::uint64_t> used_ns_;  // by slot of a task's source: the last drain that had it
  std::unordered_map<std::uint64_t, std::string> code_;
  std::vector<KnownIrq> irqs_;
  std::size_t next_irq_ = 0;  // to be looked at
  std::string path_;          // of the file that is read, and what it says
  std::array<char, 4096> text_{};
  std::uint64_t now_ns_ = 0;        // at the last drain
  std::uint64_t look_due_ns_ = 0;   // by the clock
  std::uint64_t leave_due_ns_ = 0;  // likewise
  std::uint64_t check_due_ns_ = 0;  // for what is not known: then more looks are allowed
  unsigned checks_ = 0;             // until then
};

}  // namespace noised::system
