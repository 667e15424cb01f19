// SPDX-License-Identifier: Apache-2.0
// Loading with libbpf.
#include "kernel/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <utility>

#include "kernel/features.h"
#include "kernel/programs.h"
#include "kernel/rings.h"
#include "noised.skel.h"

namespace noised::kernel {
namespace {

// 14,000 origins in a drain of 25 ms: half a million wakeups and interrupts a second for the watched CPUs together.
constexpr noised_u32 kOriginBytes = 1U << 20U;
// Of each CPU that may cause something: 1,024 of them, but for 32, last 25 ms at 39,000 a second.
constexpr noised_u32 kLeastOriginBits = 10;
constexpr noised_u32 kMostOriginBits = 13;
// One a CPU between two times that a loop comes back, on 2,000 CPUs.
constexpr noised_u32 kArrivalBytes = 1U << 16U;
constexpr noised_u32 kPage = 4096;

// Each possible CPU has a ring of origins, of which a machine may have many more than it has CPUs, or than are watched:
// 2 MiB for all of them, or an eighth of the room for records, but 74 KB for each at least.
noised_u32 bits_of_origins(std::size_t cpus, std::uint64_t record_bytes) {
  const std::uint64_t room = std::max(std::uint64_t{2} * kOriginBytes, record_bytes / 8);
  noised_u32 bits = kMostOriginBits;
  while (bits > kLeastOriginBits && (cpus << bits) * sizeof(noised_origin) > room) --bits;
  return bits;
}

Error load_error(int code) {
  if (code == -EPERM) {  // EACCES is the verifier's
    return failure("bpf(BPF_PROG_LOAD): permission denied",
                   "run as root, or with CAP_BPF and CAP_PERFMON; a kernel in lockdown=confidentiality refuses always");
  }
  return failure(fmt::format("bpf(BPF_PROG_LOAD): {}", libbpf_text(code)),
                 "run with --log-level debug to see what the kernel's verifier says");
}

// Which program could not be loaded is in what libbpf says, and nowhere else.
class LoadListener {
 public:
  explicit LoadListener(bool verbose) : verbose_(verbose) {
    refused_.clear();
    usual_ = libbpf_set_print(listen);
    pass_on_ = verbose;
  }
  LoadListener(const LoadListener&) = delete;
  LoadListener& operator=(const LoadListener&) = delete;
  ~LoadListener() { libbpf_set_print(verbose_ ? usual_ : nullptr); }

  /// The program of the last load that failed; empty if it was none.
  static std::string take_refused() { return std::exchange(refused_, {}); }

 private:
  __attribute__((format(printf, 2, 0))) static int listen(libbpf_print_level level, const char* format,
                                                          va_list arguments) {
    constexpr std::string_view kBegin = "prog '";
    constexpr std::string_view kEnd = "': failed to load";
    std::array<char, 256> text{};
    va_list again;
    va_copy(again, arguments);
    std::vsnprintf(text.data(), text.size(), format, again);
    va_end(again);
    const std::string_view said = text.data();
    const std::size_t begin = said.find(kBegin);
    const std::size_t end = said.find(kEnd);
    if (begin != std::string_view::npos && end != std::string_view::npos && begin + kBegin.size() < end)
      refused_ = said.substr(begin + kBegin.size(), end - begin - kBegin.size());
    return pass_on_ && usual_ != nullptr ? usual_(level, format, arguments) : 0;
  }

  bool verbose_;
  static thread_local std::string refused_;
  static thread_local libbpf_print_fn_t usual_;
  static thread_local bool pass_on_;
};

thread_local std::string LoadListener::refused_;
thread_local libbpf_print_fn_t LoadListener::usual_ = nullptr;
thread_local bool LoadListener::pass_on_ = false;

}  // namespace

struct Tracer::Implementation {
  struct DestroySkeleton {
    void operator()(noised_bpf* loaded) const { noised_bpf__destroy(loaded); }
  };

