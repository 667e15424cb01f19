// SPDX-License-Identifier: Apache-2.0
// vm_raw CPUS THRESHOLD_NS OUT: measures these CPUs as the daemon does, until SIGTERM, and writes what came to OUT
// before anything was attributed (raw.h). Prints a line once all loops run.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "account/lost_counts.h"
#include "base/clocks.h"
#include "base/cpus.h"
#include "base/files.h"
#include "kernel/tracer.h"
#include "probe/probe.h"
#include "system/clock.h"
#include "system/interrupt_counts.h"
#include "system/steal_clock.h"
#include "vm/raw.h"

using namespace noised;
using namespace noised::account;
using namespace noised::kernel;
using namespace noised::probe;
using namespace noised::system;

namespace {

constexpr std::uint64_t kDrainNs = 20'000'000;
constexpr std::uint64_t kStoringLimitNs = 1'000;  // as the daemon has it
constexpr useconds_t kCalibrationUs = 20'000;
constexpr std::uint64_t kBufferBytes = 1U << 20U;
// Three emulated CPUs bring 1 MB in 5 s; with this, nothing is copied while they are measured.
constexpr std::size_t kRoom = std::size_t{64} << 20U;
constexpr int kLevel = 3;  // the guest is emulated: who keeps the file compresses it again

class Capture {
 public:
  Capture(const std::vector<unsigned>& cpus, std::uint64_t threshold_ns) : cpus_(cpus), threshold_ns_(threshold_ns) {
    bytes_.reserve(kRoom);
  }

  Status start();
  void drain();
  Status finish(const std::string& path);

 private:
  template <typename T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <typename T>
  void put_at(std::size_t place, const T& value) {
    std::memcpy(bytes_.data() + place, &value, sizeof(value));
  }
  Status start_tracer();
  void put_head();
  void put_cpu(std::size_t place, std::string& into);

