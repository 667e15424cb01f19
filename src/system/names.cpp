// SPDX-License-Identifier: Apache-2.0
// irq actions, vectors, softirqs, kernel functions and tasks.
#include "system/names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace noised::system {
namespace {

constexpr std::uint64_t kLookNs = 1'000'000'000;
// Unknown addresses are looked for among the modules, so often in such a time: 30 us each, of the daemon's. One was too
// few: modules that come one after the other are in use sooner.
constexpr std::uint64_t kCheckNs = 100'000'000;
constexpr unsigned kChecks = 8;
// 5 us for each. Of 1,000 interrupts, one that changes hands is seen within half a minute.
constexpr std::size_t kIrqsALook = 32;
// With so many names of tasks, further ones are without their numbers.
constexpr std::size_t kManyTasks = 1024;
// With so many of the names of tasks that there can be, those that were silent for so long leave, until there are
// fewer. A job that renames its threads must not take the names from all that come after it. Not at each drain: what
// leaves is looked for in all that is counted.
constexpr std::size_t kCrowded = SourceTable::kTasks / 8 * 7;
constexpr std::size_t kNotCrowded = SourceTable::kTasks / 4 * 3;
constexpr std::uint64_t kSilentNs = 600'000'000'000;
constexpr std::uint64_t kLeaveNs = 10'000'000'000;
// Addresses of instructions that faulted are many; those that send interrupts are few.
constexpr std::size_t kCodes = 4096;

constexpr std::array<std::string_view, NOISED_VECTOR_COUNT> kVectors = {
    "local_timer", "reschedule",    "call_function",    "call_function_single",
    "irq_work",    "thermal_apic",  "threshold_apic",   "deferred_error_apic",
    "error_apic",  "spurious_apic", "x86_platform_ipi",
};
// The order of the kernel's softirq numbers (/proc/softirqs).
constexpr std::array<std::string_view, 10> kSoftirqs = {
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
};

// By who faulted; the last is a handling without its fault: nobody's (get_user_pages), or that of a task which lost the
// CPU between the two (49 of 216,000 faults under load).
constexpr std::array<std::string_view, 3> kFaults = {"user", "kernel", "handle_mm_fault"};

std::uint64_t fault_class(std::uint8_t flags) {
  if ((flags & NOISED_FLAG_HANDLING) != 0) return 2;
  return (flags & NOISED_FLAG_IN_KERNEL) != 0 ? 1 : 0;
}

// Those whose number is the address of a function that the kernel calls.
bool is_callback(Kind kind) {
  switch (kind) {
    case Kind::irq:
    case Kind::vector:
    case Kind::softirq:
    case Kind::page_fault:
    case Kind::task:
      return false;
    default:
      return true;
  }
}

}  // namespace

static_assert(static_cast<unsigned>(Kind::hypervisor) == NOISED_KIND_COUNT, "types.h follows abi.h");
static_assert(static_cast<unsigned>(Kind::page_fault) == NOISED_KIND_PAGE_FAULT, "types.h follows abi.h");

std::string task_name(std::string_view comm, bool numbers) {
  const std::size_t colon = comm.starts_with("kworker/") ? comm.find(':') : std::string_view::npos;
  std::string name;
  for (std::size_t at = 0; at < comm.size(); ++at) {
    const bool is_digit = comm[at] >= '0' && comm[at] <= '9';
    if (!is_digit || (!numbers && (colon == std::string_view::npos || at < colon))) {
      name += comm[at];
    } else if (!name.ends_with('*')) {
      name += '*';
    }
  }
  return name;
}

Names::Names(SourceTable& sources, Kallsyms symbols, std::string sysroot)
    : sources_(sources),
      symbols_(std::move(symbols)),
      sysroot_(std::move(sysroot)),
      used_ns_(SourceTable::kCapacity, 0) {}

