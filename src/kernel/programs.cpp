// SPDX-License-Identifier: Apache-2.0
// Choosing and attaching, tracepoint by tracepoint.
#include "kernel/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "kernel/features.h"

namespace noised::kernel {
namespace {

// A preempting task would otherwise look like the hypervisor's work, so without sched_switch there is no start. What
// callbacks are in stands before them: see choose().
constexpr std::array kTraced = {
    TracedSource{Kind::irq, "", "irq_handler_entry", "irq_handler_exit"},
    TracedSource{Kind::vector, "local_timer", "local_timer_entry", "local_timer_exit"},
    TracedSource{Kind::vector, "reschedule", "reschedule_entry", "reschedule_exit"},
    TracedSource{Kind::vector, "call_function", "call_function_entry", "call_function_exit"},
    TracedSource{Kind::vector, "call_function_single", "call_function_single_entry", "call_function_single_exit"},
    TracedSource{Kind::vector, "irq_work", "irq_work_entry", "irq_work_exit"},
    TracedSource{Kind::vector, "thermal_apic", "thermal_apic_entry", "thermal_apic_exit"},
    TracedSource{Kind::vector, "threshold_apic", "threshold_apic_entry", "threshold_apic_exit"},
    TracedSource{Kind::vector, "deferred_error_apic", "deferred_error_apic_entry", "deferred_error_apic_exit"},
    TracedSource{Kind::vector, "error_apic", "error_apic_entry", "error_apic_exit"},
    TracedSource{Kind::vector, "spurious_apic", "spurious_apic_entry", "spurious_apic_exit"},
    TracedSource{Kind::vector, "x86_platform_ipi", "x86_platform_ipi_entry", "x86_platform_ipi_exit"},
    TracedSource{Kind::softirq, "", "softirq_entry", "softirq_exit"},
    TracedSource{Kind::tasklet, "", "tasklet_entry", "tasklet_exit", false, Role::callback},
    TracedSource{Kind::timer, "", "timer_expire_entry", "timer_expire_exit", false, Role::callback},
    TracedSource{Kind::hrtimer, "", "hrtimer_expire_entry", "hrtimer_expire_exit", false, Role::callback},
    TracedSource{Kind::csd, "", "csd_function_entry", "csd_function_exit"},
    TracedSource{Kind::task, "", "sched_switch", "", true},
    TracedSource{Kind::work, "", "workqueue_execute_start", "workqueue_execute_end"},
    TracedSource{Kind::nmi, "", "nmi_handler", ""},
    TracedSource{Kind::page_fault, "user", "page_fault_user", "", false, Role::instant},
    TracedSource{Kind::page_fault, "kernel", "page_fault_kernel", "", false, Role::instant},
    TracedSource{Kind::task, "waker", "sched_waking", "", false, Role::origin},
    TracedSource{Kind::task, "parent", "sched_wakeup_new", "", false, Role::origin},
    TracedSource{Kind::task, "mover", "sched_migrate_task", "", false, Role::origin},
    TracedSource{Kind::vector, "sender", "ipi_send_cpu", "", false, Role::origin},
    TracedSource{Kind::vector, "sender to several CPUs", "ipi_send_cpumask", "", false, Role::origin},
    TracedSource{Kind::csd, "sender", "csd_queue_cpu", "", false, Role::origin},
    TracedSource{Kind::task, "children", "sched_process_fork", "", false, Role::task},
    TracedSource{Kind::task, "idle exit", "cpu_idle", "", false, Role::task},
    TracedSource{Kind::task, "arrival", "sched_wakeup", "", false, Role::arrival},
};

}  // namespace

std::span<const TracedSource> traced_sources() { return kTraced; }

bool is_wanted(Role role, const Watching& watching) {
  if (role == Role::instant) return watching.loops;
  if (role == Role::arrival) return watching.loops && watching.tasks;
  return role != Role::task || watching.tasks;
}

// Vectors, device interrupts and switches are traced with interrupts off, and no NMI handler comes by them. The others
// are traced with interrupts on, on some kernel, or lead to what an interrupt does as well.
bool may_recur(std::string_view tracepoint) {
  const auto* const found = std::find_if(kTraced.begin(), kTraced.end(), [&](const TracedSource& each) {
    return (each.role == Role::interval || each.role == Role::callback || each.role == Role::instant) &&
           (each.entry == tracepoint || each.exit == tracepoint);
  });
  if (found == kTraced.end()) return true;
  return found->kind != Kind::vector && found->kind != Kind::irq && found->kind != Kind::task;
}

bool only_tells_origins(std::string_view tracepoint) {
  return std::ranges::any_of(kTraced, [&](const TracedSource& each) {
    return each.entry == tracepoint && (each.role == Role::origin || each.role == Role::arrival);
  });
}

namespace {

constexpr std::array kFaultHalves = {"leave", "enter"};  // exits first: see attach()

std::string describe(const TracedSource& traced) {
  if (traced.role == Role::origin || traced.role == Role::task || traced.role == Role::arrival) {
    return fmt::format("{} of a {}", traced.source, to_string(traced.kind));
  }
  return fmt::format("{}{}{}", to_string(traced.kind), traced.source.empty() ? "" : " ", traced.source);
}

// What it costs that this is not seen.
std::string_view consequence(const TracedSource& traced, const Watching& watching) {
  switch (traced.role) {
    case Role::interval:
    case Role::callback:
      return "its time counts as that of what is around it, or as a gap without kernel activity";
    case Role::instant:
      return "they are not counted";
    case Role::origin:
      if (traced.kind != Kind::task || !watching.tasks) return "it is not named";
      return "it is not named, and what keeps a task waiting that is woken on an idle CPU is not seen";
    case Role::task:
      return "those of watched tasks are not watched";
    case Role::arrival:
      return "loops step aside only when they have lost their CPU";
  }
  return "";
}

bool has_callbacks(const TracedSource& traced) {
  return traced.kind == Kind::irq || traced.kind == Kind::softirq || traced.source == "local_timer";
}

std::string fault_program(const char* half) { return fmt::format("{}_{}", half, kFaultHandler); }

}  // namespace

void Programs::DestroyLink::operator()(bpf_link* link) const { bpf_link__destroy(link); }

// The tp_btf twin, or the raw_tp one where that is preferred or alone.
bpf_program* Programs::find(std::string_view tracepoint) const {
  const std::string btf = fmt::format("btf_{}", tracepoint);
  bpf_program* program = prefer_btf_ ? bpf_object__find_program_by_name(object_, btf.c_str()) : nullptr;
  if (program != nullptr) return program;
  return bpf_object__find_program_by_name(object_, fmt::format("raw_{}", tracepoint).c_str());
}

std::string_view Programs::exit_of(const TracedSource& traced) const {
  return traced.role == Role::callback && !watching_.callback_ends ? std::string_view() : traced.exit;
}

const Refusal* Programs::refusal_of(const TracedSource& traced, std::span<const Refusal> refused) const {
  const auto found = std::ranges::find_if(refused, [&](const Refusal& each) {
    return std::ranges::any_of(std::array{traced.entry, exit_of(traced)}, [&](std::string_view tracepoint) {
      return !tracepoint.empty() && each.program == bpf_program__name(find(tracepoint));
    });
  });
  return found == refused.end() ? nullptr : &*found;
}

Status Programs::choose(const KernelBtf& btf, const Watching& watching, std::span<const Refusal> refused) {
  watching_ = watching;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) bpf_program__set_autoload(program, false);
  for (const TracedSource& traced : traced_sources()) {
    if (!is_wanted(traced.role, watching)) continue;
    const std::string_view exit = exit_of(traced);
    const bool has_exit = exit.empty() || btf.has_tracepoint(exit);
    const Refusal* const refusal = refusal_of(traced, refused);
    std::string missing;
    if (!btf.has_tracepoint(traced.entry) || !has_exit) {
      missing = fmt::format("{}: this kernel has no tracepoint {}", describe(traced), traced.entry);
    } else if (refusal != nullptr) {
      missing = fmt::format("{}: this kernel refuses the program {}: {}: {}", describe(traced), refusal->program,
                            refusal->reason, consequence(traced, watching));
    }
    if (!missing.empty()) {
      if (traced.essential) return failure(missing, "without it no attribution would be true");
      watching_.callback_ends |= has_callbacks(traced);
      left_out_.push_back(missing);
      programs_.push_back({traced.kind, std::string(traced.entry), nullptr, nullptr});
      continue;
    }
    for (const std::string_view tracepoint : {traced.entry, exit}) {
      if (!tracepoint.empty()) bpf_program__set_autoload(find(tracepoint), true);
    }
  }
  choose_fault_handler(btf, refused);
  if (watching.tasks && (!prefer_btf_ || !btf.has_helper("BPF_FUNC_task_pt_regs"))) {
    left_out_.emplace_back(
        "sched_yield: this kernel does not tell which system call a task is in (Linux 5.15), so that what it gives "
        "away "
        "counts as preempted");
  }
  return success();
}

