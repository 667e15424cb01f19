// SPDX-License-Identifier: Apache-2.0
// Running the pipeline inside a test.
#include "measurement.h"

#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "account/report_builder.h"
#include "base/cpus.h"
#include "noised/low_noise.h"

namespace noised::live {
using namespace noised::account;
using namespace noised::daemon;
using namespace noised::kernel;
using namespace noised::pipeline;
using namespace noised::probe;
using namespace noised::system;

namespace {

constexpr std::chrono::milliseconds kDrainInterval{25};

// The daemon may lose detours to its feed (not to its report): a host was seen to make 100,000 a second. A test needs
// them all, for as long as a drain may come late: 28 MB hold them for 160 ms at that rate.
constexpr std::size_t kFeedSize = 16'384;

constexpr std::uint64_t kThresholdNs = 200;
constexpr std::uint64_t kEmulatedThresholdNs = 5'000;

std::vector<unsigned> all_but(const std::vector<unsigned>& cpus) {
  std::vector<unsigned> others;
  for (const unsigned online : online_cpus().value()) {
    if (std::ranges::find(cpus, online) == cpus.end()) others.push_back(online);
  }
  return others;
}

}  // namespace

// The signature of the hypervisor leaf says so.
bool is_emulated() {
  unsigned highest = 0;
  std::array<unsigned, 3> name{};
  __cpuid(0x40000000, highest, name[0], name[1], name[2]);
  return std::memcmp(name.data(), "TCGTCGTCGTCG", sizeof(name)) == 0;
}

std::vector<unsigned> measured_cpus() {
  if (geteuid() != 0) SKIP("loading BPF programs needs root");
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) SKIP("this kernel has no BTF");
  std::vector<unsigned> online = online_cpus().value();
  if (online.size() < 2) SKIP("one CPU only: none is left for housekeeping");
  online.erase(online.begin());
  return online;
}

unsigned probed_cpu() {
  const std::vector<unsigned> measured = measured_cpus();
  const char* const wanted = std::getenv("NOISED_TEST_CPU");
  if (wanted == nullptr) return measured.back();
  const auto cpu = static_cast<unsigned>(std::stoul(wanted));
  if (std::ranges::find(measured, cpu) == measured.end())
    FAIL("NOISED_TEST_CPU=" << wanted << ": give a CPU that is online, but not the lowest");
  return cpu;
}

bool has_tick(unsigned cpu) {
  const auto quiet = nohz_full_cpus();
  return !quiet || std::ranges::find(quiet.value(), cpu) == quiet.value().end();
}

Measurement::Measurement(const std::vector<unsigned>& cpus, const MeasurementOptions& options) : cpus_(cpus) {
  for (const unsigned cpu : cpus_) quiet_.emplace_back(cpu);
  keep_heap();
  const std::uint64_t usual_ns = is_emulated() ? kEmulatedThresholdNs : kThresholdNs;
  const std::uint64_t threshold_ns = options.threshold_ns.value_or(usual_ns);
  REQUIRE(confine_to(all_but(cpus_)).ok());
  clock_.add(read_clock_sample());
  rest(20);
  REQUIRE(clock_.add(read_clock_sample()));
  TracerOptions tracer_options;
  tracer_options.cpus = cpus_;
  tracer_options.possible_cpus = possible_cpus().value().back() + 1U;
  tracer_options.buffer_bytes = options.buffer_bytes;
  tracer_options.btf = options.btf;
  tracer_options.spoil = options.spoil;
  tracer_options.watching.callback_ends = options.callback_ends;
  auto tracer = Tracer::load(tracer_options);
  if (!tracer) FAIL(tracer.error().line());
  tracer_ = std::move(tracer).value();
  names_.emplace(sources_, Kallsyms::open());
  std::vector<MeasuringLoop*> loops;
  for (const unsigned cpu : cpus_) {
    ProbeOptions probe_options;
    probe_options.cpu = cpu;
    probe_options.fifo = options.fifo;
    probe_options.threshold_ticks = clock_.to_ticks(threshold_ns);
    probe_options.storing_limit_ticks = clock_.to_ticks(1000);
    auto probe = Probe::create(probe_options, tracer_->state(cpu), SmiCounter::open(cpu));
    if (!probe) FAIL(probe.error().line());
    loops.push_back(probes_.emplace_back(std::move(probe).value()).get());
  }
  PipelineOptions pipeline_options;
  pipeline_options.threshold_ns = threshold_ns;
  pipeline_options.feed_size = kFeedSize;
  pipeline_ = std::make_unique<Pipeline>(*tracer_, loops, clock_, sources_, *names_, pipeline_options);
}

