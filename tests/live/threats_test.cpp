// SPDX-License-Identifier: Apache-2.0
// Neighbours who are not friends: a member of the group that may ask, another user on the metrics port, a process in a
// container. What each tries is refused or harmless, and tells no secret; packaging/doc/security.md has the rules.
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "attacked_daemon.h"
#include "command.h"
#include "measurement.h"
#include "noised/file_access.h"
#include "noised/privileges.h"
#include "processes.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"
#include "unit/noised/http_client.h"
#include "views/views.h"
#include "watched_task.h"

using namespace noised;
using namespace noised::daemon;
using namespace noised::live;
using noised::test::RawClient;
using noised::test::TemporaryDirectory;

namespace {

// What nobody but root is to read: addresses of programs (a value of its own), and of the kernel, root neither. A place
// in a function of the kernel is name+0x10.
bool tells_a_secret(const std::string& answer) {
  return answer.find("\"0x") != std::string::npos || answer.find("0xffff") != std::string::npos;
}

// Tries all of it; gives the table of what each got.
std::string try_all(AttackedDaemon& daemon, const std::vector<Attempt>& attempts) {
  std::string table;
  for (const Attempt& attempt : attempts) {
    const std::string answer = daemon.answer_to(attempt);
    const std::string got = answer.substr(0, answer.find("\r\n"));
    const std::string shown = attempt.request.substr(0, 60);
    table += fmt::format("{:<13} {:<62} {}\n", kWho[static_cast<std::size_t>(attempt.who)], shown,
                         got.empty() ? "no answer" : got);
    INFO(table << "expected: " << attempt.expected << "\n" << answer.substr(0, 400));
    CHECK(got.empty() == attempt.expected.empty());
    CHECK(got.starts_with(attempt.expected.empty() ? "" : "HTTP/1.1 " + attempt.expected));
    CHECK_FALSE(tells_a_secret(answer));
  }
  return table;
}

}  // namespace