void Programs::choose_fault_handler(const KernelBtf& btf, std::span<const Refusal> refused) {
  Status may = prefer_btf_ ? btf.can_trace_function(kFaultHandler) : failure("needs the kernel's own BTF");
  for (const Refusal& each : refused) {
    for (const char* half : kFaultHalves) {
      if (each.program == fault_program(half)) may = failure("fexit refused by kernel: " + each.reason);
    }
  }
  if (!may) {
    left_out_.push_back("page_fault duration: counted only: " + may.error().what);
    programs_.push_back({Kind::page_fault, std::string(kFaultHandler), nullptr, nullptr});
    return;
  }
  for (const char* half : kFaultHalves) {
    bpf_program__set_autoload(bpf_object__find_program_by_name(object_, fault_program(half).c_str()), true);
  }
}

// It begins by reading a register that nothing was written to.
void Programs::spoil(std::string_view tracepoint) {
  bpf_program* const program = find(tracepoint);
  const bpf_insn* const first = bpf_program__insns(program);
  std::vector<bpf_insn> instructions(first, first + bpf_program__insn_cnt(program));
  instructions[0] = {
      .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_9, .off = 0, .imm = 0};
  (void)bpf_program__set_insns(program, instructions.data(), instructions.size());
}

// Both halves or none: an entry without its exit would only make noise.
Status Programs::attach(const TracedSource& traced) {
  std::vector<Link> pair;
  for (const std::string_view tracepoint : {exit_of(traced), traced.entry}) {
    if (tracepoint.empty()) continue;
    bpf_program* program = find(tracepoint);
    if (!bpf_program__autoload(program)) return success();
    pair.emplace_back(bpf_program__attach(program));
    if (pair.back()) {
      const bool btf = bpf_program__type(program) == BPF_PROG_TYPE_TRACING;
      programs_.push_back({traced.kind, std::string(tracepoint), btf ? "tp_btf" : "raw_tp", program});
      continue;
    }
    const std::string what =
        fmt::format("{}: attaching to tracepoint {}: {}", describe(traced), tracepoint, libbpf_text(errno));
    if (traced.essential) return failure(what, "without it no attribution would be true");
    left_out_.push_back(what);
    if (pair.size() == 2) programs_.pop_back();
    programs_.push_back({traced.kind, std::string(tracepoint), nullptr, nullptr});
    return success();
  }
  for (Link& link : pair) links_.push_back(std::move(link));
  return success();
}