std::size_t Names::CommHash::operator()(const Comm& comm) const noexcept {
  return std::hash<std::string_view>{}(std::string_view(comm.text.data(), comm.text.size()));
}

SourceId Names::resolve(const noised_record& record, const char* comm) {
  const auto kind = static_cast<Kind>(record.kind < NOISED_KIND_COUNT ? record.kind : 0);
  if (kind == Kind::task && (record.flags & NOISED_FLAG_IDLE) != 0) return resolve(kind, 0, false);
  if (kind == Kind::task) return task(comm);
  if (kind == Kind::page_fault) return resolve(kind, fault_class(record.flags), false);
  return resolve(kind, record.id, (record.flags & NOISED_FLAG_UNHANDLED) != 0);
}

SourceId Names::resolve(Kind kind, std::uint64_t id, bool unhandled) {
  ById& known = by_id_[static_cast<std::size_t>(kind) + (unhandled ? kKindCount : 0)];
  if (const auto found = known.find(id); found != known.end()) return found->second;
  if (is_callback(kind)) return resolve_function(kind, id, known);
  const SourceId source = sources_.intern(kind, name_of(kind, id, unhandled));
  // Numbers without end must not fill memory; the table itself is bounded too.
  if (known.size() < SourceTable::kCapacity) known.emplace(id, source);
  return source;
}

// The kernel calls a function where it begins. A name from before an address belongs to something else: to what was
// there before a module came, or to the module's neighbour.
SourceId Names::resolve_function(Kind kind, std::uint64_t address, ById& known) {
  auto name = symbols_.at(address);
  bool certain = name || address == NOISED_ID_UNKNOWN;
  if (!certain) {
    certain = look_at_modules();
    name = symbols_.at(address);
  }
  const SourceId source = sources_.intern(kind, name.value_or(kUnknown));
  if (certain && known.size() < SourceTable::kCapacity) known.emplace(address, source);
  return source;
}

std::string_view Names::code(std::uint64_t address) {
  if (const auto found = code_.find(address); found != code_.end()) return found->second;
  auto name = symbols_.around(address);
  if (!name) {
    if (!look_at_modules()) return kUnknown;
    name = symbols_.around(address);
  }
  if (code_.size() >= kCodes) code_.clear();
  return code_.emplace(address, name.value_or(std::string(kUnknown))).first->second;
}

void Names::look(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (now_ns < look_due_ns_) return;
  look_due_ns_ = now_ns + kLookNs;
  (void)look_at_modules();
  look_at_irqs();
}

// False: it is too soon to look again, and what is not known may be known later.
bool Names::look_at_modules() {
  if (!symbols_.follows_modules()) return true;
  if (now_ns_ >= check_due_ns_) {
    check_due_ns_ = now_ns_ + kCheckNs;
    checks_ = 0;
  }
  if (checks_ == kChecks) return false;
  ++checks_;
  if (!symbols_.refresh()) return true;
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    if (!is_callback(static_cast<Kind>(kind))) continue;
    by_id_[kind].clear();
    by_id_[kind + kKindCount].clear();
  }
  code_.clear();
  return true;
}

void Names::look_at_irqs() {
  for (std::size_t left = std::min(kIrqsALook, irqs_.size()); left > 0; --left) {
    if (next_irq_ >= irqs_.size()) next_irq_ = 0;
    KnownIrq& irq = irqs_[next_irq_];
    if (actions_of(irq.number) == irq.actions) {
      ++next_irq_;
      continue;
    }
    constexpr auto kIrq = static_cast<std::size_t>(Kind::irq);
    by_id_[kIrq].erase(irq.number);
    by_id_[kIrq + kKindCount].erase(irq.number);
    irq = std::move(irqs_.back());
    irqs_.pop_back();
  }
}