TEST_CASE("threats: beside loops, nobody but root changes, learns or holds up anything") {
  if (run({"setpriv", "--version"}).exit_code != 0) SKIP("setpriv is not installed");
  AttackedDaemon daemon("probe");
  const StatusView before = daemon.status();
  const Who member = Who::member;
  const Who port = Who::port;
  const std::string large(20'000, 'a');
  const std::vector<Attempt> attempts = {
      // What a member may
      {member, "GET /v1/status", "200"},
      {member, "GET /v1/report", "200"},
      {member, "GET /v1/recent", "200"},
      {member, "GET /v1/histogram", "200"},
      {member, "GET /v1/detours", "200"},
      {member, "GET /metrics", "200"},
      // What changes something
      {member, "POST /v1/reload", "403"},
      {member, "GET /v1/reload", "405"},
      {member, "PUT /v1/reload", "405"},
      {member, "DELETE /v1/report", "405"},
      {member, "POST /v1/report", "405"},
      {member, "POST /v1/phases?grain_ns=1000000", "403"},
      {member, "GET /v1/phases?grain_ns=1000000", "405"},
      {member, "POST /v1/recording", "405"},
      {member, "GET /v1/recording?grain_ns=1000000", "400"},
      {member, "GET /v1/recording?policy=fifo", "400"},
      {member, "GET /v1/recording?footprint=L2", "400"},
      {member, "GET /v1/recording?footprint_bytes=1000000000", "400"},
      // Elsewhere
      {member, "GET /../../etc/shadow", "404"},
      {member, "GET /v1/../../etc/shadow", "404"},
      {member, "GET /%2e%2e/%2e%2e/etc/shadow", "404"},
      {member, "GET /v1/status/", "404"},
      {member, "GET //v1/status", "404"},
      {member, "GET /v1/status%00", "200"},  // the path ends there
      {member, "GET /" + large, "404"},
      // Numbers that are none
      {member, "GET /v1/detours?follow=2", "400"},
      {member, "GET /v1/detours?longest=3", "200"},
      {member, "GET /v1/detours?longest=0", "400"},
      {member, "GET /v1/detours?longest=-1", "400"},
      {member, "GET /v1/detours?longest=1&follow=1", "400"},
      {member, "GET /v1/detours?min_ns=-1", "400"},
      {member, "GET /v1/detours?min_ns=99999999999999999999", "400"},
      {member, "GET /v1/detours?min_ns=%00", "400"},
      {member, "GET /v1/detours?min_ns=1e9", "400"},
      {member, "GET /v1/watch?pids=1", "40"},
      // Who is not in the group
      {Who::stranger, "GET /v1/status", ""},
      {Who::stranger, "POST /v1/reload", ""},
      {Who::stranger, "GET /metrics", ""},
      // Over TCP, there are the page of the metrics and nothing else
      {port, "GET /metrics", "200"},
      {port, "GET /-/healthy", "200"},
      {port, "GET /v1/status", "404"},
      {port, "GET /v1/report", "404"},
      {port, "GET /v1/detours?follow=1", "404"},
      {port, "GET /v1/recording", "404"},
      {port, "GET /v1/watch?pids=1", "404"},
      {port, "POST /v1/reload", "405"},
      {port, "POST /v1/phases?grain_ns=1000000", "405"},
      {port, "POST /metrics", "405"},
      {port, "TRACE /metrics", "405"},
      {port, "GET /../../etc/shadow", "404"},
      // Of a container that has the socket
      {Who::container, "GET /v1/status", "200"},
      {Who::container, "GET /v1/recording?grain_ns=1000000", "400"},
  };
  const std::string table = try_all(daemon, attempts);
  WARN(attempts.size() << " attempts\n" << table);
  REQUIRE(attempts.size() >= 40);

  // A member holds as many streams as one user may; root has one all the same.
  std::vector<RawClient> held;
  std::string seventh;
  as_user(kMember, kGroup, [&] {
    for (int i = 0; i < 7; ++i) {
      RawClient& stream = held.emplace_back(daemon.socket());
      stream.get("/v1/detours?follow=1");
      seventh = stream.read_until("\r\n\r\n");
    }
  });
  CHECK(seventh.starts_with("HTTP/1.1 503 "));
  RawClient own(daemon.socket());
  own.get("/v1/detours?follow=1");
  CHECK(own.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  held.clear();

  const StatusView after = daemon.status();
  CHECK(after.mode == before.mode);
  CHECK(after.policy == before.policy);
  CHECK(after.threshold_ns == before.threshold_ns);
  CHECK(after.drain_interval_ns == before.drain_interval_ns);
  CHECK(after.pid == before.pid);
  CHECK(after.lost.events == before.lost.events);
  CHECK(daemon.process().err().find("reloaded") == std::string::npos);
  // Nobody records any more: root can.
  CHECK(run({"curl", "-s", "-m", "1", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", daemon.socket(),
             "http://x/v1/recording"})
            .out == "200");
}

TEST_CASE("threats: where tasks are watched, a choice of them is refused or harmless, whoever makes it") {
  if (run({"setpriv", "--version"}).exit_code != 0) SKIP("setpriv is not installed");
  AttackedDaemon daemon("auto");
  const Who member = Who::member;
  const std::string many = [] {
    std::string pids = "1";
    for (int i = 2; i < 2'000; ++i) pids += "," + std::to_string(i);
    return pids;
  }();
  const std::vector<Attempt> attempts = {
      {member, "GET /v1/watch?pids=0", "400"},
      {member, "GET /v1/watch?pids=-1", "400"},
      {member, "GET /v1/watch?pids=4294967296", "400"},
      {member, "GET /v1/watch?pids=2147483647", "400"},
      {member, "GET /v1/watch?pids=1,,2", "400"},
      {member, "GET /v1/watch?pids=" + many, "400"},
      {member, "GET /v1/watch?pids=1&comm=a", "400"},
      {member, "GET /v1/watch?comm=", "400"},
      {member, "GET /v1/watch?comm=sixteen-bytes-at", "400"},
      {member, "GET /v1/watch?cgroup=relative", "400"},
      {member, "GET /v1/watch?cgroup=/../..", "400"},
      {member, "GET /v1/watch?cgroup=/not/there", "400"},
      {member, "GET /v1/watch?interval_ns=1", "400"},
      {member, "GET /v1/watch?interval_ns=99999999999999999", "400"},
      {member, "GET /v1/watch?duration_ns=0", "400"},
      {member, "GET /v1/watch?losses=all", "400"},
      {member, "POST /v1/watch?pids=1", "405"},
      {member, "GET /v1/recording", "409"},
      {member, "GET /v1/watch?duration_ns=1000000000", "200"},
      {Who::stranger, "GET /v1/watch", ""},
      {Who::container, "GET /v1/watch?pids=1", "400"},
      {Who::container, "GET /v1/watch?duration_ns=1000000000", "200"},
  };
  const std::string table = try_all(daemon, attempts);
  WARN(attempts.size() << " attempts\n" << table);
  CHECK(daemon.status().mode == "auto");
}

namespace {

// What a daemon that was taken over could try, by its result: 0, or an errno.
struct Try {
  const char* what;
  int result;
};

int as_errno(long result) { return result < 0 ? errno : 0; }
int opened(const char* path, int flags) {
  const int file = ::open(path, flags | O_CLOEXEC, 0600);
  const int error = as_errno(file);
  if (file >= 0) (void)::close(file);
  return error;
}

// In a process of its own, as the daemon is once it measures.
std::vector<Try> tries_of_a_daemon(bool& closed, const std::string& removable, const std::string& elsewhere) {
  const auto outcome = close_file_system({{"/proc", "/sys"}, {std::filesystem::path(removable).parent_path()}, {}});
  closed = outcome && outcome.value();
  if (!drop_privileges()) return {};
  char* const none[] = {nullptr};
  sockaddr_in address{};
  union bpf_attr attributes{};
  return {
      {"read /proc/self/stat", opened("/proc/self/stat", O_RDONLY)},
      {"read /sys/devices/system/cpu/online", opened("/sys/devices/system/cpu/online", O_RDONLY)},
      {"remove its socket", as_errno(::unlink(removable.c_str()))},
      {"read /etc/shadow", opened("/etc/shadow", O_RDONLY)},
      {"read /etc/passwd", opened("/etc/passwd", O_RDONLY)},
      {"read a directory of root's", opened("/root", O_RDONLY | O_DIRECTORY)},
      {"create a file in /tmp", opened("/tmp/noised-was-here", O_WRONLY | O_CREAT)},
      {"write to /etc/passwd", opened("/etc/passwd", O_WRONLY)},
      {"write a sysctl", opened("/proc/sys/kernel/core_pattern", O_WRONLY)},
      {"remove a file elsewhere", as_errno(::unlink(elsewhere.c_str()))},
      {"rename a file", as_errno(::rename("/etc/passwd", "/etc/passwd-"))},
      {"start a program", as_errno(::execve("/bin/true", none, none))},
      {"trace a process", as_errno(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr))},
      {"end a process", as_errno(::kill(::getppid(), SIGKILL))},
      {"load a program into the kernel", as_errno(::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes)))},
      {"open a network socket", as_errno(::socket(AF_INET, SOCK_STREAM, 0))},
      {"bind one", as_errno(::bind(-1, reinterpret_cast<const sockaddr*>(&address), sizeof(address)))},
      {"mount", as_errno(::mount("none", "/mnt", "tmpfs", 0, nullptr))},
      {"become root again", as_errno(::setresuid(0, 0, 0))},
      {"leave its namespaces", as_errno(::unshare(CLONE_NEWUSER))},
      {"load a module", as_errno(::syscall(SYS_init_module, nullptr, 0, ""))},
      {"set the clock", as_errno(::syscall(SYS_clock_settime, CLOCK_REALTIME, nullptr))},
      {"reboot", as_errno(::syscall(SYS_reboot, 0, 0, 0, nullptr))},
  };
}

}  // namespace