  std::unique_ptr<noised_bpf, DestroySkeleton> skeleton;
  std::optional<Programs> programs;
  Rings rings;
  Arrivals arrivals;
  std::size_t possible_cpus = 0;
  noised_u32 group_count = 0;
  noised_u32 origin_bits = 0;
  std::uint64_t ring_bytes = 0;
  double fullness = 0;  // Tracer::take_fullness()
  bool maps_rings = false;
  bool steps_aside = false;

  void note_fullness(double share) { fullness = std::max(fullness, share); }

  static Result<std::unique_ptr<Implementation>> open(const TracerOptions& options, const KernelBtf& btf,
                                                      std::span<const Refusal> refused) {
    bpf_object_open_opts open_options{};
    open_options.sz = sizeof(open_options);
    if (options.btf) open_options.btf_custom_path = options.btf->c_str();
    auto state = std::make_unique<Implementation>();
    state->skeleton.reset(noised_bpf__open_opts(&open_options));
    if (!state->skeleton) return failure(fmt::format("opening the BPF object: {}", libbpf_text(errno)));
    if (Status configured = state->configure(options); !configured) return configured.error();
    state->programs.emplace(state->skeleton->obj, !options.btf);
    Watching watching = options.watching;
    utsname system{};
    uname(&system);
    if (!watching.callback_ends) watching.callback_ends = why_callback_ends_are_needed(system.version).has_value();
    if (Status chosen = state->programs->choose(btf, watching, refused); !chosen) return chosen.error();
    state->skeleton->rodata->sees_callback_ends = state->programs->callback_ends();
    for (const std::string& tracepoint : options.spoil) state->programs->spoil(tracepoint);
    return state;
  }

