// SPDX-License-Identifier: Apache-2.0
// Details of tasks, of interrupts sent by other CPUs, and of page faults.
#include "pipeline/chains.h"

#include <fmt/format.h>

#include <cstring>

namespace noised::pipeline {
namespace {

std::string_view comm_of(const noised_origin& origin) {
  return {origin.comm, strnlen(origin.comm, sizeof(origin.comm))};
}

bool is_kernel_address(std::uint64_t address) { return address >> 63U != 0; }

}  // namespace

// An interrupt acts on nobody's behalf: the task that it struck did nothing.
void Chains::add_actor(const noised_origin& origin, const Keys& keys, account::FeedDetour& detour) {
  const auto context = static_cast<Kind>(origin.context_kind);
  if (context != Kind::none && context < Kind::hypervisor && context != Kind::page_fault) {
    const Source& source = sources_.at(names_.resolve(context, origin.context_id));
    scratch_.clear();
    fmt::format_to(std::back_inserter(scratch_), "{} {}", to_string(context), source.name);
    detour.add_detail(keys.context, scratch_);
  }
  if (context == Kind::none || context == Kind::work || context == Kind::page_fault) {
    if (owners_ != nullptr) owners_->note(comm_of(origin), origin.pid);
    detour.add_detail(keys.name, comm_of(origin));
    detour.add_detail(keys.pid, origin.pid);
  }
  detour.add_detail(keys.cpu, origin.cpu);
}

std::string_view Chains::service_of(std::uint32_t pid, const account::Cause* cause, std::uint64_t now_ns) {
  const std::uint64_t cgroup = cause == nullptr ? 0
                               : cause->known   ? cause->origin.subject
                               : cause->moved   ? cause->mover.subject
                                                : 0;
  return cgroup == 0 ? services_.of_process(pid, now_ns) : services_.of_cgroup(cgroup, pid, now_ns);
}

std::string_view Chains::service_of(const account::LedgerEntry& entry, const account::CauseMatcher& causes,
                                    std::uint64_t now_ns) {
  return service_of(static_cast<std::uint32_t>(entry.id), causes.find(entry.cause), now_ns);
}

void Chains::describe_task(const account::DetourLedger& ledger, std::size_t index, const account::Cause* cause,
                           std::uint64_t now_ns, account::FeedDetour& detour) {
  const account::LedgerEntry& entry = ledger.entries[index];
  if (entry.id == 0) return;  // the idle task
  const auto pid = static_cast<std::uint32_t>(entry.id);
  detour.add_detail(account::DetailKey::pid, pid);
  if (cause != nullptr && cause->known) {
    add_actor(cause->origin,
              {account::DetailKey::waker, account::DetailKey::waker_pid, account::DetailKey::waker_cpu,
               account::DetailKey::waker_context},
              detour);
  } else if (cause != nullptr && cause->here) {
    detour.add_detail(account::DetailKey::waker_context, "this CPU");
  }
  if (cause != nullptr && cause->moved) {
    add_actor(cause->mover,
              {account::DetailKey::mover, account::DetailKey::mover_pid, account::DetailKey::mover_cpu,
               account::DetailKey::mover_context},
              detour);
  }
  detour.add_detail(account::DetailKey::service, service_of(pid, cause, now_ns));
  for (std::size_t inner = index + 1; inner < ledger.entries.size() && ledger.entries[inner].depth > entry.depth;
       ++inner) {
    if (ledger.entries[inner].kind != Kind::work) continue;
    detour.add_detail(account::DetailKey::work, sources_.at(ledger.entries[inner].source).name);
    break;
  }
}

void Chains::describe_interrupt(const account::Cause& cause, account::FeedDetour& detour) {
  add_actor(cause.origin,
            {account::DetailKey::sender, account::DetailKey::sender_pid, account::DetailKey::sender_cpu,
             account::DetailKey::sender_context},
            detour);
  if (cause.origin.kind == NOISED_ORIGIN_QUEUE) return;  // the entry itself is named after the function
  if (cause.origin.subject != 0) {
    detour.add_detail(account::DetailKey::function, sources_.at(names_.resolve(Kind::csd, cause.origin.subject)).name);
  } else {
    detour.add_detail(account::DetailKey::sender_code, names_.code(cause.origin.code));
  }
  if (cause.sends > 1) detour.add_detail(account::DetailKey::sends, cause.sends);
}

void Chains::describe_fault(const account::LedgerEntry& entry, account::FeedDetour& detour) {
  if ((entry.flags & NOISED_FLAG_HANDLING) != 0) return;
  detour.add_detail(account::DetailKey::address, (entry.flags & NOISED_FLAG_KERNEL_ADDRESS) != 0 ? "kernel" : "user");
  if (is_kernel_address(entry.id)) {
    detour.add_detail(account::DetailKey::ip, names_.code(entry.id));
    return;
  }
  scratch_.clear();
  fmt::format_to(std::back_inserter(scratch_), "{:#x}", entry.id);
  detour.add_detail(account::DetailKey::ip, scratch_);
}

void Chains::describe(const account::DetourLedger& ledger, std::size_t index, const account::CauseMatcher& causes,
                      std::uint64_t now_ns, account::FeedDetour& detour) {
  const account::LedgerEntry& entry = ledger.entries[index];
  const account::Cause* const cause = causes.find(entry.cause);
  if (entry.kind == Kind::task) describe_task(ledger, index, cause, now_ns, detour);
  if (entry.kind == Kind::page_fault) describe_fault(entry, detour);
  if ((entry.kind == Kind::vector || entry.kind == Kind::csd) && cause != nullptr) describe_interrupt(*cause, detour);
}

}  // namespace noised::pipeline
