// SPDX-License-Identifier: Apache-2.0
// libcap and libseccomp.
#include "noised/privileges.h"

#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>

#include "base/text.h"

namespace noised::daemon {
namespace {

struct FreeCapabilities {
  void operator()(cap_t capabilities) const { (void)::cap_free(capabilities); }
};
struct FreeFilter {
  void operator()(scmp_filter_ctx filter) const { ::seccomp_release(filter); }
};

// What C library and daemon use from then on: threads, memory, clocks, files of /proc and /sys, sockets that listen
// already or are Unix ones (the service manager's).
constexpr std::array kAllowed = {
    // memory, threads, the end
    "brk", "mmap", "munmap", "mprotect", "madvise", "mremap", "mlock", "mlockall", "munlock", "clone", "clone3",
    "set_robust_list", "get_robust_list", "rseq", "membarrier", "futex", "exit", "exit_group", "gettid", "getpid",
    "tgkill", "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_setscheduler", "sched_getscheduler",
    "sched_setparam", "sched_getparam", "sched_get_priority_min", "sched_get_priority_max", "sched_setattr",
    "sched_getattr", "getcpu", "setpriority", "getpriority", "prctl", "prlimit64", "getrlimit", "arch_prctl",
    "restart_syscall", "getrusage",
    // clocks and signals
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "signalfd4",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack", "eventfd2", "getrandom",
    // files
    "read", "readv", "pread64", "write", "writev", "pwrite64", "open", "openat", "close", "close_range", "fstat",
    "stat", "lstat", "newfstatat", "statx", "lseek", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getdents64", "fcntl", "ioctl", "dup", "unlink", "unlinkat", "rmdir", "flock", "getcwd", "uname", "sysinfo",
    "statfs", "fstatfs", "getuid", "geteuid", "getgid", "getegid", "ftruncate", "fsync", "fdatasync",
    // waiting and sockets
    "poll", "ppoll", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "select", "pselect6",
    "accept", "accept4", "shutdown", "recvfrom", "recvmsg", "sendto", "sendmsg", "sendfile", "getsockopt", "setsockopt",
    "getsockname", "getpeername", "connect", "pipe2", "capget", "capset"};

Status drop_capabilities() {
  // The bounding set first, while that is still allowed: nothing executed later may regain any.
  for (int capability = 0; ::cap_get_bound(capability) >= 0; ++capability) (void)::cap_drop_bound(capability);
  (void)::cap_reset_ambient();
  const std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities> none(::cap_init());
  if (none && ::cap_set_proc(none.get()) == 0) return success();
  return failure("cannot give up capabilities: " + errno_text(errno));
}

// A system call with this first argument only.
int allow_first(scmp_filter_ctx filter, int number, scmp_datum_t value) {
  scmp_arg_cmp first{};
  first.arg = 0;
  first.op = SCMP_CMP_EQ;
  first.datum_a = value;
  return ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &first);
}

Status add_rules(scmp_filter_ctx filter) {
  for (const char* const name : kAllowed) {
    const int number = ::seccomp_syscall_resolve_name(name);
    // One that this library does not know cannot be called by it either.
    if (number == __NR_SCMP_ERROR) continue;
    if (const int code = ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0); code != 0) {
      return failure(fmt::format("seccomp rule for {}: {}", name, errno_text(-code)));
    }
  }
  // How often the kernel refused to run a program; and the service manager's socket.
  int code = allow_first(filter, SCMP_SYS(bpf), BPF_OBJ_GET_INFO_BY_FD);
  if (code == 0) code = allow_first(filter, SCMP_SYS(socket), AF_UNIX);
  return code == 0 ? success() : Status(failure("seccomp: " + errno_text(-code)));
}

Status filter_system_calls() {
  const std::unique_ptr<void, FreeFilter> filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return failure("seccomp: no memory");
  // Before Linux 5.16, a filter would turn off speculative stores, and the loop would be slower than the machine is.
  (void)::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_SSB, 1);
  if (Status added = add_rules(filter.get()); !added) return added;
  // Also sets no_new_privs.
  if (const int code = ::seccomp_load(filter.get()); code != 0) {
    return failure("seccomp: " + errno_text(-code), "this kernel may lack CONFIG_SECCOMP_FILTER");
  }
  return success();
}

}  // namespace

Status unlimit_locked_memory() {
  rlimit now{};
  if (::getrlimit(RLIMIT_MEMLOCK, &now) == 0 && now.rlim_cur == RLIM_INFINITY) return success();
  const rlimit wanted{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &wanted) == 0) return success();
  return failure("the limit of locked memory (RLIMIT_MEMLOCK) cannot be raised: " + errno_text(errno),
                 "set it to unlimited (LimitMEMLOCK=infinity, ulimit -l), or grant CAP_SYS_RESOURCE at start");
}

Status set_priority(int priority) {
  const sched_param parameter{priority};
  const int policy = priority == 0 ? SCHED_OTHER | SCHED_RESET_ON_FORK : SCHED_FIFO;
  if (::sched_setscheduler(0, policy, &parameter) == 0) return success();
  return failure("sched_setscheduler: " + errno_text(errno),
                 "policy fifo needs CAP_SYS_NICE, or a limit of real-time priority (LimitRTPRIO=99, ulimit -r)");
}

Status set_drain_priority(int priority) {
  const sched_param parameter{priority};
  const int policy = priority == 0 ? SCHED_OTHER : SCHED_FIFO;
  if (::sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &parameter) == 0) return success();
  return failure(fmt::format("sched_setscheduler(SCHED_FIFO, {}): {}", priority, errno_text(errno)),
                 fmt::format("set the limit of real-time priority (LimitRTPRIO={0}, ulimit -r {0}), or "
                             "service.realtime to 0",
                             priority));
}

Status allow_realtime(int priority) {
  const auto wanted = static_cast<rlim_t>(priority);
  rlimit now{};
  if (::getrlimit(RLIMIT_RTPRIO, &now) == 0 && now.rlim_cur >= wanted) return success();
  const rlimit raised{wanted, std::max(now.rlim_max, wanted)};
  if (::setrlimit(RLIMIT_RTPRIO, &raised) == 0) return success();
  return failure(fmt::format("the limit of real-time priority cannot be {}: {}", priority, errno_text(errno)),
                 fmt::format("set it before (LimitRTPRIO={0}, ulimit -r {0}), or service.realtime to 0", priority));
}

Status set_nice(int nice) {
  if (::setpriority(PRIO_PROCESS, 0, nice) == 0) return success();
  return failure(
      fmt::format("setpriority({}): {}", nice, errno_text(errno)),
      fmt::format("set the limit of nice (LimitNICE={}, ulimit -e {}), or service.nice to 0", nice, 20 - nice));
}

Status drop_privileges() {
  if (Status dropped = drop_capabilities(); !dropped) return dropped;
  return filter_system_calls();
}

}  // namespace noised::daemon