  // What the programs know before they run: sizes, and which CPUs are watched.
  Status configure(const TracerOptions& options) {
    possible_cpus = options.possible_cpus;
    ring_bytes = options.buffer_bytes;
    const auto cpus = static_cast<noised_u32>(possible_cpus);
    skeleton->rodata->cpu_count = cpus;
    for (const unsigned cpu : options.cpus) skeleton->rodata->watched_mask[cpu / 64] |= 1ULL << (cpu % 64);
    maps_rings = kernel_has_atomic_claim();
    if (!maps_rings) take_out_atomic_claims(skeleton->obj);
    const noised_u32 segments = static_cast<noised_u32>(options.buffer_bytes / NOISED_SEGMENT_BYTES);
    skeleton->rodata->segments_per_ring = maps_rings ? segments : 0;
    if (maps_rings) {
      bpf_map__set_max_entries(skeleton->maps.segments, segments * static_cast<noised_u32>(options.cpus.size()));
    } else {
      bpf_map__set_max_entries(skeleton->maps.rings, cpus);
    }
    origin_bits = maps_rings ? bits_of_origins(cpus, options.cpus.size() * options.buffer_bytes) : 0;
    skeleton->rodata->origin_bits = origin_bits;
    if (maps_rings) {
      bpf_map__set_max_entries(skeleton->maps.origin_slots, cpus << origin_bits);
      bpf_map__set_max_entries(skeleton->maps.origins, kPage);
    } else {
      bpf_map__set_max_entries(skeleton->maps.origins, kOriginBytes);
    }
    steps_aside = options.watching.loops && options.watching.tasks;
    skeleton->rodata->steps_aside = steps_aside;
    skeleton->rodata->follows_tasks = !options.btf;
    skeleton->rodata->reads_steal = options.reads_steal;
    skeleton->rodata->tick_function = options.tick_function;
    bpf_map__set_max_entries(skeleton->maps.arrivals, steps_aside ? kArrivalBytes : kPage);
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

  Status make_rings(const TracerOptions& options) {
    std::vector<RingOf> cpus;
    cpus.reserve(options.cpus.size());
    for (const unsigned cpu : options.cpus) cpus.push_back({cpu, &skeleton->bss_cpus->cpu_states[cpu]});
    if (steps_aside) {
      if (Status open = arrivals.open(bpf_map__fd(skeleton->maps.arrivals)); !open) return open;
      // Until the loop is there, nobody need step aside for anybody.
      for (const RingOf& each : cpus) each.state->arrived_ns = 1;  // probe.h: kNotThere
    }
    const std::span<noised_cpu> all(skeleton->bss_cpus->cpu_states, possible_cpus);
    if (Status open = maps_rings ? rings.map_origins(bpf_map__fd(skeleton->maps.origin_slots), all, origin_bits)
                                 : rings.open_origins(bpf_map__fd(skeleton->maps.origins), kOriginBytes);
        !open)
      return open;
    if (maps_rings) return rings.map(bpf_map__fd(skeleton->maps.segments), cpus, skeleton->rodata->segments_per_ring);
    return rings.create(bpf_map__fd(skeleton->maps.rings), cpus, options.buffer_bytes);
  }
};

Tracer::Tracer(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Tracer::~Tracer() = default;

Result<std::unique_ptr<Tracer>> Tracer::load(const TracerOptions& options) {
  LoadListener listener(options.verbose);
  auto btf = KernelBtf::load(options.btf.value_or(KernelBtf::kRunningKernel));
  if (!btf) return btf.error();

  // libbpf loads all programs or none, and once: without one that the kernel refuses, it begins again.
  std::vector<Refusal> refused;
  std::unique_ptr<Implementation> state;
  for (;;) {
    auto opened = Implementation::open(options, btf.value(), refused);
    if (!opened) return opened.error();
    state = std::move(opened).value();
    const int code = noised_bpf__load(state->skeleton.get());
    if (code == 0) break;
    const std::string program = LoadListener::take_refused();
    const bool again = std::ranges::any_of(refused, [&](const Refusal& each) { return each.program == program; });
    if (code == -EPERM || program.empty() || again) return load_error(code);
    refused.push_back({program, libbpf_text(code)});
  }
  if (Status made = state->make_rings(options); !made) return made.error();
  if (Status attached = state->programs->attach(); !attached) return attached.error();
  auto tracer = std::unique_ptr<Tracer>(new Tracer(std::move(state)));
  tracer->unsupported_ = tracer->implementation_->programs->left_out();
  tracer->unsupported_.emplace_back(
      "irq_work functions: no tracepoint names them, the irq_work vector is timed as a whole");
  return tracer;
}

void Tracer::detach() { implementation_->programs->detach(); }

Status Tracer::attach() { return implementation_->programs->attach(); }

bool Tracer::callback_ends() const { return implementation_->programs->callback_ends(); }

Arrivals& Tracer::arrivals() { return implementation_->arrivals; }

noised_cpu& Tracer::state(unsigned cpu) { return implementation_->skeleton->bss_cpus->cpu_states[cpu]; }

std::span<volatile std::uint8_t> Tracer::groups() {
  return {implementation_->skeleton->bss_groups->task_groups, implementation_->skeleton->rodata->group_count};
}

std::size_t Tracer::drain(std::size_t index, std::size_t limit, const system::RecordSink& sink) {
  const std::size_t records = implementation_->rings.drain(index, limit, sink);
  implementation_->note_fullness(static_cast<double>(records * sizeof(noised_run_record)) /
                                 static_cast<double>(implementation_->ring_bytes));
  return records;
}

bool Tracer::drain_origins(const system::OriginSink& sink) {
  const bool complete = implementation_->rings.drain_origins(sink);
  implementation_->note_fullness(implementation_->rings.origin_fullness());
  return complete;
}

double Tracer::take_fullness() { return std::exchange(implementation_->fullness, 0); }

system::LostCounters Tracer::lost(unsigned cpu) const {
  const volatile noised_cpu& state = implementation_->skeleton->bss_cpus->cpu_states[cpu];
  return system::LostCounters{state.lost_full, state.lost_nmi, state.lost_depth,
                              state.unpaired,  state.unseen,   implementation_->rings.unfinished(state.ring)};
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

system::MissedRuns Tracer::missed_runs() const { return implementation_->programs->missed_runs(); }

Status Tracer::check_missed_runs() const { return implementation_->programs->check_missed_runs(); }

std::vector<ProgramView> Tracer::programs() const { return implementation_->programs->views(); }

}  // namespace noised::kernel
