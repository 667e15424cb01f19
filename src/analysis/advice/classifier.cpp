// SPDX-License-Identifier: Apache-2.0
// Entries are in order of their start; those nested in one follow it, deeper. Tasks and callbacks first: interrupts
// take after them.
#include "analysis/advice/classifier.h"

#include <algorithm>

#include "recording/records.h"

namespace noised::analysis {
namespace {

/// One past the last entry nested in `index`.
std::size_t end_of(const account::DetourLedger& ledger, std::size_t index) {
  std::size_t end = index + 1;
  while (end < ledger.entries.size() && ledger.entries[end].depth > ledger.entries[index].depth) ++end;
  return end;
}

/// The first entry nested in `index` of this kind, or the end.
std::size_t first_inside(const account::DetourLedger& ledger, std::size_t index, Kind kind) {
  const std::size_t end = end_of(ledger, index);
  for (std::size_t inner = index + 1; inner < end; ++inner)
    if (ledger.entries[inner].kind == kind) return inner;
  return ledger.entries.size();
}

bool of_devices(std::string_view softirq) {
  return softirq != "TIMER" && softirq != "HRTIMER" && softirq != "SCHED" && softirq != "RCU";
}

}  // namespace

std::string_view unit_of(std::string_view cgroup) {
  std::string_view slice;
  while (!cgroup.empty()) {
    const std::size_t slash = cgroup.find('/');
    const std::string_view part = cgroup.substr(0, slash);
    if (part.ends_with(".service") || part.ends_with(".scope")) return part;
    if (part.ends_with(".slice")) slice = part;
    if (slash == std::string_view::npos) break;
    cgroup.remove_prefix(slash + 1);
  }
  return slice;
}

void Classifier::read_details(std::string_view details, std::size_t entries) {
  details_.assign(entries, {});
  recording::ByteReader reader(details);
  recording::EntryDetails next;
  while (recording::next_details(reader, next)) {
    if (next.entry < entries) details_[next.entry] = next.text;
  }
}

// The innermost task around each entry, or the number of entries. In one sweep: a task can have thousands of faults.
void Classifier::find_tasks(const account::DetourLedger& ledger) {
  const std::size_t none = ledger.entries.size();
  task_around_.assign(none, none);
  around_.clear();
  for (std::size_t i = 0; i < none; ++i) {
    const std::size_t depth = ledger.entries[i].depth;
    around_.resize(std::min(depth, around_.size()), none);
    for (std::size_t outer = around_.size(); outer-- > 0 && task_around_[i] == none;)
      if (ledger.entries[around_[outer]].kind == Kind::task) task_around_[i] = around_[outer];
    around_.push_back(i);
  }
}

std::string_view Classifier::detail(std::size_t index, account::DetailKey key) const {
  recording::ByteReader reader(details_[index]);
  while (reader.good() && !reader.at_end()) {
    const std::uint8_t found = reader.byte();
    const std::string_view value = reader.text();
    if (found == static_cast<std::uint8_t>(key)) return value;
  }
  return {};
}

std::string_view Classifier::name(const account::DetourLedger& ledger, std::size_t index) const {
  return sources_.at(ledger.entries[index].source).name;
}

Classifier::Entry Classifier::of_task(const account::DetourLedger& ledger, std::size_t index) const {
  const std::string_view comm = name(ledger, index);
  if (comm.starts_with("kworker/")) {
    const std::size_t work = first_inside(ledger, index, Kind::work);
    if (work < ledger.entries.size()) return of_work(ledger, work);
    if (comm.starts_with("kworker/u")) return {RuleId::unbound_work, {}, {}, {}};
    return {RuleId::bound_work, "kworker", {}, {}};
  }
  if (const std::string_view unit = unit_of(detail(index, account::DetailKey::service)); !unit.empty())
    return {RuleId::service, unit, comm, {}};
  const auto kernel_thread = rule_of_kernel_thread(comm);
  if (!kernel_thread) return {RuleId::task, comm, comm, {}};
  const bool named = *kernel_thread == RuleId::device || *kernel_thread == RuleId::device_softirq ||
                     *kernel_thread == RuleId::no_remedy;
  return {*kernel_thread, named ? comm : std::string_view(), comm, {}};
}

Classifier::Entry Classifier::of_work(const account::DetourLedger& ledger, std::size_t index) const {
  const std::size_t task = task_around_[index];
  if (task < ledger.entries.size() && name(ledger, task).starts_with("kworker/u"))
    return {RuleId::unbound_work, {}, {}, {}};
  const RuleId rule = rule_of_work(name(ledger, index));
  const bool named = rule == RuleId::bound_work || rule == RuleId::on_request;
  return {rule, named ? name(ledger, index) : std::string_view(), {}, {}};
}

// The task that this CPU woke in the same detour, after this entry: who wakes it does so on its behalf.
const Classifier::Entry* Classifier::woken_by(const account::DetourLedger& ledger, std::size_t index) const {
  for (std::size_t later = index + 1; later < ledger.entries.size(); ++later) {
    if (ledger.entries[later].kind == Kind::task)
      return detail(later, account::DetailKey::waker_context) == "this CPU" ? &entries_[later] : nullptr;
  }
  return nullptr;
}

Classifier::Entry Classifier::of_callback(const account::DetourLedger& ledger, std::size_t index) const {
  const std::string_view function = name(ledger, index);
  if (function == "hrtimer_wakeup" || function == "process_timeout" || function == "delayed_work_timer_fn") {
    if (const Entry* const task = woken_by(ledger, index)) return *task;
  }
  return {rule_of_timer(function), {}, {}, {}};
}

Classifier::Entry Classifier::of_call(const account::DetourLedger& ledger, std::size_t index) const {
  const RuleId rule = rule_of_call(name(ledger, index));
  const bool named = rule == RuleId::on_request || rule == RuleId::no_remedy;
  std::string_view sender = detail(index, account::DetailKey::sender);
  if (sender.empty()) sender = detail(index, account::DetailKey::sender_context);
  return {rule, named ? name(ledger, index) : std::string_view(), {}, sender};
}

// What else the interrupt was for stays when the tick goes, and so does the interrupt.
Classifier::Entry Classifier::of_timer_interrupt(const account::DetourLedger& ledger, std::size_t index) const {
  bool tick = false;
  const std::size_t end = end_of(ledger, index);
  for (std::size_t inner = index + 1; inner < end; ++inner) {
    if (ledger.entries[inner].kind != Kind::hrtimer) continue;
    if (entries_[inner].rule != RuleId::tick) return entries_[inner];
    tick = true;
  }
  if (tick) return {RuleId::tick, {}, {}, {}};
  return {RuleId::no_remedy, name(ledger, index), {}, {}};
}

Classifier::Entry Classifier::of_vector(const account::DetourLedger& ledger, std::size_t index) const {
  const std::string_view vector = name(ledger, index);
  if (vector == "local_timer") return of_timer_interrupt(ledger, index);
  if (vector == "reschedule") {
    for (std::size_t later = index + 1; later < ledger.entries.size(); ++later)
      if (ledger.entries[later].kind == Kind::task) return entries_[later];
    return {RuleId::reschedule, {}, {}, detail(index, account::DetailKey::sender)};
  }
  if (vector.starts_with("call_function")) {
    const std::size_t call = first_inside(ledger, index, Kind::csd);
    if (call < ledger.entries.size()) {
      Entry same = entries_[call];
      same.sender = {};  // the call has it
      return same;
    }
    if (const std::string_view function = detail(index, account::DetailKey::function); !function.empty()) {
      const RuleId rule = rule_of_call(function);
      const bool named = rule == RuleId::on_request || rule == RuleId::no_remedy;
      return {rule, named ? function : std::string_view(), {}, detail(index, account::DetailKey::sender)};
    }
  }
  return {RuleId::no_remedy, vector, {}, detail(index, account::DetailKey::sender)};
}

Classifier::Entry Classifier::of_softirq(const account::DetourLedger& ledger, std::size_t index) const {
  const std::string_view softirq = name(ledger, index);
  if (softirq == "RCU") return {RuleId::rcu, {}, {}, {}};
  if (softirq == "SCHED") return {RuleId::tick, {}, {}, {}};  // the tick asks for balancing
  if (!of_devices(softirq)) {
    for (const Kind kind : {Kind::timer, Kind::hrtimer}) {
      const std::size_t callback = first_inside(ledger, index, kind);
      if (callback < ledger.entries.size()) return entries_[callback];
    }
    return {softirq == "TIMER" ? RuleId::tick : RuleId::timers, {}, {}, {}};
  }
  for (std::size_t before = index; before-- > 0;) {
    const bool asks = ledger.entries[before].kind == Kind::irq || entries_[before].rule == RuleId::receive_steering;
    if (asks) return entries_[before];
  }
  return {RuleId::device_softirq, softirq, {}, {}};
}

Classifier::Entry Classifier::of_fault(const account::DetourLedger& ledger, std::size_t index) const {
  const std::size_t task = task_around_[index];
  return task < ledger.entries.size() ? entries_[task] : Entry{RuleId::page_fault, {}, {}, {}};
}

const std::vector<Classifier::Entry>& Classifier::classify(const account::DetourLedger& ledger,
                                                           std::string_view details) {
  const std::size_t count = ledger.entries.size();
  read_details(details, count);
  find_tasks(ledger);
  entries_.assign(count, {});
  const auto each = [&](Kind kind, Entry (Classifier::*of)(const account::DetourLedger&, std::size_t) const) {
    for (std::size_t i = 0; i < count; ++i)
      if (ledger.entries[i].kind == kind) entries_[i] = (this->*of)(ledger, i);
  };
  each(Kind::task, &Classifier::of_task);
  each(Kind::work, &Classifier::of_work);
  each(Kind::timer, &Classifier::of_callback);
  each(Kind::hrtimer, &Classifier::of_callback);
  each(Kind::csd, &Classifier::of_call);
  each(Kind::vector, &Classifier::of_vector);
  for (std::size_t i = 0; i < count; ++i) {
    const Kind kind = ledger.entries[i].kind;
    if (kind == Kind::irq) {
      std::string_view action = name(ledger, i);
      constexpr std::string_view kShared = " (not handled)";
      if (action.ends_with(kShared)) action.remove_suffix(kShared.size());
      entries_[i] = {RuleId::device, action, {}, {}};
    }
    if (kind == Kind::nmi) {
      const bool counter = name(ledger, i).starts_with("perf_");
      entries_[i] = {counter ? RuleId::nmi : RuleId::no_remedy, counter ? std::string_view() : name(ledger, i), {}, {}};
    }
    if (kind == Kind::tasklet) entries_[i] = {RuleId::device_softirq, name(ledger, i), {}, {}};
    if (kind == Kind::irq_work || kind == Kind::none) entries_[i].object = name(ledger, i);
  }
  each(Kind::softirq, &Classifier::of_softirq);
  each(Kind::page_fault, &Classifier::of_fault);
  return entries_;
}

}  // namespace noised::analysis