Measurement::~Measurement() { probes_.clear(); }

void Measurement::begin() {
  for (const auto& probe : probes_) {
    const Status begun = probe->begin();
    if (!begun) FAIL(begun.error().line());
  }
}

void Measurement::rest(std::uint64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void Measurement::run(std::uint64_t milliseconds, const std::function<void()>& meanwhile) {
  std::atomic<bool> done{!meanwhile};
  std::optional<std::jthread> beside;
  if (meanwhile) {
    beside.emplace([&] {
      meanwhile();
      done.store(true);
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (std::chrono::steady_clock::now() < end || !done.load()) {
    std::this_thread::sleep_for(kDrainInterval);
    pipeline_->drain();
    collect();
  }
}

void Measurement::end() {
  for (const auto& probe : probes_) probe->end();
}

Report Measurement::report() {
  if (!finished_) pipeline_->finish();
  finished_ = true;
  collect();
  Snapshot snapshot;
  pipeline_->fill(snapshot);
  Report report = build_report(snapshot, sources_, RunDescription{});
  for (const ReportCpu& cpu : report.cpus) {
    REQUIRE(cpu.explained_ns + cpu.overhead_ns + cpu.hypervisor_ns + cpu.hardware_ns + cpu.unexplained_ns ==
            cpu.detour_ns);
    REQUIRE(cpu.detour_ns < cpu.observed_ns);
  }
  return report;
}

void Measurement::collect() {
  const DetourFeed::Batch batch = pipeline_->feed().read(next_detour_, 2 * kFeedSize);
  next_detour_ = batch.next;
  feed_lost_ += batch.lost;
  for (const FeedDetour& detour : batch.detours) {
    detours_.push_back(to_view(detour, sources_));
    std::uint64_t sum = detours_.back().overhead_ns;
    for (const DetourEntryView& entry : detours_.back().entries) sum += entry.self_ns;
    REQUIRE(sum == detours_.back().duration_ns);
  }
}

std::uint64_t Measurement::orphans() {
  Snapshot snapshot;
  pipeline_->fill(snapshot);
  return snapshot.orphan_intervals;
}

int Measurement::probe_tid() { return static_cast<int>(tracer_->state(cpus_.front()).probe_pid); }

Seen seen(const Report& report, const std::string& kind, const std::string& name) {
  Seen sum;
  for (const ReportSource& source : report.sources) {
    if (source.kind != kind || source.name != name) continue;
    sum.count += source.count;
    sum.total_ns += source.total_ns;
  }
  return sum;
}

ReportCpu cpu_of(const Report& report, unsigned cpu) {
  const auto found = std::ranges::find(report.cpus, cpu, &ReportCpu::cpu);
  REQUIRE(found != report.cpus.end());
  return *found;
}

std::uint64_t end_of(const DetourView& detour) { return detour.start_ns + detour.duration_ns; }

bool is_vague(const DetourView& detour) {
  return std::ranges::any_of(detour.entries, [](const DetourEntryView& entry) { return entry.name == "other"; });
}

std::string own_task(unsigned cpu) { return "only-cpu" + std::to_string(cpu); }

}  // namespace noised::live