SourceId Names::task(const char* comm) {
  assert(comm != nullptr);
  Comm key{};
  std::strncpy(key.text.data(), comm, key.text.size() - 1);
  if (const auto found = by_comm_.find(key); found != by_comm_.end()) {
    touch(found->second);
    return found->second;
  }
  std::string name = task_name(key.text.data(), false);
  const bool is_known = sources_.find(Kind::task, name).has_value();
  if (!is_known && sources_.tasks() >= kManyTasks) name = task_name(key.text.data(), true);
  const std::uint64_t before = sources_.overflowed();
  const SourceId source = sources_.intern(Kind::task, name);
  touch(source);
  // Without room, it is tried again the next time: a name may have left.
  if (sources_.overflowed() != before) return source;
  // More, for many are one without their numbers.
  if (by_comm_.size() >= SourceTable::kCapacity) by_comm_.clear();
  by_comm_.emplace(key, source);
  return source;
}

bool Names::is_crowded() const { return sources_.tasks() > kCrowded && now_ns_ >= leave_due_ns_; }

std::vector<Departure> Names::silent() {
  std::vector<Departure> departures;
  if (!is_crowded()) return departures;
  leave_due_ns_ = now_ns_ + kLeaveNs;
  const auto used_ns = [this](const Departure& each) { return used_ns_[SourceTable::slot_of(each.from)]; };
  for (const SourceId source : sources_.task_ids()) {
    if (now_ns_ - used_ns_[SourceTable::slot_of(source)] < kSilentNs) continue;
    if (const auto departure = sources_.departure(source)) departures.push_back(*departure);
  }
  std::ranges::sort(departures, {}, used_ns);
  departures.resize(std::min(departures.size(), sources_.tasks() - kNotCrowded));
  return departures;
}

void Names::let_go(std::span<const Departure> departures) {
  std::vector<bool> leaves(SourceTable::kCapacity, false);
  for (const Departure& departure : departures) leaves[SourceTable::slot_of(departure.from)] = true;
  std::erase_if(by_comm_, [&](const auto& each) { return leaves[SourceTable::slot_of(each.second)]; });
  sources_.let_go(departures);
}

std::string Names::name_of(Kind kind, std::uint64_t id, bool unhandled) {
  switch (kind) {
    case Kind::vector:
      return id < kVectors.size() ? std::string(kVectors[id]) : fmt::format("vector {}", id);
    case Kind::softirq:
      return id < kSoftirqs.size() ? std::string(kSoftirqs[id]) : fmt::format("softirq {}", id);
    case Kind::irq:
      return irq_name(id) + (unhandled ? " (not handled)" : "");
    case Kind::page_fault:
      return std::string(kFaults[id]);
    case Kind::task:
      return std::string(kLeavingIdle);
    default:
      return std::string(kUnknown);
  }
}

// What the drivers that serve it call themselves; empty if there is none. Allocates nothing once path_ has room.
std::string_view Names::actions_of(std::uint64_t irq) {
  path_.assign(sysroot_);
  fmt::format_to(std::back_inserter(path_), "/sys/kernel/irq/{}/actions", irq);
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = file ? ::read(file.get(), text_.data(), text_.size()) : -1;
  std::string_view text(text_.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return take_line(text);
}

// The action, as in the last column of /proc/interrupts; with the number where several irqs have the same one.
std::string Names::irq_name(std::uint64_t irq) {
  namespace fs = std::filesystem;
  std::string actions(actions_of(irq));
  if (std::ranges::find(irqs_, irq, &KnownIrq::number) == irqs_.end() && irqs_.size() < SourceTable::kCapacity)
    irqs_.push_back({irq, actions});
  if (actions.empty()) return fmt::format("irq{}", irq);
  std::error_code error;
  for (fs::directory_iterator other(fs::path(sysroot_) / "sys/kernel/irq", error), end; !error && other != end;
       other.increment(error)) {
    const auto number = to_number<std::uint64_t>(other->path().filename().native());
    if (number && *number != irq && actions_of(*number) == actions) return fmt::format("{}:{}", actions, irq);
  }
  return actions;
}

}  // namespace noised::system
