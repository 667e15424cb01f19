// SPDX-License-Identifier: Apache-2.0
// Writing and reading the words of a recording.
#include "recording/description.h"

#include <cpuid.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "base/clocks.h"
#include "base/files.h"
#include "model/json_parts.h"
#include "system/clock.h"

namespace noised::recording {
namespace {

constexpr auto kCpuCountsFields = [](auto& cpu, const auto& field) {
  field("cpu", cpu.cpu);
  field("threshold_ns", cpu.threshold_ns);
  field("observed_ns", cpu.observed_ns);
  field("iterations", cpu.iterations);
  field("blind_ns", cpu.blind_ns);
  field("steal_ns", cpu.steal_ns);
  field("steal_step_ns", cpu.steal_step_ns);
  if (field.has("steal_source", cpu.steal_source)) field("steal_source", cpu.steal_source);
  field("smi_count", cpu.smi_count);
  field.later("switches", cpu.switches);
  if (field.has("eligible", cpu.containment)) {
    field("eligible", cpu.containment->eligible);
    field("contained", cpu.containment->contained);
  }
};

constexpr auto kClockReadingFields = [](auto& clock, const auto& field) {
  field("ticks", clock.ticks);
  field("monotonic_ns", clock.monotonic_ns);
  field("realtime_ns", clock.realtime_ns);
  field("half_width_ticks", clock.half_width_ticks);
};

constexpr auto kRecordedCountsFields = [](auto& counts, const auto& field) {
  field("eligible", counts.containment.eligible);
  field("contained", counts.containment.contained);
  field("cpus", counts.cpus, kCpuCountsFields);
  field.later("clock", counts.clock, kClockReadingFields);
  field("status", counts.status, kStatusFields);
};

constexpr auto kDescriptionFields = [](auto& description, const auto& field) {
  field.schema("noised.recording/1");
  field("start", description.start);
  field("boot_parameters", description.boot_parameters);
  field("processor", description.processor);
  field.later("quantum_ns", description.quantum_ns);
  field.later("work", description.work);
  field.later("grain_ns", description.grain_ns);
  field.later("footprint_bytes", description.footprint_bytes);
  field.later("policy", description.policy);
  field.later("priority", description.priority);
  field("base", description.base, kRecordedCountsFields);
};

// Not from /proc/cpuinfo: reading that interrupts every CPU on some kernels, for its frequency.
std::string processor_name() {
  std::array<unsigned, 12> name{};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* const part = name.data() + std::size_t{4} * leaf;
    if (__get_cpuid(0x80000002U + leaf, part, part + 1, part + 2, part + 3) == 0) return {};
  }
  const auto* text = reinterpret_cast<const char*>(name.data());
  return {text, strnlen(text, sizeof(name))};
}

// A count of an older state is never above that of a newer one; a file may say otherwise.
std::uint64_t since(std::uint64_t from, std::uint64_t to) { return to - std::min(from, to); }

void subtract(const account::Containment& from, account::Containment& to) {
  to.eligible = since(from.eligible, to.eligible);
  to.contained = since(from.contained, to.contained);
}

void subtract(const CpuCounts& from, CpuCounts& to) {
  to.observed_ns = since(from.observed_ns, to.observed_ns);
  to.iterations = since(from.iterations, to.iterations);
  to.blind_ns = since(from.blind_ns, to.blind_ns);
  to.steal_ns = since(from.steal_ns, to.steal_ns);
  if (from.switches && to.switches) to.switches = since(*from.switches, *to.switches);
  if (from.containment && to.containment) subtract(*from.containment, *to.containment);
}

// Of the CPU where it is worst; an old recording of several CPUs tells only that of all.
void tell_containment(Counts& counts) {
  if (counts.cpus.size() == 1) counts.cpus[0].containment = counts.containment;
  account::Snapshot snapshot;
  bool told = true;
  for (const CpuCounts& cpu : counts.cpus) {
    account::CpuSnapshot& of = snapshot.cpus.emplace_back();
    of.cpu = cpu.cpu;
    told = told && cpu.containment.has_value();
    of.containment = cpu.containment.value_or(account::Containment());
  }
  const ReportClock worst = account::clock_of(snapshot, 0);
  counts.status.clock.containment = told ? worst.containment : counts.containment.share();
  counts.status.clock.containment_cpu = told ? worst.containment_cpu : std::nullopt;
}

}  // namespace

ClockReading read_clocks() {
  const system::ClockSample sample = system::read_clock_sample();
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t since_ns = monotonic_ns() - sample.ns;
  // Of the time between the two readings half may be before the second: it is far below what realtime is good for.
  const std::uint64_t real_ns =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  return {sample.ticks, sample.ns, real_ns - since_ns, sample.half_width_ticks};
}

Counts counts_of(const account::Snapshot& snapshot, const StatusView& settings) {
  Counts counts;
  counts.status = settings;
  counts.status.uptime_ns = snapshot.elapsed_ns;
  counts.status.drain_interval_ns = snapshot.drain_interval_ns;
  counts.status.clock = snapshot.clock;
  counts.status.lost = snapshot.lost;
  counts.status.orphan_intervals = snapshot.orphan_intervals;
  counts.status.programs = snapshot.programs;
  for (const account::CpuSnapshot& cpu : snapshot.cpus) {
    counts.cpus.push_back({cpu.cpu, cpu.threshold_ns, cpu.observed_ns, cpu.iterations, cpu.blind_ns, cpu.steal_ns,
                           cpu.steal_step_ns, cpu.steal_source, cpu.smi_count, cpu.switches, cpu.containment});
    counts.containment.eligible += cpu.containment.eligible;
    counts.containment.contained += cpu.containment.contained;
  }
  return counts;
}

Counts counts_between(const Counts& from, const Counts& to) {
  Counts between = to;
  between.status.uptime_ns = since(from.status.uptime_ns, to.status.uptime_ns);
  between.status.lost = account::lost_between(from.status.lost, to.status.lost);
  between.status.orphan_intervals = since(from.status.orphan_intervals, to.status.orphan_intervals);
  subtract(from.containment, between.containment);
  for (std::size_t i = 0; i < between.cpus.size() && i < from.cpus.size(); ++i) {
    // Counted from the start of the daemon, and known at its end only.
    if (from.cpus[i].observed_ns != 0) between.cpus[i].smi_count.reset();
    subtract(from.cpus[i], between.cpus[i]);
  }
  tell_containment(between);
  for (std::size_t i = 0; i < between.status.programs.size() && i < from.status.programs.size(); ++i) {
    ProgramView& program = between.status.programs[i];
    const ProgramView& before = from.status.programs[i];
    program.missed = since(before.missed, program.missed);
    program.runs = since(before.runs, program.runs);
    program.run_ns = since(before.run_ns, program.run_ns);
  }
  return between;
}

std::string to_json(const Counts& counts) { return dump(fields_json(counts, kRecordedCountsFields)); }

Result<Counts> parse_counts(std::string_view json) { return parse_as<Counts>(json, "counts", kRecordedCountsFields); }

std::string to_json(const Description& description) { return dump(fields_json(description, kDescriptionFields)); }

Result<Description> parse_description(std::string_view json) {
  return parse_as<Description>(json, "description", kDescriptionFields);
}

void describe_machine(Description& description) {
  if (auto parameters = read_file("/proc/cmdline")) {
    description.boot_parameters = parameters.value().substr(0, parameters.value().find('\n'));
  }
  description.processor = processor_name();
}

}  // namespace noised::recording