void Programs::attach_fault_handler() {
  std::vector<Link> pair;
  for (const char* half : kFaultHalves) {
    bpf_program* program = bpf_object__find_program_by_name(object_, fault_program(half).c_str());
    if (!bpf_program__autoload(program)) return;
    pair.emplace_back(bpf_program__attach(program));
    if (pair.back()) continue;
    left_out_.push_back(
        fmt::format("page_fault duration: counted only: fexit refused by kernel: {}", libbpf_text(errno)));
    programs_.push_back({Kind::page_fault, std::string(kFaultHandler), nullptr, nullptr});
    return;
  }
  for (const char* half : kFaultHalves) {
    programs_.push_back({Kind::page_fault, std::string(kFaultHandler), half == kFaultHalves[0] ? "fexit" : "fentry",
                         bpf_object__find_program_by_name(object_, fault_program(half).c_str())});
  }
  for (Link& link : pair) links_.push_back(std::move(link));
}

Status Programs::attach() {
  for (const TracedSource& traced : traced_sources()) {
    if (!is_wanted(traced.role, watching_)) continue;
    if (Status attached = attach(traced); !attached) return attached;
  }
  attach_fault_handler();
  for (const Attached& attached : programs_) {
    if (attached.program != nullptr && may_recur(attached.hook)) {
      may_recur_.push_back({bpf_program__fd(attached.program), only_tells_origins(attached.hook)});
    }
  }
  return success();
}

void Programs::detach() {
  links_.clear();
  may_recur_.clear();
  std::erase_if(programs_, [](const Attached& each) { return each.program != nullptr; });
}

bool Programs::attached(std::string_view tracepoint) const {
  return std::any_of(programs_.begin(), programs_.end(),
                     [&](const Attached& each) { return each.hook == tracepoint && each.program != nullptr; });
}

std::vector<ProgramView> Programs::views() const {
  std::vector<ProgramView> views;
  for (const Attached& attached : programs_) {
    ProgramView view;
    view.name = attached.hook;
    view.kind = to_string(attached.kind);
    if (attached.program != nullptr) {
      bpf_prog_info info{};
      std::uint32_t size = sizeof(info);
      view.attached = attached.how;
      if (bpf_prog_get_info_by_fd(bpf_program__fd(attached.program), &info, &size) == 0) {
        view.missed = info.recursion_misses;
        view.runs = info.run_cnt;
        view.run_ns = info.run_time_ns;
      }
    }
    views.push_back(std::move(view));
  }
  return views;
}

system::MissedRuns Programs::missed_runs() const {
  system::MissedRuns missed;
  for (const Recurring& each : may_recur_) {
    bpf_prog_info info{};
    std::uint32_t size = sizeof(info);
    if (bpf_prog_get_info_by_fd(each.descriptor, &info, &size) != 0) continue;
    (each.tells_origins ? missed.origins : missed.intervals) += info.recursion_misses;
  }
  return missed;
}

Status Programs::check_missed_runs() const {
  if (may_recur_.empty()) return success();
  bpf_prog_info info{};
  std::uint32_t size = sizeof(info);
  if (bpf_prog_get_info_by_fd(may_recur_.front().descriptor, &info, &size) == 0) return success();
  return failure(fmt::format("bpf(BPF_OBJ_GET_INFO_BY_FD): {}", libbpf_text(errno)));
}

}  // namespace noised::kernel
