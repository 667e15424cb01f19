// SPDX-License-Identifier: Apache-2.0
// Creating, starting and ending the measuring thread.
#include "probe/probe.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/files.h"

namespace noised::probe {

std::optional<std::uint64_t> involuntary_switches(pid_t thread) {
  const auto status = read_file(fmt::format("/proc/self/task/{}/status", thread));
  if (!status) return std::nullopt;
  constexpr std::string_view kSwitchesLine = "nonvoluntary_ctxt_switches:\t";
  const std::string_view text = status.value();
  const std::size_t at = text.find(kSwitchesLine);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data() + at + kSwitchesLine.size(), text.data() + text.size(), count);
  return error == std::errc{} ? std::optional(count) : std::nullopt;
}

std::uint64_t own_involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} * 1024;
constexpr int kStartLimitMs = 5000;
constexpr time_t kStopLimitSeconds = 1;
// Soon where it was moved by mistake; a CPU that is offline is so for long.
constexpr long kReturnIntervalMs = 10;
constexpr long kLongReturnIntervalMs = 100;

// Thread attributes with one owner.
class Attributes {
 public:
  Attributes() { pthread_attr_init(&attributes_); }
  ~Attributes() { pthread_attr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  pthread_attr_t* get() { return &attributes_; }

 private:
  pthread_attr_t attributes_{};
};

void sleep_ms(long milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace

Probe::Probe(const ProbeOptions& options, noised_cpu& state, system::SmiCounter smi)
    : options_(options), state_(state), ring_(options.ring_capacity), random_(options.cpu + 1), smi_(std::move(smi)) {
  away_ = options.starts_away;
  change_ = {options.phases, options.fifo, options.priority};
  if (options.phases.grain_ticks != 0) change_state_ = ChangeState::working;
}

Result<std::unique_ptr<Probe>> Probe::create(const ProbeOptions& options, noised_cpu& state, system::SmiCounter smi) {
  std::unique_ptr<Probe> probe(new Probe(options, state, std::move(smi)));
  Attributes attributes;
  const CpuSet cpus({options.cpu});
  pthread_attr_setstacksize(attributes.get(), kStackBytes);
  if (!options.starts_away) pthread_attr_setaffinity_np(attributes.get(), cpus.bytes(), cpus.get());
  if (options.fifo && !options.inherits) {
    const sched_param parameter{options.priority};
    pthread_attr_setinheritsched(attributes.get(), PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(attributes.get(), SCHED_FIFO);
    pthread_attr_setschedparam(attributes.get(), &parameter);
  }
  // Signals are the main thread's: none may interrupt the loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int code = pthread_create(&probe->thread_, attributes.get(), thread_main, probe.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) {
    return failure(fmt::format("pthread_create for CPU {}: {}", options.cpu, std::strerror(code)),
                   options.fifo && code == EPERM ? "SCHED_FIFO needs CAP_SYS_NICE; or use --policy other"
                                                 : "check that the CPU is online and in this process's cpuset");
  }
  probe->running_ = true;
  return probe;
}

Probe::~Probe() { end(); }

// The nice value of who made it is for draining (noised.conf: nice).
void* Probe::thread_main(void* self) {
  auto* const probe = static_cast<Probe*>(self);
  // By itself: another thread's name is written to a file, and files are closed to noised by then.
  pthread_setname_np(pthread_self(), fmt::format("noised/{}", probe->cpu()).c_str());
  (void)setpriority(PRIO_PROCESS, 0, 0);
  probe->measure();
  return nullptr;
}

void Probe::warm_up() const {
  // Once through all the code, with a ring and a progress of its own: every page and branch is warm afterwards.
  DetourRing warm_ring(64);
  LoopProgress warm_progress;
  const std::atomic<bool> once{true};
  const volatile std::uint64_t nobody = 0;
  for (int time = 0; time < 2; ++time) {
    run_detour_loop(warm_ring, warm_progress, once,
                    {options_.cpu, 0, UINT64_MAX, UINT64_MAX, std::min<std::uint64_t>(1, options_.quantum_ticks),
                     options_.work, options_.steps_aside ? &nobody : nullptr});
  }
}

// From user space on the CPU itself: no frame of the kernel's is open at either edge of the watched time.
LoopEnd Probe::watch() {
  auto* state = static_cast<volatile noised_cpu*>(&state_);
  state->current_pid = state->probe_pid;
  state->task_start_ns = 0;
  state->split = 0;
  state->task_flags = 0;
  for (auto& pid : state->woken_here) pid = 0;
  state->depth = 0;
  state->loop_left = 0;
  state->arrived_ns = 0;  // before: whoever comes from now on is told of
  state->watched = NOISED_WATCH_LOOP;
  if (is_aside()) {  // it was sent away on its way in, and wrote over what may be a task's by now
    state->watched = NOISED_WATCH_TASKS;
    return LoopEnd::moved;
  }
  was_away_ = false;
  const LoopEnd end = work_.iterations != 0 ? run_phase_loop(ring_, progress_, stop_, loop_options(), work_)
                                            : run_detour_loop(ring_, progress_, stop_, loop_options());
  // What it leaves to tasks is watched for them, from the moment when one comes.
  if (!options_.steps_aside) state->watched = NOISED_WATCH_NOTHING;
  return end;
}

// What follows is another gap, of another kind.
void Probe::end_gap(GapKind next) {
  const std::uint64_t now = read_tsc();
  if (progress_.seen_ticks != 0) {
    (void)ring_.push(TickDetour{progress_.seen_ticks, now, progress_.gap});
    progress_.seen_ticks = now;
    progress_.last_ticks.store(now, std::memory_order_release);
  }
  progress_.gap = next;
}

// Somebody changed the thread's affinity or the cpuset, or the CPU went offline. A rest is over where the loop would
// return and cannot: from then on nobody sees its CPU.
bool Probe::return_to_cpu() {
  const CpuSet own({options_.cpu});
  for (long interval_ms = kReturnIntervalMs; !ending_.load();
       interval_ms = std::min(2 * interval_ms, kLongReturnIntervalMs)) {
    if (sched_setaffinity(0, own.bytes(), own.get()) == 0 && sched_getcpu() == static_cast<int>(options_.cpu)) {
      away_.store(false, std::memory_order_release);
      return true;
    }
    if (!was_away_ && progress_.gap == GapKind::rested) end_gap(GapKind::moved);
    was_away_ = true;
    away_.store(true, std::memory_order_release);
    sleep_ms(interval_ms);
  }
  return false;
}

void Probe::step_aside(const CpuSet& to) {
  aside_.store(1);
  if (aside_since_ns() != 0) return;
  // Not by a signal: a loop that has lost its CPU need not run to be moved.
  (void)sched_setaffinity(static_cast<pid_t>(state_.probe_pid), to.bytes(), to.get());
}

void Probe::come_back() {
  aside_.store(0);
  (void)syscall(SYS_futex, &aside_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// By itself because a task has come, or sent away.
bool Probe::must_step_aside() {
  if (options_.steps_aside && *arrived() > kNotThere) aside_.store(1);
  return is_aside();
}

// A task that came before the loop was back makes no rest of the time in which the loop was away.
void Probe::wait_aside() {
  if (was_away_) end_gap(GapKind::rested);
  was_away_ = false;
  progress_.gap = GapKind::rested;
  aside_since_ns_.store(monotonic_ns(), std::memory_order_release);
  // Not std::atomic::wait(), which spins and yields first: a task wants this CPU now.
  while (is_aside() && !ending_.load()) (void)syscall(SYS_futex, &aside_, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0);
  aside_since_ns_.store(0, std::memory_order_release);
}

LoopOptions Probe::loop_options() const {
  return {options_.cpu,
          options_.threshold_ticks,
          options_.storing_limit_ticks,
          options_.run_ticks,
          options_.quantum_ticks,
          options_.work,
          options_.steps_aside ? arrived() : nullptr};
}

// Of random length: what comes at regular times must not fall into rests each time, or never.
void Probe::rest() {
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  const auto ns = static_cast<long>(static_cast<double>(options_.rest_ns) * factor(random_));
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&time, nullptr);
}

void Probe::measure() {
  state_.probe_pid = static_cast<noised_u32>(gettid());
  warm_up();
  if (change_state_.load(std::memory_order_acquire) == ChangeState::working) change_over();
  go_.wait(0);
  if (ending_.load()) return;
  if (options_.starts_away && !return_to_cpu()) return;
  const auto smi_before = smi_.read();
  switches_before_.store(own_involuntary_switches(), std::memory_order_release);
  for (LoopEnd end = watch(); end != LoopEnd::stopped || !ending_.load(); end = watch()) {
    if (end == LoopEnd::rest && !is_aside()) rest();
    const bool aside = must_step_aside();
    if (aside) wait_aside();
    if ((end == LoopEnd::moved || aside) && !return_to_cpu()) return;
    if (end == LoopEnd::stopped) change_over();
  }
  const auto smi_after = smi_.read();
  switches_ = own_involuntary_switches() - switches_before_.load();
  if (smi_before && smi_after) smi_count_ = *smi_after - *smi_before - smi_unobserved_;
}

Status Probe::begin() {
  go_.store(1);
  go_.notify_one();
  if (options_.starts_away) return success();
  for (int waited_ms = 0; waited_ms < kStartLimitMs; ++waited_ms) {
    if (progress_.last_ticks.load(std::memory_order_acquire) != 0) return success();
    sleep_ms(1);
  }
  return failure(fmt::format("CPU {} did not run the probe thread within {} s", options_.cpu, kStartLimitMs / 1000),
                 "something with a higher priority holds the CPU; try --policy fifo, or another CPU");
}

std::optional<std::uint64_t> Probe::switches() const {
  if (!running_) return switches_;
  if (progress_.last_ticks.load(std::memory_order_acquire) == 0) return 0;  // it has not begun
  const std::uint64_t before = switches_before_.load(std::memory_order_acquire);
  const auto now = involuntary_switches(static_cast<pid_t>(state_.probe_pid));
  return now && *now >= before ? std::optional(*now - before) : std::nullopt;
}

void Probe::end() {
  if (!running_) return;
  ending_.store(true);
  stop_.store(true);
  go_.store(1);
  go_.notify_one();
  come_back();
  timespec limit{};
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += kStopLimitSeconds;
  if (pthread_timedjoin_np(thread_, nullptr, &limit) != 0) {
    // Something of a higher priority holds the CPU. The measurement is over: let the thread end where the daemon runs.
    cpu_set_t own{};
    if (sched_getaffinity(0, sizeof(own), &own) == 0) pthread_setaffinity_np(thread_, sizeof(own), &own);
    pthread_join(thread_, nullptr);
  }
  running_ = false;
}

namespace {

constexpr int kChangeLimitMs = 20'000;
constexpr useconds_t kLookUs = 1'000;

Status set_policy(bool fifo, int priority) {
  int now = 0;
  sched_param parameter{};
  if (pthread_getschedparam(pthread_self(), &now, &parameter) == 0 && (now == SCHED_FIFO) == fifo &&
      (!fifo || parameter.sched_priority == priority)) {
    return success();
  }
  parameter.sched_priority = fifo ? priority : 0;
  const int code = pthread_setschedparam(pthread_self(), fifo ? SCHED_FIFO : SCHED_OTHER, &parameter);
  if (code == 0) return success();
  return failure(fmt::format("policy {}: {}", fifo ? "fifo" : "other", std::strerror(code)),
                 "the daemon has given up the right to choose it: start it with that policy, or with a limit of "
                 "real-time priority (LimitRTPRIO=99 in its unit, ulimit -r)");
}

}  // namespace

void Probe::change(const ProbeChange& to) {
  change_ = to;
  change_state_.store(ChangeState::working, std::memory_order_release);
  stop_.store(true);
}

Status Probe::wait_for_change() const {
  for (int waited_ms = 0; waited_ms < kChangeLimitMs; ++waited_ms) {
    const ChangeState state = change_state();
    if (state == ChangeState::failed) return change_error_;
    if (state == ChangeState::done || state == ChangeState::none) return success();
    usleep(kLookUs);
  }
  return failure(
      fmt::format("CPU {} did not find out within {} s how long its phases take", options_.cpu, kChangeLimitMs / 1000),
      "something with a higher priority holds the CPU; try --policy fifo, or another CPU");
}

// All of it, or nothing.
Status Probe::prepare_change() {
  int policy = 0;
  sched_param parameter{};
  (void)pthread_getschedparam(pthread_self(), &policy, &parameter);
  if (Status set = set_policy(change_.fifo, change_.priority); !set) return set;
  Footprint footprint;
  if (change_.phases.grain_ticks != 0) {
    auto created = Footprint::create(change_.phases.footprint_bytes);
    if (!created) {
      (void)pthread_setschedparam(pthread_self(), policy, &parameter);
      return created.error();
    }
    footprint = std::move(created).value();
  }
  footprint_ = std::move(footprint);
  return success();
}

// Nobody watches meanwhile.
void Probe::change_over() {
  stop_.store(false);
  if (ending_.load()) stop_.store(true);  // it was said in between
  progress_.gap = GapKind::rested;
  if (change_state_.load(std::memory_order_acquire) != ChangeState::working) return;
  const auto smi_before = smi_.read();
  if (Status prepared = prepare_change(); !prepared) {
    change_error_ = prepared.error();
    change_state_.store(ChangeState::failed, std::memory_order_release);
    return;
  }
  work_ = {0, footprint_.lines()};
  change_state_.store(ChangeState::ready, std::memory_order_release);
  if (change_.phases.grain_ticks != 0) {
    footprint_.link();
    fitted_ = fit_phases(change_.phases, footprint_.lines(), loop_options(), stop_, [this] { return return_to_cpu(); });
    fitted_.locked = footprint_.is_locked();
    work_.iterations = fitted_.iterations;
  }
  const auto smi_after = smi_.read();
  if (smi_before && smi_after && progress_.seen_ticks != 0) smi_unobserved_ += *smi_after - *smi_before;
  change_state_.store(ChangeState::done, std::memory_order_release);
}

}  // namespace noised::probe