  std::vector<unsigned> cpus_;
  std::uint64_t threshold_ns_;
  std::string bytes_;
  std::vector<std::string> of_cpus_;
  std::vector<raw::CpuBatch> batches_;
  std::vector<TickDetour> popped_;
  ClockMap clock_;
  std::vector<ClockSample> first_;
  std::unique_ptr<Tracer> tracer_;
  std::optional<InterruptCounts> interrupts_;
  std::vector<std::unique_ptr<Probe>> probes_;  // after the tracer, to whose maps they write
};

raw::Clock plain(const ClockSample& sample) { return {sample.ticks, sample.ns, sample.half_width_ticks}; }

Status Capture::start_tracer() {
  auto possible = possible_cpus();
  if (!possible) return possible.error();
  TracerOptions options;
  options.cpus = cpus_;
  options.possible_cpus = std::size_t{possible.value().back()} + 1;
  options.buffer_bytes = kBufferBytes;
  auto tracer = Tracer::load(options);
  if (!tracer) return tracer.error();
  tracer_ = std::move(tracer).value();
  auto interrupts = InterruptCounts::open(seen_rows(*tracer_));
  if (!interrupts) return interrupts.error();
  interrupts_.emplace(std::move(interrupts).value());
  return success();
}

// In the daemon's order: the clock, the programs, the loops.
Status Capture::start() {
  for (int sample = 0; sample < 2; ++sample) {
    if (sample != 0) usleep(kCalibrationUs);
    first_.push_back(read_clock_sample());
    clock_.add(first_.back());
  }
  if (!clock_.ready()) return failure("the time stamp counter and CLOCK_MONOTONIC do not advance together");
  if (Status started = start_tracer(); !started) return started;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return failure(fmt::format("mlockall: {}", std::strerror(errno)));
  for (const unsigned cpu : cpus_) {
    ProbeOptions options;
    options.cpu = cpu;
    options.threshold_ticks = clock_.to_ticks(threshold_ns_);
    options.storing_limit_ticks = clock_.to_ticks(std::max(threshold_ns_, kStoringLimitNs));
    options.inherits = true;
    auto probe = Probe::create(options, tracer_->state(cpu), SmiCounter());
    if (!probe) return probe.error();
    popped_.reserve(probe.value()->ring().capacity());
    probes_.push_back(std::move(probe).value());
  }
  of_cpus_.resize(cpus_.size());
  batches_.resize(cpus_.size());
  put_head();
  drain();
  for (auto& probe : probes_) {
    if (Status begun = probe->begin(); !begun) return begun;
  }
  return success();
}

void Capture::put_head() {
  raw::Head head;
  head.threshold_ns = threshold_ns_;
  for (std::size_t i = 0; i < head.clocks.size(); ++i) head.clocks[i] = plain(first_[i]);
  std::ranges::copy(cpus_, head.cpus.begin());
  head.cpu_count = static_cast<std::uint32_t>(cpus_.size());
  head.counted_vectors = interrupts_->vectors();
  head.on_hypervisor = is_virtual_machine() ? 1 : 0;
  utsname system{};
  uname(&system);
  std::memcpy(head.kernel.data(), system.release, std::min(std::strlen(system.release), head.kernel.size() - 1));
  put(head);
}

// Progress, gaps, records, state: as the pipeline reads them, so that every record of a gap is there.
void Capture::put_cpu(std::size_t place, std::string& into) {
  Probe& probe = *probes_[place];
  raw::CpuBatch& batch = batches_[place] = {};
  const LoopProgress& progress = probe.progress();
  batch.last_ticks = progress.last_ticks.load(std::memory_order_acquire);
  batch.storing_ticks = progress.storing_ticks.load(std::memory_order_relaxed);
  batch.first_ticks = progress.first_ticks.load(std::memory_order_relaxed);
  batch.iterations = progress.iterations.load(std::memory_order_relaxed);
  popped_.clear();
  probe.ring().pop_all(popped_);
  batch.gaps = static_cast<std::uint32_t>(popped_.size());
  for (const TickDetour& each : popped_) {
    const raw::Gap gap{each.start_ticks, each.end_ticks, static_cast<std::uint64_t>(each.kind)};
    into.append(reinterpret_cast<const char*>(&gap), sizeof(gap));
  }
  const std::size_t gap_bytes = into.size();
  const auto sink = [&](const noised_record& record, const char* comm, const noised_run_record* run) {
    noised_run_record whole{};
    whole.task.record = record;
    if (comm != nullptr) std::memcpy(whole.task.comm, comm, sizeof(whole.task.comm));
    if (run != nullptr) whole = *run;
    const std::size_t size = run != nullptr    ? sizeof(noised_run_record)
                             : comm != nullptr ? sizeof(noised_task_record)
                                               : sizeof(noised_record);
    whole.task.record.size = static_cast<noised_u16>(size);  // the kernel's own rings do not have it there
    into.append(reinterpret_cast<const char*>(&whole), size);
  };
  tracer_->drain(place, kDrainLimit, std::cref(sink));
  batch.record_bytes = static_cast<std::uint32_t>(into.size() - gap_bytes);
  const volatile noised_cpu& state = tracer_->state(cpus_[place]);
  batch.watched = state.watched;
  batch.task_start_ns = state.task_start_ns;
  batch.current_pid = state.current_pid;
  batch.probe_pid = state.probe_pid;
}

void Capture::drain() {
  raw::Batch batch;
  batch.began_ns = monotonic_ns();
  for (std::size_t place = 0; place < cpus_.size(); ++place) {
    of_cpus_[place].clear();
    put_cpu(place, of_cpus_[place]);
  }
  const std::size_t at = bytes_.size();
  put(batch);
  const auto sink = [&](const noised_origin& origin) {
    put(origin);
    ++batch.origins;
  };
  batch.origins_complete = tracer_->drain_origins(std::cref(sink)) ? 1 : 0;
  batch.lost_origins = tracer_->lost_origins();
  batch.missed_runs = tracer_->missed_runs().total();
  for (std::size_t place = 0; place < cpus_.size(); ++place) {
    raw::CpuBatch& cpu = batches_[place];
    const LostCounters lost = tracer_->lost(cpus_[place]);
    cpu.lost_full = lost.full;
    cpu.lost_nmi = lost.nmi;
    cpu.lost_depth = lost.depth;
    cpu.lost_unpaired = lost.unpaired;
    cpu.lost_unseen = lost.unseen;
    cpu.is_away = probes_[place]->is_away() ? 1 : 0;
  }
  batch.clock = plain(read_clock_sample());
  const std::vector<std::uint64_t>& counts = interrupts_->read();
  for (std::size_t place = 0; place < cpus_.size(); ++place) {
    batches_[place].interrupts = cpus_[place] < counts.size() ? counts[cpus_[place]] : 0;
    put(batches_[place]);
    bytes_ += of_cpus_[place];
  }
  batch.ended_ns = monotonic_ns();
  put_at(at, batch);
}

Status Capture::finish(const std::string& path) {
  drain();
  for (auto& probe : probes_) probe->end();
  drain();
  for (const auto& probe : probes_) {
    if (probe->ring().lost() != 0) return failure(fmt::format("CPU {}: the loop's ring was full", probe->cpu()));
  }
  std::string packed(ZSTD_compressBound(bytes_.size()), '\0');
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), bytes_.data(), bytes_.size(), kLevel);
  if (ZSTD_isError(size) != 0) return failure(fmt::format("compress {}: {}", path, ZSTD_getErrorName(size)));
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return failure(fmt::format("open {}: {}", path, std::strerror(errno)));
  const bool written = std::fwrite(packed.data(), 1, size, file) == size;
  if (std::fclose(file) != 0 || !written) return failure(fmt::format("write {}: {}", path, std::strerror(errno)));
  std::fprintf(stderr, "vm_raw: %zu bytes, %zu compressed\n", bytes_.size(), size);
  return success();
}

