// SPDX-License-Identifier: Apache-2.0
// irq actions, vectors, softirqs, kernel functions and tasks.
#include "trace/names.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace noised {
namespace {

constexpr std::array<std::string_view, NOISED_VECTOR_COUNT> kVectors = {
    "local_timer", "reschedule",    "call_function",    "call_function_single",
    "irq_work",    "thermal_apic",  "threshold_apic",   "deferred_error_apic",
    "error_apic",  "spurious_apic", "x86_platform_ipi",
};
// The order of the kernel's softirq numbers (/proc/softirqs).
constexpr std::array<std::string_view, 10> kSoftirqs = {
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
};

// By who faulted; the last is the handling of a page that nobody's fault asked for (get_user_pages).
constexpr std::array<std::string_view, 3> kFaults = {"user", "kernel", "handle_mm_fault"};

std::uint64_t fault_class(std::uint8_t flags) {
  if ((flags & NOISED_FLAG_HANDLING) != 0) return 2;
  return (flags & NOISED_FLAG_IN_KERNEL) != 0 ? 1 : 0;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

static_assert(static_cast<unsigned>(Kind::hypervisor) == NOISED_KIND_COUNT, "types.h follows abi.h");
static_assert(static_cast<unsigned>(Kind::page_fault) == NOISED_KIND_PAGE_FAULT, "types.h follows abi.h");

Names::Names(SourceTable& sources, Kallsyms symbols, std::string sysroot)
    : sources_(sources), symbols_(std::move(symbols)), sysroot_(std::move(sysroot)) {}

std::size_t Names::CommHash::operator()(const Comm& comm) const noexcept {
  return std::hash<std::string_view>{}(std::string_view(comm.text.data(), comm.text.size()));
}

SourceId Names::resolve(const noised_record& record, const char* comm) {
  const auto kind = static_cast<Kind>(record.kind < NOISED_KIND_COUNT ? record.kind : 0);
  if (kind == Kind::task) return resolve_task(comm);
  if (kind == Kind::page_fault) return resolve(kind, fault_class(record.flags), false);
  return resolve(kind, record.id, (record.flags & NOISED_FLAG_UNHANDLED) != 0);
}

SourceId Names::resolve(Kind kind, std::uint64_t id, bool unhandled) {
  auto& known = by_id_[static_cast<std::size_t>(kind) + (unhandled ? kKindCount : 0)];
  if (const auto found = known.find(id); found != known.end()) return found->second;
  const SourceId source = sources_.intern(kind, name_of(kind, id, unhandled));
  // Numbers without end must not fill memory; the table itself is bounded too.
  if (known.size() < SourceTable::kCapacity) known.emplace(id, source);
  return source;
}

std::string Names::function(std::uint64_t address) const {
  return symbols_.find(address).value_or(fmt::format("{:#x}", address));
}

SourceId Names::resolve_task(const char* comm) {
  assert(comm != nullptr);
  Comm key{};
  std::strncpy(key.text.data(), comm, key.text.size() - 1);
  if (const auto found = by_comm_.find(key); found != by_comm_.end()) return found->second;
  const SourceId source = sources_.intern(Kind::task, key.text.data());
  // Names of short-lived tasks must not fill memory over days; the table itself is bounded too.
  if (by_comm_.size() < SourceTable::kCapacity) by_comm_.emplace(key, source);
  return source;
}

std::string Names::name_of(Kind kind, std::uint64_t id, bool unhandled) const {
  switch (kind) {
    case Kind::vector:
      return id < kVectors.size() ? std::string(kVectors[id]) : fmt::format("vector {}", id);
    case Kind::softirq:
      return id < kSoftirqs.size() ? std::string(kSoftirqs[id]) : fmt::format("softirq {}", id);
    case Kind::irq:
      return irq_name(id) + (unhandled ? " (not handled)" : "");
    case Kind::page_fault:
      return std::string(kFaults[id]);
    default:
      return id == NOISED_ID_UNKNOWN ? "not known" : function(id);
  }
}

// The action, as in the last column of /proc/interrupts; with the number where several irqs have the same one.
std::string Names::irq_name(std::uint64_t irq) const {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(sysroot_) / "sys/kernel/irq";
  std::string actions = first_line(directory / std::to_string(irq) / "actions");
  if (actions.empty()) return fmt::format("irq{}", irq);
  std::error_code error;
  for (fs::directory_iterator other(directory, error), end; !error && other != end; other.increment(error)) {
    const fs::path& path = other->path();
    if (path.filename() != std::to_string(irq) && first_line(path / "actions") == actions) {
      return fmt::format("{}:{}", actions, irq);
    }
  }
  return actions;
}

}  // namespace noised
