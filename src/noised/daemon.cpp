// SPDX-License-Identifier: Apache-2.0
// The start, step by step.
#include "noised/daemon.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/files.h"
#include "base/text.h"
#include "kernel/begin_watching.h"
#include "kernel/features.h"
#include "noised/api/api.h"
#include "noised/file_access.h"
#include "noised/http/tcp_socket.h"
#include "noised/last_report.h"
#include "noised/low_noise.h"
#include "noised/privileges.h"
#include "noised/systemd.h"
#include "system/cgroup_trees.h"
#include "system/namespaces.h"
#include "system/smi_counter.h"

namespace noised::daemon {
namespace {

// A store takes 5 to 100 ns, an interruption at least 1 us with our own programs in it.
constexpr std::uint64_t kStoringLimitNs = 1'000;
constexpr useconds_t kCalibrationUs = 20'000;
// A tick of 250 Hz is 6 detours in a drain of 25 ms. Beyond 64 CPUs the feed grows with them, 5 KB for each detour that
// a drain may bring: else followers would miss some of every drain.
constexpr std::size_t kShownPerCpu = 16;

// The kernel stops real-time tasks for a part of each second unless told not to: that is no noise of the machine's.
void warn_of_throttling(const Log& log) {
  const auto runtime = read_file("/proc/sys/kernel/sched_rt_runtime_us");
  if (runtime && runtime.value().starts_with("-1")) return;
  log.warning(
      "policy fifo: the kernel takes the CPU from real-time tasks for a part of each second, which will show as "
      "noise: set sysctl kernel.sched_rt_runtime_us=-1 to measure without");
}

}  // namespace

Daemon::Daemon(const Options& options, Log& log)
    : options_(options), log_(log), is_virtual_(system::is_virtual_machine()), sources_(options.config.categories) {}

// The server reads what the others own; the probes write to the tracer's maps.
Daemon::~Daemon() {
  server_.reset();
  aside_.reset();
  recording_.reset();
  pipeline_.reset();
  probes_.clear();
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Options& options, Log& log) {
  if (Status initial = system::check_namespaces(); !initial) return initial.error();
  std::unique_ptr<Daemon> daemon(new Daemon(options, log));
  if (Status taken = daemon->take_cpus(); !taken) return taken.error();
  // The order matters: what can fail by a mistake comes first; what takes privileges before they are given up, and that
  // before there is a second thread; memory is trimmed before a probe could notice.
  struct Step {
    const char* what;
    Status (Daemon::*run)();
  };
  constexpr std::array kSteps = {Step{"Creating the recording", &Daemon::create_recording},
                                 Step{"Opening sockets", &Daemon::listen},
                                 Step{"Calibrating the clock", &Daemon::start_clock},
                                 Step{"Loading and attaching programs", &Daemon::start_tracer},
                                 Step{"Giving up privileges", &Daemon::drop_privileges},
                                 Step{"Starting to measure", &Daemon::start_probes},
                                 Step{"Starting to answer", &Daemon::start_server}};
  for (const Step& step : kSteps) {
    notify_status(step.what);
    if (Status done = (daemon.get()->*step.run)(); !done) {
      daemon->remove_recording();
      return done.error();
    }
  }
  return daemon;
}

Status Daemon::create_recording() {
  if (options_.record.empty()) return success();
  auto writer = noised::recording::create_recording(options_.record);
  if (!writer) return writer.error();
  recording_writer_.emplace(std::move(writer).value());
  return success();
}

// Of a run that never was: or the next try would find the file in its way.
void Daemon::remove_recording() {
  if (!recording_writer_ && recording_ == nullptr) return;
  recording_.reset();
  if (std::filesystem::is_regular_file(options_.record)) (void)::unlink(options_.record.c_str());
}

Status Daemon::listen() {
  const Config& config = options_.config;
  auto socket = UnixSocket::listen(config.socket, config.socket_group);
  if (!socket) return socket.error();
  socket_ = std::move(socket).value();
  if (Status opened = listen_for_metrics(config.listen); !opened) return opened;
  tell_of_other_loops();  // of one that starts: who is refused above has one line to say
  return success();
}

// The service manager's socket, where there is one, takes the place of the configured address.
Status Daemon::listen_for_metrics(const std::string& wanted) {
  auto from_manager = passed_socket();
  if (!from_manager) return from_manager.error();
  web_socket_ = std::move(from_manager.value());
  const bool passed = web_socket_.has_value();
  if (!passed && !wanted.empty()) {
    auto web = listen_tcp(wanted);
    if (!web) return web.error();
    web_socket_ = std::move(web).value();
  }
  if (!web_socket_) return success();
  web_address_ = listening_address(*web_socket_);
  if (passed && wanted.empty()) {
    log_.warning("metrics are at {}, though listen is empty: systemctl mask --now noised.socket closes it",
                 web_address_);
  } else if (passed && web_address_ != wanted) {
    log_.warning("metrics are at {}, as noised.socket says, not at listen = {}: systemctl edit noised.socket",
                 web_address_, in_quotes(wanted));
  }
  if (!is_loopback(web_address_)) {
    log_.warning(
        "the metrics at {} are for anyone who can connect; fleet.md, installed with noised, shows how to add TLS and "
        "passwords",
        web_address_);
  }
  return success();
}

Status Daemon::start_clock() {
  if (Status tsc = system::check_tsc(); !tsc) {
    log_.warning("{}", tsc.error().line());
    run_.unsupported.push_back("invariant clock: " + tsc.error().what);
  }
  const auto source = system::check_clock_source();
  if (!source) return source.error();
  if (source.value()) {
    log_.warning("{}", *source.value());
    run_.unsupported.push_back("clock source: " + *source.value());
  }
  clock_.add(system::read_clock_sample());
  usleep(kCalibrationUs);
  // Until there is one from which the rate is known better.
  clock_.add(system::read_clock_sample(), true);
  if (clock_.ready()) return success();
  return failure("the time stamp counter and CLOCK_MONOTONIC do not advance together",
                 "check the clock source in /sys/devices/system/clocksource");
}

Status Daemon::start_tracer() {
  utsname system{};
  uname(&system);
  if (Status safe = kernel::check_ringbuf(system.release, system.version); !safe) {
    if (!options_.force_ringbuf) return safe;
    log_.warning("{}", safe.error().what);
  }
  auto possible = possible_cpus();
  if (!possible) return possible.error();
  kernel::TracerOptions options;
  options.cpus = seen_cpus();
  options.watching = {has_loops(), watches_tasks(), options_.config.detail == Detail::full};
  options.possible_cpus = std::size_t{possible.value().back()} + 1;
  options.buffer_bytes = options_.config.buffer_bytes;
  options.btf = options_.btf;
  system::Kallsyms symbols = system::Kallsyms::open();
  options.reads_steal = is_virtual_;
  options.tick_function = system::tick_function(symbols);
  options.verbose = options_.config.log_level == LogLevel::debug;
  auto tracer = kernel::Tracer::load(options);
  if (!tracer) return tracer.error();
  tracer_ = std::move(tracer).value();
  if (tracer_->callback_ends() && !options.watching.callback_ends) {
    log_.info("trace.detail is full here: {}",
              kernel::why_callback_ends_are_needed(system.version).value_or("what callbacks are in cannot be seen"));
  }
  if (symbols.empty()) {
    run_.unsupported.emplace_back(
        "function names: /proc/kallsyms shows no addresses (CAP_SYSLOG, sysctl kernel.kptr_restrict)");
  } else if (!symbols.follows_modules() && std::filesystem::exists("/proc/modules")) {
    run_.unsupported.emplace_back("function names of modules loaded later: /proc/modules cannot be opened");
  }
  names_.emplace(sources_, std::move(symbols));
  for (const std::string& source : tracer_->unsupported()) {
    log_.info("unsupported: {}", source);
    run_.unsupported.push_back(source);
  }
  if (is_virtual_) {
    run_.unsupported.emplace_back("vector hypervisor_callback: it has no tracepoint, its time counts as hypervisor");
  }
  const auto online = online_cpus();
  if (!online) return online.error();
  std::vector<unsigned> late;  // offline, and their counters with them
  std::ranges::set_difference(cpus_.probe, online.value(), std::back_inserter(late));
  const auto there = std::ranges::find_first_of(cpus_.probe, online.value());
  if (const auto reason = system::smi_unsupported(there == cpus_.probe.end() ? cpus_.probe.front() : *there)) {
    run_.unsupported.push_back("system management interrupts: " + *reason);
  } else if (!late.empty() && has_loops()) {
    run_.unsupported.push_back("system management interrupts of CPUs " + format_cpu_list(late) +
                               ": they were offline at the start");
  } else if (rests()) {
    run_.unsupported.emplace_back("system management interrupts: those of rests cannot be told apart");
  }
  if (Status steal = start_steal_clock(); !steal) return steal;
  start_interrupt_counts();
  describe();
  return success();
}

// What it goes on to read: the kernel's files, and its configuration when that is reloaded. What it removes: its
// socket, and a recording that could not begin.
void Daemon::close_file_system() {
  const auto directory_of = [](const std::string& path) {
    return std::filesystem::absolute(path).parent_path().string();
  };
  FileAccess access;
  access.read = {"/proc", "/sys"};
  if (const auto mounts = read_file("/proc/self/mountinfo"); mounts) {
    for (const system::CgroupTree& tree : system::parse_cgroup_trees(mounts.value())) access.read.push_back(tree.mount);
  }
  if (!options_.config_file.empty()) access.read.push_back(directory_of(options_.config_file));
  access.remove = {socket_->directory()};
  if (!options_.record.empty()) access.remove.push_back(directory_of(options_.record));
  access.remove_directories = {directory_of(std::filesystem::absolute(socket_->directory()).string())};
  const auto closed = noised::daemon::close_file_system(access);
  if (!closed) {
    log_.warning("the file system stays open to noised: {}", closed.error().line());
  } else if (!closed.value()) {
    log_.debug("the file system stays open to noised: this kernel has no Landlock, or does not use it");
  }
}

Status Daemon::drop_privileges() {
  const Config& config = options_.config;
  trim_heap();
  if (auto last = open_last_report(config.socket_names); last) {
    last_report_ = std::move(last).value();
  } else {
    log_.warning("{}", last.error().line());
  }
  const Status unlimited = unlimit_locked_memory();
  if (!unlimited) log_.warning("{}; later pages of the daemon's own are not locked", unlimited.error().line());
  if (Status locked = lock_memory(bool(unlimited)); !locked) log_.warning("{}", locked.error().line());
  if (Status set = set_nice(config.nice); !set) log_.warning("{}", set.error().line());
  settings_.nice = ::getpriority(PRIO_PROCESS, 0);
  if (config.realtime != 0) {
    if (Status allowed = allow_realtime(config.realtime); allowed) {
      drain_priority_.emplace(config.realtime, config.realtime_budget_percent, log_);
    } else {
      log_.warning("{}", allowed.error().line());
    }
  }
  // The probe threads inherit it: by then, no right to choose it is left.
  if (config.policy == Policy::fifo) {
    if (Status set = set_priority(config.priority); !set) return set;
  }
  for (const unsigned cpu : has_loops() ? cpus_.probe : std::vector<unsigned>{})
    smi_counters_.push_back(rests() ? system::SmiCounter() : system::SmiCounter::open(cpu));
  close_file_system();
  if (Status dropped = noised::daemon::drop_privileges(); !dropped) return dropped;
  if (watches_tasks() && system::proc_hides_tasks()) {
    run_.unsupported.emplace_back(
        "tasks of other users: /proc hides them (mount option hidepid), a pid or a name of theirs is not found");
  }
  if (config.socket_names == SocketNames::own && system::proc_hides_tasks()) {
    run_.unsupported.emplace_back(
        "names of tasks, for members of the socket's group: /proc hides whose tasks they are (mount option hidepid), "
        "so "
        "they are hidden-1, hidden-2, ...");
  }
  if (Status told = tracer_->check_missed_runs(); !told) {
    run_.unsupported.push_back("missed runs: not told without CAP_BPF, so that none are counted: " + told.error().what);
  }
  return success();
}

// What the probes run in place of their loop, if anything.
Status Daemon::plan_phases() {
  const Config& config = options_.config;
  plan_ = {config.grain_ns, 0, config.policy == Policy::fifo, config.priority};
  if (plan_.grain_ns == 0) return success();
  const auto online = online_cpus();
  if (!online) return online.error();
  for (const unsigned cpu : cpus_.probe) {
    if (std::ranges::binary_search(online.value(), cpu)) continue;
    return failure(
        fmt::format("probe.grain: CPU {} is offline, and how much work makes a phase is found out there", cpu),
        fmt::format("as root: echo 1 > /sys/devices/system/cpu/cpu{}/online, or leave it out of probe.cpus", cpu));
  }
  const auto bytes = probe::footprint_bytes(config.footprint, cpus_.probe);
  if (!bytes) return bytes.error();
  plan_.footprint_bytes = bytes.value();
  return success();
}

// Before there is a pipeline, and a recording: it tells what came of it.
Status Daemon::wait_for_phases() {
  if (plan_.grain_ns == 0) return success();
  notify_status("Finding out how much work a phase is");
  for (const auto& probe : probes_) {
    if (Status changed = probe->wait_for_change(); !changed) return changed;
    for (std::string& remark : remarks_on(probe->fitted(), plan_, probe->cpu())) {
      log_.warning("{}", remark);
      run_.unsupported.push_back(std::move(remark));
    }
  }
  return success();
}

// The loops leave their CPUs when tasks come; who asks is told what those suffer.
Status Daemon::start_aside() {
  if (!steps_aside()) return success();
  aside_ = std::make_unique<SteppingAside>(*tracer_, probes_, cpus_.housekeeping, options_.config.quiet_ns);
  if (Status started = aside_->start(); !started) return started;
  pipeline_->tell_aside([this] { return aside_->view(); });
  return watch(others_);
}

// From now on the programs record what the tasks of these CPUs suffer, and who asks is told what they see.
Status Daemon::watch(const std::vector<unsigned>& cpus) {
  const auto online = online_cpus();
  if (!online) return online.error();
  std::vector<kernel::WatchedState> states;
  states.reserve(cpus.size());
  for (const unsigned cpu : cpus) {
    if (std::ranges::binary_search(online.value(), cpu)) {
      states.push_back({cpu, &tracer_->state(cpu)});
    } else {
      unwatched_.push_back(cpu);
    }
  }
  if (Status begun = kernel::begin_watching(states); !begun) return begun;
  watch_place_.emplace(WatchPlace{watch_sessions_, tracer_->groups(), settings_.watched_cpus, &run_.unsupported,
                                  &sources_, &*name_rule_});
  return success();
}

// Once the probe threads have inherited theirs: a thread without CAP_SYS_NICE cannot take back that those it makes are
// ordinary ones.
Status Daemon::choose_priority() {
  if (Status set = set_priority(0); !set) return set;
  if (!drain_priority_) return success();
  if (Status begun = drain_priority_->begin(); begun) {
    settings_.realtime = {options_.config.realtime, options_.config.realtime_budget_percent};
  } else {  // a control group may refuse it whatever the limit is
    log_.warning("{}", begun.error().line());
    drain_priority_.reset();
  }
  return success();
}

// No loop.
Status Daemon::start_watching() {
  if (Status set = choose_priority(); !set) return set;
  start_pipeline();
  if (Status begun = watch(cpus_.probe); !begun) return begun;
  log_.info("watching the tasks of CPUs {} from CPUs {}", settings_.probe_cpus, settings_.housekeeping_cpus);
  return success();
}

Status Daemon::start_probes() {
  if (!has_loops()) return start_watching();
  const Config& config = options_.config;
  if (config.policy == Policy::fifo) warn_of_throttling(log_);
  const auto online = online_cpus();
  if (!online) return online.error();
  if (Status planned = plan_phases(); !planned) return planned;
  for (std::size_t index = 0; index < cpus_.probe.size(); ++index) {
    const unsigned cpu = cpus_.probe[index];
    probe::ProbeOptions options;
    options.cpu = cpu;
    options.threshold_ticks = clock_.to_ticks(config.threshold_ns);
    options.storing_limit_ticks = clock_.to_ticks(std::max(config.threshold_ns, kStoringLimitNs));
    if (config.quantum_ns != 0) options.quantum_ticks = clock_.to_ticks(config.quantum_ns);
    options.work = config.work;
    options.steps_aside = steps_aside();
    if (config.duty_percent < 100) {
      options.run_ticks = clock_.to_ticks(kDutyPeriodNs * config.duty_percent / 100);
      options.rest_ns = kDutyPeriodNs * (100 - config.duty_percent) / 100;
    }
    options.fifo = config.policy == Policy::fifo;
    options.priority = config.priority;
    options.starts_away = !std::ranges::binary_search(online.value(), cpu);
    options.inherits = true;
    options.phases = phase_options(plan_, clock_);
    options.ring_capacity = ring_capacity(plan_);
    auto probe = probe::Probe::create(options, tracer_->state(cpu), std::move(smi_counters_[index]));
    if (!probe) return probe.error();
    probes_.push_back(std::move(probe).value());
  }
  if (Status set = choose_priority(); !set) return set;
  if (Status fit = wait_for_phases(); !fit) return fit;
  start_pipeline();
  if (Status aside = start_aside(); !aside) return aside;
  for (auto& probe : probes_) {
    if (Status begun = probe->begin(); !begun) return begun;
  }
  log_.info("measuring CPUs {} from CPUs {}{}", settings_.probe_cpus, settings_.housekeeping_cpus,
            steps_aside() ? ", and watching the tasks of CPUs " + settings_.watched_cpus : "");
  return success();
}

void Daemon::start_pipeline() {
  // Over all of the start, the rate is known well. By that of the first 20 ms the first drain's sample was missed by
  // more than it is now: in eight starts on an emulated machine, the clock was uncertain by 246 to 1,925 ns, and is by
  // 52 to 208, and 1,526 where the kernel changed its clock source meanwhile.
  clock_.add(system::read_clock_sample());
  const Config& config = options_.config;
  pipeline::PipelineOptions pipeline_options;
  pipeline_options.threshold_ns = config.threshold_ns;
  pipeline_options.proves_steal = !why_steal_is_unproven();
  pipeline_options.outside = is_virtual_ ? Kind::hypervisor : Kind::hardware;
  if (watches_tasks()) pipeline_options.watched_cpus = seen_cpus();
  pipeline_options.steal_clock = steal_clock_ ? &*steal_clock_ : nullptr;
  pipeline_options.feed_size = std::max(account::DetourFeed::kStaged, kShownPerCpu * seen_cpus().size());
  pipeline_options.notes_owners = config.socket_names == SocketNames::own;
  pipeline_options.names_services = config.metric_names == MetricNames::services;
  pipeline_options.interrupts = interrupts_ ? &*interrupts_ : nullptr;
  std::vector<probe::MeasuringLoop*> loops;
  loops.reserve(probes_.size());
  for (const auto& probe : probes_) loops.push_back(probe.get());
  pipeline_ = std::make_unique<pipeline::Pipeline>(*tracer_, loops, clock_, sources_, *names_, pipeline_options);
  pipeline_->set_drain_interval(config.drain_interval_ns);
  name_rule_.emplace(pipeline_->name_owners());
  recording::Description machine;
  machine.start = run_.start;
  recording::describe_machine(machine);
  machine.quantum_ns = config.quantum_ns;
  machine.work = config.work;
  machine.grain_ns = plan_.grain_ns;
  machine.footprint_bytes = plan_.footprint_bytes;
  machine.policy = settings_.policy;
  machine.priority = plan_.fifo ? static_cast<std::uint64_t>(plan_.priority) : 0;
  StatusView settings = settings_;
  settings.unsupported = run_.unsupported;
  recorder_ = std::make_unique<recording::Recorder>(sources_, std::move(settings), std::move(machine));
  phase_runs_ = std::make_unique<PhaseRuns>(probes_, *recorder_, phases_, clock_, log_, config, plan_);
  if (!recording_writer_) return;
  // Before anything is measured: all of it is recorded, and nobody else can record.
  (void)recorder_->open();
  recorder_->after_drain(*pipeline_);
  recording_ = std::make_unique<recording::RecordingFile>(std::move(*recording_writer_), *recorder_);
  recording_writer_.reset();
}

Status Daemon::start_server() {
  web_ = std::make_unique<Web>(pipeline_->snapshots(), MetricSources{sources_, pipeline_->public_names()}, run_,
                               options_.config.series_cap);
  std::vector<HttpRoute> routes =
      make_routes({pipeline_->snapshots(), pipeline_->feed(), sources_, run_, settings_, reloads_, *recorder_, phases_,
                   *name_rule_, watch_place_ ? &*watch_place_ : nullptr});
  std::vector<HttpRoute> pages = web_->routes();
  routes.insert(routes.end(), pages.begin(), pages.end());
  std::vector<HttpListener> listeners = {{socket_->descriptor(), std::move(routes)}};
  if (web_socket_) listeners.push_back({web_socket_->get(), std::move(pages)});
  auto server = HttpServer::start(std::move(listeners), log_);
  if (!server) return server.error();
  server_ = std::move(server).value();
  log_.info("listening on {}{}", socket_->path(), web_socket_ ? " and " + web_address_ : "");
  return success();
}

void Daemon::describe() {
  utsname system{};
  uname(&system);
  run_.host = system.nodename;
  run_.kernel = system.release;
  run_.start = utc_now();
  settings_.version = NOISED_VERSION;
  settings_.host = run_.host;
  settings_.kernel = run_.kernel;
  settings_.pid = static_cast<std::uint64_t>(getpid());
  settings_.probe_cpus = format_cpu_list(cpus_.probe);
  if (watches_tasks()) settings_.watched_cpus = format_cpu_list(seen_cpus());
  settings_.housekeeping_cpus = format_cpu_list(cpus_.housekeeping);
  settings_.mode = !has_loops() ? "watch" : steps_aside() ? "auto" : "probe";
  settings_.policy = options_.config.policy == Policy::fifo ? "fifo" : "other";
  settings_.duty_percent = options_.config.duty_percent;
  settings_.threshold_ns = options_.config.threshold_ns;
  settings_.buffer_bytes = options_.config.buffer_bytes;
  settings_.detail = tracer_->callback_ends() ? "full" : "normal";
}

}  // namespace noised::daemon
