// SPDX-License-Identifier: Apache-2.0
// Loading with libbpf.
#include "trace/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <optional>

#include "noised.skel.h"
#include "trace/kernel_btf.h"
#include "trace/libbpf_error.h"
#include "trace/programs.h"
#include "trace/rings.h"

namespace noised {
namespace {

// 14,000 origins in a drain of 25 ms: half a million wakeups and interrupts a second for the watched CPUs together.
constexpr noised_u32 kOriginBytes = 1U << 20U;

struct DestroySkeleton {
  void operator()(noised_bpf* skeleton) const { noised_bpf__destroy(skeleton); }
};

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
  std::optional<Programs> programs;
  Rings rings;
  std::size_t possible_cpus = 0;
  noised_u32 group_count = 0;

  // What the programs know before they run: sizes, and which CPUs are watched.
  Status configure(const TracerOptions& options) {
    possible_cpus = options.possible_cpus;
    const auto cpus = static_cast<noised_u32>(possible_cpus);
    skeleton->rodata->cpu_count = cpus;
    for (const unsigned cpu : options.cpus) skeleton->rodata->watched_mask[cpu / 64] |= 1ULL << (cpu % 64);
    bpf_map__set_max_entries(skeleton->maps.rings, cpus);
    bpf_map__set_max_entries(skeleton->maps.origins, kOriginBytes);
    const auto bytes = static_cast<noised_u32>(possible_cpus * sizeof(noised_cpu));
    if (const int code = bpf_map__set_value_size(skeleton->maps.bss_cpus, bytes); code != 0) {
      return failure(fmt::format("sizing the BPF state for {} CPUs: {}", possible_cpus, libbpf_text(code)));
    }
    // 4 MiB, in which a pid of the kernel's highest limit has its byte: only where it is needed.
    group_count = options.watching.tasks ? NOISED_MAX_PIDS : 4096;
    skeleton->rodata->group_count = options.watching.tasks ? group_count : 0;
    if (const int code = bpf_map__set_value_size(skeleton->maps.bss_groups, group_count); code != 0) {
      return failure(fmt::format("sizing the groups of tasks: {}", libbpf_text(code)));
    }
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
  if (Status configured = state->configure(options); !configured) return configured.error();
  state->programs.emplace(skeleton.obj, !options.btf);
  state->programs->choose(btf.value(), options.watching);
  if (const int code = noised_bpf__load(&skeleton); code != 0) return load_error(code);

  if (Status made = state->rings.create(bpf_map__fd(skeleton.maps.rings), options.cpus, options.buffer_bytes); !made) {
    return made.error();
  }
  if (Status open = state->rings.open_origins(bpf_map__fd(skeleton.maps.origins)); !open) return open.error();
  if (Status attached = state->programs->attach(); !attached) return attached.error();
  auto tracer = std::unique_ptr<Tracer>(new Tracer(std::move(state)));
  tracer->unsupported_ = tracer->implementation_->programs->left_out();
  tracer->unsupported_.emplace_back(
      "irq_work functions: no tracepoint names them, the irq_work vector is timed as a whole");
  return tracer;
}

noised_cpu& Tracer::state(unsigned cpu) { return implementation_->skeleton->bss_cpus->cpu_states[cpu]; }

std::span<volatile std::uint8_t> Tracer::groups() {
  return {implementation_->skeleton->bss_groups->task_groups, implementation_->skeleton->rodata->group_count};
}

std::size_t Tracer::drain(std::size_t index, std::size_t limit, const RecordSink& sink) {
  return implementation_->rings.drain(index, limit, sink);
}

bool Tracer::drain_origins(const OriginSink& sink) { return implementation_->rings.drain_origins(sink); }

LostCounters Tracer::lost(unsigned cpu) const {
  const volatile noised_cpu& state = implementation_->skeleton->bss_cpus->cpu_states[cpu];
  return LostCounters{state.lost_full, state.lost_nmi, state.lost_depth, state.unpaired, state.unseen};
}

std::uint64_t Tracer::lost_origins() const {
  std::uint64_t lost = 0;
  for (std::size_t cpu = 0; cpu < implementation_->possible_cpus; ++cpu) {
    const volatile noised_cpu& state = implementation_->skeleton->bss_cpus->cpu_states[cpu];
    lost += state.lost_origins;
  }
  return lost;
}

bool Tracer::attached(std::string_view tracepoint) const { return implementation_->programs->attached(tracepoint); }

std::uint64_t Tracer::missed_runs() const { return implementation_->programs->missed_runs(); }

Status Tracer::check_missed_runs() const { return implementation_->programs->check_missed_runs(); }

std::vector<ProgramView> Tracer::programs() const { return implementation_->programs->views(); }

}  // namespace noised
