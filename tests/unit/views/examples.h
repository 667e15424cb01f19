// SPDX-License-Identifier: Apache-2.0
// One example of each view, with every field set to something of its own.
#pragma once

#include "model/report.h"
#include "model/views.h"

namespace noised::examples {

inline Report report() {
  Report report;
  report.host = "node1";
  report.kernel = "6.18.0";
  report.start = "2025-01-02T03:04:05Z";
  report.elapsed_ns = 10'000'000'000;
  report.clock = {"tsc", 25, 0.9999, 1};
  report.unsupported = {"page_fault duration: fentry refused by kernel"};
  ReportCpu cpu;
  cpu.cpu = 1;
  cpu.mode = "probe";
  cpu.observed_ns = 9'999'000'000;
  cpu.iterations = 1'000'000'000;
  cpu.threshold_ns = 200;
  cpu.detours = 2510;
  cpu.detour_ns = 9'100'000;
  cpu.max_detour_ns = 2'000'000;
  cpu.explained_ns = 6'000'000;
  cpu.overhead_ns = 1'000'000;
  cpu.hypervisor_ns = 2'000'000;
  cpu.hardware_ns = 60'000;
  cpu.unexplained_ns = 40'000;
  cpu.blind_ns = 5'000;
  cpu.steal_ns = 1'990'000;
  cpu.steal_step_ns = 1;
  cpu.steal_source = "ticks";
  cpu.smi_count = 3;
  cpu.containment = 0.9999;
  report.cpus = {cpu};
  report.sources = {{1, "periodic", "vector", "local_timer", 2500, 5'250'000, 1800, 2100, 9000, 310, 0.5},
                    {1, "preemption", "task", "crond", 2, 750'000, 300'000, 375'000, 450'000, 75'000, 0.0824}};
  report.combinations = {{{"vector:local_timer", "softirq:TIMER"}, 2400, 5'000'000, 12'000, 1900, 2083, 400}};
  return report;
}

inline DetourView detour() {
  DetourView detour;
  detour.cpu = 1;
  detour.start_ns = 12'345'678'901;
  detour.duration_ns = 4210;
  detour.entries = {{"vector", "local_timer", 2100, 0, {}},
                    {"softirq", "TIMER", 800, 0, {}},
                    {"timer", "delayed_work_timer_fn", 200, 1, {}},
                    {"task", "crond", 210, 0, {{"pid", "42"}, {"split", "true"}}}};
  detour.overhead_ns = 900;
  return detour;
}

inline HistogramView histogram() {
  HistogramView histogram;
  histogram.relative_error = 0.015625;
  histogram.series = {{1, "", "", "", 9, {{512, 519, 7}, {520, 527, 1}, {2048, 2079, 1}}},
                      {1, "periodic", "vector", "local_timer", 1, {{0, 0, 1}}}};
  return histogram;
}

inline StatusView status() {
  StatusView status;
  status.version = "0.1.0";
  status.host = "node1";
  status.kernel = "6.18.0";
  status.pid = 77;
  status.uptime_ns = 90'000'000'000;
  status.probe_cpus = "1";
  status.housekeeping_cpus = "0";
  status.nice = -10;
  status.detail = "normal";
  status.realtime = {50, 25};
  status.entry_cost = {"known", 6500, 340};
  status.policy = "other";
  status.threshold_ns = 200;
  status.buffer_bytes = 1048576;
  status.drain_interval_ns = 10'000'000;
  status.clock = {"tsc", 25, {}, {}};
  status.lost = {1, 2, 3, 4, 5, {{1, "ring_full", 7}, {std::nullopt, "missed_run", 4}}};
  status.orphan_intervals = 6;
  status.programs = {{"local_timer_entry", "vector", "tp_btf", 0, 100, 8000}, {"csd_entry", "csd", "", 0, 0, 0}};
  status.unsupported = {"csd: no such tracepoint"};
  return status;
}

}  // namespace noised::examples