// All that does not measure is off the CPUs that are measured.
Status stay_off(const std::vector<unsigned>& cpus) {
  auto online = online_cpus();
  if (!online) return online.error();
  std::vector<unsigned> rest = std::move(online).value();
  std::erase_if(rest, [&](unsigned cpu) { return std::ranges::find(cpus, cpu) != cpus.end(); });
  if (rest.empty()) return usage_error("every CPU is measured", "leave one for all that is not");
  const CpuSet set(rest);
  if (sched_setaffinity(0, set.bytes(), set.get()) == 0) return success();
  return failure(fmt::format("sched_setaffinity: {}", std::strerror(errno)));
}

Status run(const std::string& list, const std::string& threshold, const std::string& path) {
  const auto cpus = parse_cpu_list(list);
  if (!cpus) return cpus.error();
  if (cpus.value().empty() || cpus.value().size() > raw::kMostCpus) return usage_error("one to 8 CPUs", "");
  std::uint64_t threshold_ns = 0;
  std::from_chars(threshold.data(), threshold.data() + threshold.size(), threshold_ns);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  if (Status off = stay_off(cpus.value()); !off) return off;
  Capture capture(cpus.value(), threshold_ns);
  if (Status started = capture.start(); !started) return started;
  std::puts("measuring");
  std::fflush(stdout);
  const timespec interval{0, static_cast<long>(kDrainNs)};
  while (sigtimedwait(&ends, nullptr, &interval) < 0) capture.drain();
  return capture.finish(path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: vm_raw CPUS THRESHOLD_NS OUT\n", stderr);
    return static_cast<int>(ExitCode::usage);
  }
  const Status done = run(argv[1], argv[2], argv[3]);
  if (done) return EXIT_SUCCESS;
  std::fprintf(stderr, "vm_raw: %s\n", done.error().line().c_str());
  return EXIT_FAILURE;
}