TEST_CASE("threats: a daemon that was taken over can read the kernel's files, remove its socket, and little else") {
  if (::geteuid() != 0) SKIP("as root it would be able to do all of this");
  const TemporaryDirectory directory;
  const std::string socket = directory.path("socket");
  directory.write("socket", "");
  const TemporaryDirectory other;
  other.write("file", "");
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    bool closed = false;
    const std::vector<Try> tries = tries_of_a_daemon(closed, socket, other.path("file"));
    std::string text = closed ? "closed\n" : "open\n";
    for (const Try& each : tries) text += fmt::format("{}|{}\n", each.result, each.what);
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  (void)::close(ends[1]);
  std::string told(65'536, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
    got = ::read(ends[0], told.data() + size, told.size() - size);
  (void)::close(ends[0]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  told.resize(size);
  const std::vector<std::string> lines = lines_of(told);
  INFO(told);
  REQUIRE(lines.size() == 24);
  const bool closed = lines[0] == "closed";
  for (std::size_t i = 1; i < lines.size(); ++i) {
    INFO(lines[i]);
    const bool may = i <= 3;
    const bool is_file = i >= 4 && i <= 10;
    // Without Landlock, what root owns is open to it.
    if (may || !is_file || closed) CHECK(lines[i].starts_with("0|") == may);
  }
  if (!closed) WARN("this kernel has no Landlock, or does not use it: a daemon started by root owns what root owns");
}

TEST_CASE(
    "threats: where in a program a page fault was is told to root alone, and no address of the kernel's to anybody") {
  AttackedDaemon daemon("probe");
  const unsigned cpu = probed_cpu();
  // A task with a few faults at a time on the CPU of the loop: of many in one detour, none is told alone.
  WatchedTask task(cpu);
  const std::jthread load([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      task.work({.pages = 4});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  std::string detours;
  REQUIRE(eventually([&] {
    detours = run({kNoisectl, "--socket", daemon.socket(), "detours", "--json"}).out;
    return detours.find("\"ip\":\"0x") != std::string::npos;
  }));
  CHECK(detours.find("0xffff") == std::string::npos);
  const std::string member = daemon.answer_to({Who::member, "GET /v1/detours", ""});
  CHECK(member.find("\"page_fault\"") != std::string::npos);
  CHECK_FALSE(tells_a_secret(member));
  // A recording has all of it, or not, as whoever made it may know.
  for (const bool of_root : {true, false}) {
    INFO((of_root ? "recorded by root" : "recorded by a member"));
    const std::string file = daemon.path(of_root ? "root.recording" : "member.recording");
    Arguments record{kNoisectl, "--socket", daemon.socket(), "record", "--duration", "2s", "-o", file};
    const Arguments member_is{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    if (!of_root) record.insert(record.begin(), member_is.begin(), member_is.end());
    const Outcome recorded = run(record);
    INFO(recorded.err);
    REQUIRE(recorded.exit_code == 0);
    const std::string shown = run({kNoisectl, "--replay", file, "detours", "--json"}).out;
    CHECK(shown.find("\"page_fault\"") != std::string::npos);
    CHECK((shown.find("\"ip\":\"0x") != std::string::npos) == of_root);
    CHECK(shown.find("0xffff") == std::string::npos);
  }
}
