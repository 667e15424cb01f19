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

#include "base/monotonic.h"
#include "base/read_file.h"
#include "trace/clock.h"
#include "views/json_parts.h"

namespace noised {
namespace {

using views::Fields;
using views::Json;

constexpr const char* kSchema = "noised.recording/1";

Json cpu_json(const CpuCounts& cpu) {
  Json json{{"cpu", cpu.cpu},
            {"threshold_ns", cpu.threshold_ns},
            {"observed_ns", cpu.observed_ns},
            {"iterations", cpu.iterations},
            {"blind_ns", cpu.blind_ns},
            {"steal_ns", cpu.steal_ns},
            {"steal_step_ns", cpu.steal_step_ns},
            {"smi_count", nullptr},
            {"switches", nullptr}};
  if (cpu.smi_count) json["smi_count"] = *cpu.smi_count;
  if (cpu.switches) json["switches"] = *cpu.switches;
  if (cpu.containment) {
    json["eligible"] = cpu.containment->eligible;
    json["contained"] = cpu.containment->contained;
  }
  return json;
}

void read_cpu(const Fields& fields, CpuCounts& cpu) {
  fields.read("cpu", cpu.cpu);
  fields.read("threshold_ns", cpu.threshold_ns);
  fields.read("observed_ns", cpu.observed_ns);
  fields.read("iterations", cpu.iterations);
  fields.read("blind_ns", cpu.blind_ns);
  fields.read("steal_ns", cpu.steal_ns);
  fields.read("steal_step_ns", cpu.steal_step_ns);
  fields.read("smi_count", cpu.smi_count);
  if (fields.optional("switches") != nullptr) fields.read("switches", cpu.switches);
  if (fields.optional("eligible") == nullptr) return;
  fields.read("eligible", cpu.containment.emplace().eligible);
  fields.read("contained", cpu.containment->contained);
}

Json counts_json(const Counts& counts) {
  Json cpus = Json::array();
  for (const CpuCounts& cpu : counts.cpus) cpus.push_back(cpu_json(cpu));
  return Json{{"eligible", counts.containment.eligible},
              {"contained", counts.containment.contained},
              {"cpus", std::move(cpus)},
              {"clock",
               {{"ticks", counts.clock.ticks},
                {"monotonic_ns", counts.clock.monotonic_ns},
                {"realtime_ns", counts.clock.realtime_ns},
                {"half_width_ticks", counts.clock.half_width_ticks}}},
              {"status", views::status_json(counts.status)}};
}

void read_clock(const Fields& fields, Counts& counts) {
  fields.read("ticks", counts.clock.ticks);
  fields.read("monotonic_ns", counts.clock.monotonic_ns);
  fields.read("realtime_ns", counts.clock.realtime_ns);
  fields.read("half_width_ticks", counts.clock.half_width_ticks);
}

// Recordings from before there was a clock have none.
void read_counts(const Fields& fields, Counts& counts) {
  fields.read("eligible", counts.containment.eligible);
  fields.read("contained", counts.containment.contained);
  fields.each("cpus", [&](const Fields& item) { read_cpu(item, counts.cpus.emplace_back()); });
  if (fields.optional("clock") != nullptr)
    fields.object("clock", [&](const Fields& inner) { read_clock(inner, counts); });
  fields.object("status", [&](const Fields& inner) { views::read_status(inner, counts.status); });
}

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

void subtract(const Containment& from, Containment& to) {
  to.eligible = since(from.eligible, to.eligible);
  to.contained = since(from.contained, to.contained);
}

ReportLost lost_between(const ReportLost& from, const ReportLost& to) {
  ReportLost lost;
  lost.events = since(from.events, to.events);
  lost.detours = since(from.detours, to.detours);
  lost.unpaired = since(from.unpaired, to.unpaired);
  lost.missed_runs = since(from.missed_runs, to.missed_runs);
  lost.incomplete_detours = since(from.incomplete_detours, to.incomplete_detours);
  using Key = std::pair<std::optional<unsigned>, std::string_view>;
  std::map<Key, std::uint64_t> before;
  for (const ReportLoss& loss : from.by) before.emplace(Key(loss.cpu, loss.reason), loss.count);
  for (ReportLoss loss : to.by) {
    const auto found = before.find(Key(loss.cpu, loss.reason));
    if (found != before.end()) loss.count = since(found->second, loss.count);
    if (loss.count != 0) lost.by.push_back(std::move(loss));
  }
  return lost;
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
  Snapshot snapshot;
  bool told = true;
  for (const CpuCounts& cpu : counts.cpus) {
    CpuSnapshot& of = snapshot.cpus.emplace_back();
    of.cpu = cpu.cpu;
    told = told && cpu.containment.has_value();
    of.containment = cpu.containment.value_or(Containment());
  }
  const ReportClock worst = clock_of(snapshot, 0);
  counts.status.clock.containment = told ? worst.containment : counts.containment.share();
  counts.status.clock.containment_cpu = told ? worst.containment_cpu : std::nullopt;
}

}  // namespace

ClockReading read_clocks() {
  const ClockSample sample = read_clock_sample();
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t since_ns = monotonic_ns() - sample.ns;
  // Of the time between the two readings half may be before the second: it is far below what realtime is good for.
  const std::uint64_t real_ns =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  return {sample.ticks, sample.ns, real_ns - since_ns, sample.half_width_ticks};
}

Counts counts_of(const Snapshot& snapshot, const StatusView& settings) {
  Counts counts;
  counts.status = settings;
  counts.status.uptime_ns = snapshot.elapsed_ns;
  counts.status.drain_interval_ns = snapshot.drain_interval_ns;
  counts.status.clock = snapshot.clock;
  counts.status.lost = snapshot.lost;
  counts.status.orphan_intervals = snapshot.orphan_intervals;
  counts.status.programs = snapshot.programs;
  for (const CpuSnapshot& cpu : snapshot.cpus) {
    counts.cpus.push_back({cpu.cpu, cpu.threshold_ns, cpu.observed_ns, cpu.iterations, cpu.blind_ns, cpu.steal_ns,
                           cpu.steal_step_ns, cpu.smi_count, cpu.switches, cpu.containment});
    counts.containment.eligible += cpu.containment.eligible;
    counts.containment.contained += cpu.containment.contained;
  }
  return counts;
}

Counts counts_between(const Counts& from, const Counts& to) {
  Counts between = to;
  between.status.uptime_ns = since(from.status.uptime_ns, to.status.uptime_ns);
  between.status.lost = lost_between(from.status.lost, to.status.lost);
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

std::string to_json(const Counts& counts) { return views::dump(counts_json(counts)); }

Result<Counts> parse_counts(std::string_view json) { return views::parse_as<Counts>(json, "counts", read_counts); }

std::string to_json(const Description& description) {
  return views::dump(Json{{"schema", kSchema},
                          {"start", description.start},
                          {"boot_parameters", description.boot_parameters},
                          {"processor", description.processor},
                          {"quantum_ns", description.quantum_ns},
                          {"work", description.work},
                          {"grain_ns", description.grain_ns},
                          {"footprint_bytes", description.footprint_bytes},
                          {"policy", description.policy},
                          {"priority", description.priority},
                          {"base", counts_json(description.base)}});
}

Result<Description> parse_description(std::string_view json) {
  return views::parse_as<Description>(json, "description", [](const Fields& fields, Description& description) {
    views::expect_schema(fields, kSchema);
    fields.read("start", description.start);
    fields.read("boot_parameters", description.boot_parameters);
    fields.read("processor", description.processor);
    if (fields.optional("quantum_ns") != nullptr) fields.read("quantum_ns", description.quantum_ns);
    if (fields.optional("work") != nullptr) fields.read("work", description.work);
    if (fields.optional("grain_ns") != nullptr) fields.read("grain_ns", description.grain_ns);
    if (fields.optional("footprint_bytes") != nullptr) fields.read("footprint_bytes", description.footprint_bytes);
    if (fields.optional("policy") != nullptr) fields.read("policy", description.policy);
    if (fields.optional("priority") != nullptr) fields.read("priority", description.priority);
    fields.object("base", [&](const Fields& inner) { read_counts(inner, description.base); });
  });
}

void describe_machine(Description& description) {
  if (auto parameters = read_file("/proc/cmdline")) {
    description.boot_parameters = parameters.value().substr(0, parameters.value().find('\n'));
  }
  description.processor = processor_name();
}

}  // namespace noised
