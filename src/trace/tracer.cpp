// SPDX-License-Identifier: Apache-2.0
// Loading and attaching with libbpf.
#include "trace/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "noised.skel.h"
#include "trace/kernel_btf.h"
#include "trace/libbpf_error.h"
#include "trace/rings.h"
#include "trace/tracepoints.h"

namespace noised {
namespace {

struct Attached {
  Kind kind;
  std::string tracepoint;
  const char* how;  // "tp_btf" or "raw_tp"; null: not attached
  bpf_program* program;
};

struct DestroySkeleton {
  void operator()(noised_bpf* skeleton) const { noised_bpf__destroy(skeleton); }
};
struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, DestroyLink>;

std::string describe(const Probe& probe) {
  return fmt::format("{}{}{}", to_string(probe.kind), probe.source.empty() ? "" : " ", probe.source);
}

Error load_error(int code) {
  if (code == -EPERM) {  // EACCES is the verifier's
    return failure("bpf(BPF_PROG_LOAD): permission denied",
                   "run as root, or with CAP_BPF and CAP_PERFMON; a kernel in lockdown=confidentiality refuses always");
  }
  return failure(fmt::format("bpf(BPF_PROG_LOAD): {}", libbpf_text(code)),
                 "run with --log-level debug to see what the kernel's verifier says");
}

}  // namespace

struct Tracer::Implementation {
  std::unique_ptr<noised_bpf, DestroySkeleton> skeleton;
  Rings rings;
  std::vector<Attached> programs;
  std::vector<Link> links;
  bool prefer_btf = true;

  // The tp_btf twin, or the raw_tp one where that is preferred or alone.
  [[nodiscard]] bpf_program* find(std::string_view tracepoint) const {
    const std::string btf = fmt::format("btf_{}", tracepoint);
    bpf_program* program = prefer_btf ? bpf_object__find_program_by_name(skeleton->obj, btf.c_str()) : nullptr;
    if (program != nullptr) return program;
    return bpf_object__find_program_by_name(skeleton->obj, fmt::format("raw_{}", tracepoint).c_str());
  }

  // Leaves on only the programs whose tracepoints exist, in the chosen twin. Returns the sources left out.
  std::vector<std::string> choose(const KernelBtf& btf) {
    std::vector<std::string> left_out;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) bpf_program__set_autoload(program, false);
    for (const Probe& probe : known_probes()) {
      const bool has_exit = probe.exit.empty() || btf.has_tracepoint(probe.exit);
      if (!btf.has_tracepoint(probe.entry) || !has_exit) {
        left_out.push_back(fmt::format("{}: this kernel has no tracepoint {}", describe(probe), probe.entry));
        programs.push_back({probe.kind, std::string(probe.entry), nullptr, nullptr});
        continue;
      }
      for (const std::string_view tracepoint : {probe.entry, probe.exit}) {
        if (!tracepoint.empty()) bpf_program__set_autoload(find(tracepoint), true);
      }
    }
    return left_out;
  }

  // Both halves or none: an entry without its exit would only make noise.
  Status attach(const Probe& probe, std::vector<std::string>& left_out) {
    std::vector<Link> pair;
    for (const std::string_view tracepoint : {probe.exit, probe.entry}) {
      if (tracepoint.empty()) continue;
      bpf_program* program = find(tracepoint);
      if (!bpf_program__autoload(program)) return success();
      pair.emplace_back(bpf_program__attach(program));
      if (pair.back()) {
        const bool btf = bpf_program__type(program) == BPF_PROG_TYPE_TRACING;
        programs.push_back({probe.kind, std::string(tracepoint), btf ? "tp_btf" : "raw_tp", program});
        continue;
      }
      const std::string what =
          fmt::format("{}: attaching to tracepoint {}: {}", describe(probe), tracepoint, libbpf_text(errno));
      if (probe.essential) return failure(what, "without it no attribution would be true");
      left_out.push_back(what);
      if (pair.size() == 2) programs.pop_back();
      programs.push_back({probe.kind, std::string(tracepoint), nullptr, nullptr});
      return success();
    }
    for (Link& link : pair) links.push_back(std::move(link));
    return success();
  }
};

Tracer::Tracer(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Tracer::~Tracer() = default;

Result<std::unique_ptr<Tracer>> Tracer::load(const TracerOptions& options) {
  if (!options.verbose) libbpf_set_print(nullptr);
  auto btf = KernelBtf::load(options.btf.value_or(KernelBtf::kRunningKernel));
  if (!btf) return btf.error();

  bpf_object_open_opts open_options{};
  open_options.sz = sizeof(open_options);
  if (options.btf) open_options.btf_custom_path = options.btf->c_str();
  auto state = std::make_unique<Implementation>();
  state->skeleton.reset(noised_bpf__open_opts(&open_options));
  if (!state->skeleton) return failure(fmt::format("opening the BPF object: {}", libbpf_text(errno)));
  noised_bpf& skeleton = *state->skeleton;
  state->prefer_btf = !options.btf;

  std::vector<std::string> unsupported = state->choose(btf.value());
  skeleton.rodata->cpu_count = static_cast<noised_u32>(options.possible_cpus);
  bpf_map__set_max_entries(skeleton.maps.rings, static_cast<noised_u32>(options.possible_cpus));
  const auto state_bytes = static_cast<noised_u32>(options.possible_cpus * sizeof(noised_cpu));
  if (const int code = bpf_map__set_value_size(skeleton.maps.bss_cpus, state_bytes); code != 0) {
    return failure(fmt::format("sizing the BPF state for {} CPUs: {}", options.possible_cpus, libbpf_text(code)));
  }
  if (const int code = noised_bpf__load(&skeleton); code != 0) return load_error(code);

  if (Status made = state->rings.create(bpf_map__fd(skeleton.maps.rings), options.cpus, options.buffer_bytes); !made) {
    return made.error();
  }
  for (const Probe& probe : known_probes()) {
    if (Status attached = state->attach(probe, unsupported); !attached) return attached.error();
  }
  unsupported.emplace_back("page_fault duration: counted only, x86 has no tracepoint at the end of a fault");
  unsupported.emplace_back("irq_work functions: no tracepoint names them, the irq_work vector is timed as a whole");
  auto tracer = std::unique_ptr<Tracer>(new Tracer(std::move(state)));
  tracer->unsupported_ = std::move(unsupported);
  return tracer;
}

noised_cpu& Tracer::state(unsigned cpu) { return implementation_->skeleton->bss_cpus->cpu_states[cpu]; }

std::size_t Tracer::drain(std::size_t index, std::size_t limit, const Sink& sink) {
  return implementation_->rings.drain(index, limit, sink);
}

LostCounters Tracer::lost(unsigned cpu) const {
  const volatile noised_cpu& state = implementation_->skeleton->bss_cpus->cpu_states[cpu];
  return LostCounters{state.lost_full, state.lost_nmi, state.lost_depth, state.unpaired, state.unseen};
}

std::uint64_t Tracer::missed_runs() const {
  std::uint64_t missed = 0;
  for (const ProgramView& program : programs()) missed += program.missed;
  return missed;
}

std::vector<ProgramView> Tracer::programs() const {
  std::vector<ProgramView> views;
  for (const Attached& attached : implementation_->programs) {
    ProgramView view;
    view.name = attached.tracepoint;
    view.kind = to_string(attached.kind);
    if (attached.program != nullptr) {
      bpf_prog_info info{};
      noised_u32 size = sizeof(info);
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

}  // namespace noised
