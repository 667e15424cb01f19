// SPDX-License-Identifier: Apache-2.0
// A thread that sleeps until a task comes to a loop's CPU.
#include "noised/stepping_aside.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/cpus.h"
#include "base/text.h"
#include "system/proc_tasks.h"

namespace noised::daemon {
namespace {

// A switch that no program saw leaves a task on its CPU that is long gone: before that is believed for long, the kernel
// is asked.
bool runs(std::uint32_t pid, unsigned cpu) {
  if (pid == 0) return false;
  if (const auto task = system::ProcTasks("/proc").stat(pid)) return task->state == 'R' && task->cpu == cpu;
  return system::exists(pid);  // hidden (hidepid), and there
}

}  // namespace

SteppingAside::SteppingAside(kernel::Tracer& tracer, std::vector<std::unique_ptr<probe::Probe>>& probes,
                             const std::vector<unsigned>& to, std::uint64_t quiet_ns)
    : tracer_(tracer), probes_(probes), to_(to), quiet_ns_(quiet_ns), busy_ns_(probes.size()) {}

SteppingAside::~SteppingAside() {
  if (!thread_) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  (void)pthread_join(*thread_, nullptr);
}

Status SteppingAside::start() {
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_) return failure("eventfd: " + errno_text(errno));
  sigset_t all;
  sigset_t before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int code = pthread_create(&thread, nullptr, thread_main, this);
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) return failure("starting the thread that waits for tasks: " + errno_text(code));
  thread_ = thread;
  return success();
}

void* SteppingAside::thread_main(void* self) {
  (void)pthread_setname_np(pthread_self(), "noised/aside");
  static_cast<SteppingAside*>(self)->run();
  return nullptr;
}

void SteppingAside::run() {
  const kernel::ArrivalSink sink = [this](const noised_arrival& arrival) {
    for (const auto& probe : probes_) {
      if (probe->cpu() == arrival.cpu) probe->step_aside(to_);
    }
  };
  std::array<pollfd, 2> ready{pollfd{tracer_.arrivals().descriptor(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (ready[1].revents == 0) {
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;  // then step() does it, late
    if (ready[0].revents != 0) tracer_.arrivals().drain(sink);
  }
}

void SteppingAside::step(std::size_t place, const pipeline::TaskPipeline& tasks, std::uint64_t now_ns) {
  probe::Probe& probe = *probes_[place];
  const volatile noised_cpu& state = tracer_.state(probe.cpu());
  const std::uint64_t arrived_ns = state.arrived_ns;
  if (!probe.is_aside()) {
    if (arrived_ns > probe::kNotThere) probe.step_aside(to_);
    return;
  }
  const std::uint64_t since_ns = probe.aside_since_ns();
  if (since_ns == 0) return;  // on its way
  std::uint64_t& busy_ns = busy_ns_[place];
  busy_ns = std::max({busy_ns, since_ns, tasks.busy_until_ns(probe.cpu())});
  if (now_ns < busy_ns + quiet_ns_) return;
  if (runs(tasks.current_pid(probe.cpu()), probe.cpu())) {  // asked once in a quiet time
    busy_ns = now_ns;
    return;
  }
  if (arrived_ns > probe::kNotThere && since_ns > arrived_ns) {
    times_.add(since_ns - arrived_ns);
    longest_ns_ = std::max(longest_ns_, since_ns - arrived_ns);
  }
  // What it stepped aside for is past. Until it is on its CPU, which may be offline, there is no loop to send away
  // again.
  static_cast<volatile noised_cpu&>(tracer_.state(probe.cpu())).arrived_ns = probe::kNotThere;
  probe.come_back();
}

void SteppingAside::step(const pipeline::TaskPipeline& tasks, std::uint64_t now_ns) {
  for (std::size_t place = 0; place < probes_.size(); ++place) step(place, tasks, now_ns);
}

AsideView SteppingAside::view() const {
  AsideView view;
  std::vector<unsigned> cpus;
  for (const auto& probe : probes_) {
    if (probe->is_aside()) cpus.push_back(probe->cpu());
  }
  view.cpus = cpus.empty() ? "" : format_cpu_list(cpus);
  view.count = times_.count();
  view.p50_ns = std::min(longest_ns_, times_.quantile(0.5));
  view.p99_ns = std::min(longest_ns_, times_.quantile(0.99));
  view.max_ns = longest_ns_;
  return view;
}

}  // namespace noised::daemon
