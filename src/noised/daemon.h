// SPDX-License-Identifier: Apache-2.0
// The daemon: everything that runs, in the order in which it starts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "account/report_builder.h"
#include "base/cpus.h"
#include "base/result.h"
#include "kernel/begin_watching.h"
#include "model/views.h"
#include "noised/api/watch_stream.h"
#include "noised/api/web.h"
#include "noised/drain_priority.h"
#include "noised/exchanges.h"
#include "noised/http/http_server.h"
#include "noised/http/unix_socket.h"
#include "noised/log.h"
#include "noised/options.h"
#include "noised/phase_runs.h"
#include "noised/stepping_aside.h"
#include "noised/ticker.h"
#include "pipeline/pipeline.h"
#include "recording/recorder.h"
#include "recording/recording_file.h"
#include "system/clock.h"
#include "system/interrupt_counts.h"
#include "system/steal_clock.h"

namespace noised::daemon {

class Daemon {
 public:
  /// Chooses CPUs, listens, loads, attaches, gives up its privileges and starts measuring. The stop signals are blocked
  /// already (ticker.h), and no other thread runs. Whatever fails, nothing is left behind.
  static Result<std::unique_ptr<Daemon>> start(const Options& options, Log& log);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Measures until the duration is over or SIGINT or SIGTERM comes.
  Status run();
  /// Ends the measurement and gives the report of all of it; fails where it could not be recorded as asked.
  Result<Report> finish();

 private:
  Daemon(const Options& options, Log& log);
  Status take_cpus();
  void watch_instead(const AllowedCpus& allowed);
  void leave_out_hogged();
  void tell_of_other_loops();
  Status create_recording();
  void remove_recording();
  Status listen();
  Status listen_for_metrics(const std::string& wanted);
  Status start_clock();
  Status start_tracer();
  Status start_steal_clock();
  [[nodiscard]] std::optional<std::string> why_steal_is_unproven() const;
  void start_interrupt_counts();
  Status drop_privileges();
  void close_file_system();
  Status start_probes();
  Status choose_priority();
  Status start_watching();
  Status start_aside();
  Status watch(const std::vector<unsigned>& cpus);
  [[nodiscard]] bool has_loops() const { return options_.config.mode != Mode::watch; }
  [[nodiscard]] bool watches_tasks() const { return options_.config.mode != Mode::probe; }
  Status plan_phases();
  Status wait_for_phases();
  void start_pipeline();
  Status start_server();
  void choose_pace(Ticker& ticker);
  ReloadOutcome reload(Ticker& ticker);
  ReloadOutcome read_configuration();
  void tell_of_absence(std::uint64_t now_ns);
  bool tell_of_offline(std::uint64_t now_ns);
  bool begin_late(unsigned cpu);
  [[nodiscard]] bool note_away(unsigned cpu, bool away);
  void look_at_clock_source(std::uint64_t now_ns);
  void stay_on_housekeeping();
  [[nodiscard]] std::vector<unsigned> seen_cpus() const;
  [[nodiscard]] bool rests() const { return options_.config.duty_percent < 100 || steps_aside(); }
  [[nodiscard]] bool steps_aside() const { return options_.config.mode == Mode::turns; }
  [[nodiscard]] std::string measuring() const;
  void describe();

  Options options_;
  std::string watched_instead_;  // CPUs, as watching_instead() says; empty: it does not
  Log& log_;
  CpuChoice cpus_;
  Descriptor last_report_;        // to be written at the end, where systemd has a place for it
  std::vector<unsigned> others_;  // watched besides those that have a loop: mode auto
  bool is_virtual_;
  SourceTable sources_;
  account::RunDescription run_;
  StatusView settings_;
  system::ClockMap clock_;
  system::ClockSourceWatch clock_source_;
  std::uint64_t clock_source_due_ns_ = 0;
  std::uint64_t online_due_ns_ = 0;
  std::map<unsigned, kernel::Visiting> late_visits_;  // by CPU
  std::vector<unsigned> unwatched_;                   // of those to be watched, since they were offline at the start
  std::optional<DrainPriority> drain_priority_;       // where service.realtime asks for it
  std::optional<UnixSocket> socket_;
  std::optional<Descriptor> web_socket_;
  std::string web_address_;
  std::unique_ptr<kernel::Tracer> tracer_;
  std::optional<system::Names> names_;
  std::optional<system::StealClock> steal_clock_;
  std::optional<system::InterruptCounts> interrupts_;
  std::vector<system::SmiCounter> smi_counters_;       // of the probed CPUs, until their probes take them
  std::vector<unsigned> away_;                         // CPUs that nobody saw at the last look, rising
  std::vector<std::unique_ptr<probe::Probe>> probes_;  // before the tracer goes: their state is in its maps
  PhasePlan plan_;                                     // of the phases that run from the start, if any
  std::unique_ptr<pipeline::Pipeline> pipeline_;
  std::optional<recording::BlockWriter> recording_writer_;  // until the recording begins
  std::unique_ptr<recording::Recorder> recorder_;
  std::unique_ptr<recording::RecordingFile> recording_;
  std::unique_ptr<Web> web_;
  ReloadExchange reloads_;
  PhaseExchange phases_;
  std::unique_ptr<PhaseRuns> phase_runs_;
  std::unique_ptr<SteppingAside> aside_;
  DrainPace pace_;
  std::uint64_t ticks_every_ns_ = 0;
  WatchSessions watch_sessions_;
  std::optional<NameRule> name_rule_;
  std::optional<WatchPlace> watch_place_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace noised::daemon
