// SPDX-License-Identifier: Apache-2.0
// What the main thread does once everything runs: drain, reload, tell what is not measured, stop.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/clocks.h"
#include "base/cpus.h"
#include "noised/daemon.h"
#include "noised/last_report.h"
#include "noised/systemd.h"

namespace noised::daemon {
namespace {

constexpr std::uint64_t kLastTakeNs = 2'000'000'000;
constexpr std::uint64_t kClockSourceNs = 1'000'000'000;
constexpr std::uint64_t kOnlineNs = 1'000'000'000;

}  // namespace

Status Daemon::run() {
  TickerOptions options;
  options.interval_ns = ticks_every_ns_ = options_.config.drain_interval_ns;
  options.duration_ns = options_.duration_ns;
  options.asked_descriptor = pipeline_->snapshots().asked_descriptor();
  // Without a file there is nothing to read again: then the terminal it was started on is gone.
  options.reload_on_hangup = !options_.duration_ns && !options_.config_file.empty();
  auto ticker = Ticker::create(options);
  if (!ticker) return ticker.error();
  Watchdog watchdog;
  notify_ready(measuring());
  while (true) {
    auto tick = ticker.value().wait();
    if (!tick) return tick.error();
    if (tick.value() == Tick::stop) break;
    if (tick.value() == Tick::reload) (void)reload(ticker.value());
    if (reloads_.wanted()) reloads_.answer(reload(ticker.value()));
    if (watch_sessions_.take_asked()) pipeline_->want_steal();
    pipeline_->drain();
    if (pipeline_->tasks() != nullptr) watch_sessions_.step(*pipeline_->tasks(), monotonic_ns());
    choose_pace(ticker.value());
    if (aside_ != nullptr) aside_->step(*pipeline_->tasks(), monotonic_ns());
    phase_runs_->step();
    recorder_->after_drain(*pipeline_);
    server_->wake();  // one atomic load unless somebody follows detours
    tell_of_absence(monotonic_ns());
    look_at_clock_source(monotonic_ns());
    if (drain_priority_) drain_priority_->after_drain(monotonic_ns());
    watchdog.alive(monotonic_ns());
  }
  notify_stopping();
  if (drain_priority_) drain_priority_->end();
  pipeline_->snapshots().close();
  reloads_.close();
  phases_.close();
  return success();
}

// Where loops measure, the daemon has CPUs of its own.
void Daemon::choose_pace(Ticker& ticker) {
  if (has_loops()) return;
  const unsigned factor = pace_.next(pipeline_->take_fullness());
  const std::uint64_t interval_ns = options_.config.drain_interval_ns * (watch_sessions_.wanted() ? 1 : factor);
  if (std::exchange(ticks_every_ns_, interval_ns) != interval_ns) ticker.set_interval(interval_ns);
}

// A loop that is not on its CPU comes back by itself: until then, nobody sees that CPU.
void Daemon::tell_of_absence(std::uint64_t now_ns) {
  bool changed = false;
  for (const auto& probe : probes_) {
    const bool away = probe->is_away();
    if (!note_away(probe->cpu(), away)) continue;
    changed = true;
    if (away) {
      log_.warning(
          "CPU {} is not measured: it is offline, or out of noised's cpuset; until it is back, its time is blind",
          probe->cpu());
    } else {
      log_.info("CPU {} is measured again", probe->cpu());
    }
  }
  if (changed) stay_on_housekeeping();
  changed |= tell_of_offline(now_ns);
  if (changed) notify_status(measuring());
}

// False: that was known.
bool Daemon::note_away(unsigned cpu, bool away) {
  const auto at = std::ranges::lower_bound(away_, cpu);
  if (away == (at != away_.end() && *at == cpu)) return false;
  if (away) {
    away_.insert(at, cpu);
  } else {
    away_.erase(at);
  }
  return true;
}

// Where tasks are watched, nothing of it is lost: they go on elsewhere. Tells whether anything changed.
bool Daemon::tell_of_offline(std::uint64_t now_ns) {
  const std::vector<unsigned>& watched = has_loops() ? others_ : cpus_.probe;
  if (watched.empty() || now_ns < online_due_ns_) return false;
  online_due_ns_ = now_ns + kOnlineNs;
  const auto online = online_cpus();
  if (!online) return false;
  bool changed = false;
  for (const unsigned cpu : watched) {
    const bool away = !std::ranges::binary_search(online.value(), cpu) || !begin_late(cpu);
    if (!note_away(cpu, away)) continue;
    changed = true;
    if (away) {
      log_.warning("CPU {} is offline: no task runs there until it is back", cpu);
    } else {
      log_.info("CPU {} is watched again", cpu);
    }
  }
  return changed;
}

// Once it is there, a CPU that was offline at the start is visited, without waiting: a real-time task may have all of
// it. False: not yet.
bool Daemon::begin_late(unsigned cpu) {
  const auto at = std::ranges::find(unwatched_, cpu);
  if (at == unwatched_.end()) return true;
  const auto visit = late_visits_.find(cpu);
  if (visit == late_visits_.end()) {
    auto started = kernel::Visiting::start({{cpu, &tracer_->state(cpu)}});
    if (started) late_visits_.emplace(cpu, std::move(started).value());
    return false;
  }
  const auto ended = visit->second.ended();
  if (!ended) return false;
  late_visits_.erase(visit);
  if (!*ended) return false;
  unwatched_.erase(at);
  return true;
}

// The start refuses where the counter is no clock; while it measures, what was measured before is kept, and it is told.
void Daemon::look_at_clock_source(std::uint64_t now_ns) {
  if (now_ns < clock_source_due_ns_) return;
  clock_source_due_ns_ = now_ns + kClockSourceNs;
  if (!clock_source_.changed()) return;
  pipeline_->note_clock_source();
  const auto source = system::check_clock_source();
  log_.warning("the kernel went over to another clock while noised measures: {}",
               source ? source.value().value_or("it is the time stamp counter again") : source.error().line());
}

// Before Linux 6.2, a cpuset that grows again gives each of its threads all of it.
void Daemon::stay_on_housekeeping() {
  const CpuSet housekeeping(cpus_.housekeeping);
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const pid_t tid = std::stoi(task.path().filename());
    const bool measures = std::any_of(cpus_.probe.begin(), cpus_.probe.end(), [&](unsigned cpu) {
      return tracer_->state(cpu).probe_pid == static_cast<noised_u32>(tid);
    });
    if (!measures) (void)sched_setaffinity(tid, housekeeping.bytes(), housekeeping.get());
  }
}

