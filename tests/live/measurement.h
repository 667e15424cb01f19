// SPDX-License-Identifier: Apache-2.0
// A measurement in the test's own process, so that a test can read the kernel's counters at its very edges.
#pragma once

#include "model/report.h"
#include "model/views.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/tracer.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "quiet_cpu.h"

namespace noised::live {

using namespace noised::kernel;
using namespace noised::pipeline;
using namespace noised::probe;
using namespace noised::system;

/// All CPUs that can be measured here: all online but the lowest, which is for everything else. Skips the test when
/// there is none, or when this process may not load BPF programs.
std::vector<unsigned> measured_cpus();
/// The one of them that tests of a single CPU measure: the last, or what NOISED_TEST_CPU says.
unsigned probed_cpu();

/// Whether QEMU runs this machine without the help of hardware, everything some thirty times more slowly.
bool is_emulated();

/// False for a nohz_full CPU: it has no timer interrupts while the loop alone runs there, and often no interval at all.
bool has_tick(unsigned cpu);

struct MeasurementOptions {
  std::optional<std::string> btf;
  bool fifo = false;
  std::optional<std::uint64_t> threshold_ns;  ///< 200, or 5000 where the machine is emulated: there the loop itself is
                                              ///< seldom below a microsecond, and every iteration would be a detour
  std::vector<std::string> spoil;             ///< as TracerOptions::spoil
  bool callback_ends = false;                 ///< as in Watching
  std::uint64_t buffer_bytes = std::uint64_t{2} << 20U;  ///< of the CPU's ring; a power of two
};

/// Everything that noised runs but its HTTP server. Fails the test when a part does not start.
class Measurement {
 public:
  explicit Measurement(unsigned cpu, const MeasurementOptions& options = {})
      : Measurement(std::vector<unsigned>{cpu}, options) {}
  /// The same with a loop on each of these CPUs.
  explicit Measurement(const std::vector<unsigned>& cpus, const MeasurementOptions& options = {});
  ~Measurement();
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  /// Starts the loop; returns as soon as it runs.
  void begin();
  /// Drains every 25 ms for this long, while `meanwhile` (if any) runs in a thread of its own, to its end.
  void run(std::uint64_t milliseconds, const std::function<void()>& meanwhile = {});
  /// Lets time pass without draining.
  static void rest(std::uint64_t milliseconds);
  /// Ends the loop.
  void end();
  /// Everything measured, after end(); checks the ledger's identity.
  Report report();
  /// Every detour that run() drained, oldest first; each was checked to add up.
  [[nodiscard]] const std::vector<DetourView>& detours() const { return detours_; }
  /// Detours counted in the report but missing from detours(): more in one drain than the feed holds.
  [[nodiscard]] std::uint64_t feed_lost() const { return feed_lost_; }
  [[nodiscard]] std::uint64_t orphans();
  /// Of the first CPU's loop.
  [[nodiscard]] int probe_tid();
  [[nodiscard]] Tracer& tracer() { return *tracer_; }

 private:
  std::vector<unsigned> cpus_;
  std::deque<QuietCpu> quiet_;
  SourceTable sources_;
  ClockMap clock_;
  std::unique_ptr<Tracer> tracer_;
  std::optional<Names> names_;
  std::vector<std::unique_ptr<Probe>> probes_;
  std::unique_ptr<Pipeline> pipeline_;
  void collect();

  std::uint64_t feed_lost_ = 0;
  std::vector<DetourView> detours_;
  std::uint64_t next_detour_ = 0;
  bool finished_ = false;
};

/// Count and total of a source in a report; zeros when it is not there.
struct Seen {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
};
Seen seen(const Report& report, const std::string& kind, const std::string& name);

/// What a report says of this CPU; fails the test when it says nothing.
ReportCpu cpu_of(const Report& report, unsigned cpu);

/// CLOCK_MONOTONIC.
std::uint64_t end_of(const DetourView& detour);
/// Whether it has more sources than are told one by one.
bool is_vague(const DetourView& detour);

/// The name of the task that a test has on this CPU alone.
std::string own_task(unsigned cpu);

}  // namespace noised::live
