// SPDX-License-Identifier: Apache-2.0
// Choosing and attaching, tracepoint by tracepoint.
#include "trace/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "trace/libbpf_error.h"

namespace noised {
namespace {

constexpr std::array kFaultHalves = {"leave", "enter"};  // exits first: see attach()

std::string describe(const Probe& probe) {
  if (probe.role == Role::origin || probe.role == Role::task || probe.role == Role::arrival) {
    return fmt::format("{} of a {}", probe.source, to_string(probe.kind));
  }
  return fmt::format("{}{}{}", to_string(probe.kind), probe.source.empty() ? "" : " ", probe.source);
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

void Programs::choose(const KernelBtf& btf, const Watching& watching) {
  watching_ = watching;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) bpf_program__set_autoload(program, false);
  for (const Probe& probe : known_probes()) {
    if (!is_wanted(probe.role, watching)) continue;
    const bool has_exit = probe.exit.empty() || btf.has_tracepoint(probe.exit);
    if (!btf.has_tracepoint(probe.entry) || !has_exit) {
      left_out_.push_back(fmt::format("{}: this kernel has no tracepoint {}", describe(probe), probe.entry));
      programs_.push_back({probe.kind, std::string(probe.entry), nullptr, nullptr});
      continue;
    }
    for (const std::string_view tracepoint : {probe.entry, probe.exit}) {
      if (!tracepoint.empty()) bpf_program__set_autoload(find(tracepoint), true);
    }
  }
  const Status may = prefer_btf_ ? btf.can_trace_function(kFaultHandler) : failure("needs the kernel's own BTF");
  if (!may) {
    left_out_.push_back("page_fault duration: counted only: " + may.error().what);
    programs_.push_back({Kind::page_fault, std::string(kFaultHandler), nullptr, nullptr});
    return;
  }
  for (const char* half : kFaultHalves) {
    bpf_program__set_autoload(bpf_object__find_program_by_name(object_, fault_program(half).c_str()), true);
  }
}

// Both halves or none: an entry without its exit would only make noise.
Status Programs::attach(const Probe& probe) {
  std::vector<Link> pair;
  for (const std::string_view tracepoint : {probe.exit, probe.entry}) {
    if (tracepoint.empty()) continue;
    bpf_program* program = find(tracepoint);
    if (!bpf_program__autoload(program)) return success();
    pair.emplace_back(bpf_program__attach(program));
    if (pair.back()) {
      const bool btf = bpf_program__type(program) == BPF_PROG_TYPE_TRACING;
      programs_.push_back({probe.kind, std::string(tracepoint), btf ? "tp_btf" : "raw_tp", program});
      continue;
    }
    const std::string what =
        fmt::format("{}: attaching to tracepoint {}: {}", describe(probe), tracepoint, libbpf_text(errno));
    if (probe.essential) return failure(what, "without it no attribution would be true");
    left_out_.push_back(what);
    if (pair.size() == 2) programs_.pop_back();
    programs_.push_back({probe.kind, std::string(tracepoint), nullptr, nullptr});
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
  for (const Probe& probe : known_probes()) {
    if (!is_wanted(probe.role, watching_)) continue;
    if (Status attached = attach(probe); !attached) return attached;
  }
  attach_fault_handler();
  for (const Attached& attached : programs_) {
    if (attached.program != nullptr && may_recur(attached.hook)) {
      may_recur_.push_back(bpf_program__fd(attached.program));
    }
  }
  return success();
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

std::uint64_t Programs::missed_runs() const {
  std::uint64_t missed = 0;
  for (const int descriptor : may_recur_) {
    bpf_prog_info info{};
    std::uint32_t size = sizeof(info);
    if (bpf_prog_get_info_by_fd(descriptor, &info, &size) == 0) missed += info.recursion_misses;
  }
  return missed;
}

Status Programs::check_missed_runs() const {
  if (may_recur_.empty()) return success();
  bpf_prog_info info{};
  std::uint32_t size = sizeof(info);
  if (bpf_prog_get_info_by_fd(may_recur_.front(), &info, &size) == 0) return success();
  return failure(fmt::format("bpf(BPF_OBJ_GET_INFO_BY_FD): {}", libbpf_text(errno)));
}

}  // namespace noised