std::string Daemon::measuring() const {
  const std::string others = others_.empty() ? "" : " and the tasks of CPUs " + format_cpu_list(others_);
  const std::string absent = away_.empty() ? "" : ", but not " + format_cpu_list(away_);
  return fmt::format("{} CPUs {}{}{} from CPUs {}", has_loops() ? "Measuring" : "Watching the tasks of",
                     settings_.probe_cpus, others, absent, settings_.housekeeping_cpus);
}

// No counter is touched. A file with a mistake changes nothing.
ReloadOutcome Daemon::reload(Ticker& ticker) {
  notify_reloading();
  ReloadOutcome outcome = read_configuration();
  if (outcome) {
    const Config& config = options_.config;
    log_.set_level(config.log_level);
    ticks_every_ns_ = config.drain_interval_ns;
    ticker.set_interval(ticks_every_ns_);
    pipeline_->set_drain_interval(config.drain_interval_ns);
    log_.info("reloaded {}", options_.config_file);
    if (!outcome.value().empty()) {
      log_.warning("these settings take effect at the next start only: {}", outcome.value());
    }
  } else {
    log_.error("not reloaded, the old settings stay: {}", outcome.error().line());
  }
  notify_ready(measuring());
  return outcome;
}

// Takes over what can change while it runs; gives the names of the rest.
ReloadOutcome Daemon::read_configuration() {
  if (options_.config_file.empty()) {
    return failure("no configuration file was read at the start", "start noised with --config FILE");
  }
  auto read = options_.read_again();
  if (!read) return read.error();
  if (read.value().config_file.empty()) return failure(options_.config_file + " is gone");
  Config now = read.value().config;
  if (!watched_instead_.empty()) now = watching_instead(now, watched_instead_).value_or(now);
  options_.config.log_level = now.log_level;
  options_.config.drain_interval_ns = now.drain_interval_ns;
  return differences(options_.config, now);
}

Result<Report> Daemon::finish() {
  pipeline_->want_sight();
  pipeline_->drain();
  for (auto& probe : probes_) probe->end();
  pipeline_->finish();
  account::Snapshot snapshot;
  pipeline_->fill(snapshot);
  recorder_->finish(snapshot);
  if (recording_ != nullptr) {
    if (Status written = recording_->finish(); !written) return written.error();
  }
  // A client that records is given time for what is left.
  const std::uint64_t end_ns = monotonic_ns() + kLastTakeNs;
  while (recorder_->waited_for() && monotonic_ns() < end_ns) {
    server_->wake();
    usleep(1'000);
  }
  Report report = account::build_report(snapshot, sources_, run_);
  if (last_report_) {
    if (Status written = write_last_report(last_report_, report); !written) log_.warning("{}", written.error().line());
  }
  return report;
}

}  // namespace noised::daemon
