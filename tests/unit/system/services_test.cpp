// SPDX-License-Identifier: Apache-2.0
// Services by cgroup, and steal time by CPU, from made-up files.
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "system/services.h"
#include "system/steal_clock.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::system;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t inode(const std::string& path) {
  struct stat about{};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  return about.st_ino;
}

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("a cgroup id becomes the path of its service", "[trace]") {
  const test::TemporaryDirectory root;
  const std::string service = root.path("sys/fs/cgroup/system.slice/cron.service");
  std::filesystem::create_directories(service);
  Services services(root.path("sys/fs/cgroup"), root.path("proc"));
  CHECK(services.of_cgroup(inode(service), 7, kSecond) == "/system.slice/cron.service");
  CHECK(services.of_cgroup(inode(root.path("sys/fs/cgroup")), 7, kSecond) == "");
  const std::string later = root.path("sys/fs/cgroup/system.slice/later.service");
  std::filesystem::create_directories(later);
  CHECK(services.of_cgroup(inode(later), 7, kSecond + 1) == "");  // walked a moment ago
  CHECK(services.of_cgroup(inode(later), 7, 2 * kSecond + 1) == "/system.slice/later.service");
  std::filesystem::remove_all(service);
  CHECK(services.of_cgroup(inode(later), 7, 9 * kSecond) == "/system.slice/later.service");
  CHECK(services.of_cgroup(1, 7, 9 * kSecond) == "");
}

TEST_CASE("a cgroup that is newer than the last walk is where its process is, if the id says so too", "[trace]") {
  const test::TemporaryDirectory root;
  const std::string cgroups = root.path("sys/fs/cgroup");
  std::filesystem::create_directories(cgroups);
  Services services(cgroups, root.path("proc"));
  CHECK(services.of_cgroup(1, 7, kSecond) == "");  // walks
  std::filesystem::create_directories(cgroups + "/new.service");
  write(root.path("proc/8/cgroup"), "0::/new.service\n");
  CHECK(services.of_cgroup(inode(cgroups + "/new.service") + 1, 8, kSecond + 1) == "");  // it has moved since
  CHECK(services.of_cgroup(inode(cgroups + "/new.service"), 9, kSecond + 1) == "");      // no such process
  CHECK(services.of_cgroup(inode(cgroups + "/new.service"), 8, kSecond + 1) == "/new.service");
}

TEST_CASE("a process names its service", "[trace]") {
  const test::TemporaryDirectory root;
  write(root.path("proc/7/cgroup"), "12:cpu:/elsewhere\n0::/system.slice/sshd.service\n");
  write(root.path("proc/8/cgroup"), "0::/\n");
  Services services("", root.path("proc"));
  CHECK(services.of_process(7, kSecond) == "/system.slice/sshd.service");
  CHECK(services.of_process(8, kSecond) == "");
  CHECK(services.of_process(9, kSecond) == "");
  std::filesystem::create_directories(
      root.path("proc/10/cgroup"));  // it opens, and reading it fails, as of one that ends
  CHECK(services.of_process(10, kSecond) == "");
  write(root.path("proc/7/cgroup"), "0::/user.slice\n");  // the pid is another task's by now
  CHECK(services.of_process(7, 2 * kSecond) == "/user.slice");
}

TEST_CASE("a path is folded to the service that anybody may read of", "[trace]") {
  const auto folded = [](std::string_view path) { return service_of_path(path); };
  CHECK(folded("") == "");
  CHECK(folded("/") == "");
  CHECK(folded("/system.slice/cron.service") == "cron.service");
  CHECK(folded("/system.slice/systemd-journald.service") == "systemd-journald.service");
  CHECK(folded("/system.slice/docker.service/inner.service") == "docker.service");
  CHECK(folded("/system.slice/system-sshd.slice/sshd@7-10.0.0.1:22-10.0.0.9:50412.service") == "sshd@*.service");
  CHECK(folded("/system.slice/run-r0123456789abcdef.service") == "run-*.service");
  CHECK(folded("/system.slice/docker-0123456789abcdef.scope") == "docker-*.scope");
  CHECK(folded("/system.slice/slurmstepd.scope/job_77/step_0/user/task_0") == "slurmstepd.scope");
  CHECK(folded("/user.slice/user-1000.slice/session-3.scope") == "user-1000.slice");
  CHECK(folded("/user.slice/user-1000.slice/user@1000.service/app.slice/my-secret.service") == "user-1000.slice");
  CHECK(folded("/user.slice") == "user.slice");
  CHECK(folded("/init.scope") == "init.scope");
  CHECK(folded("/kubepods.slice/kubepods-pod12.slice/cri-containerd-abc.scope") == "kubepods.slice");
  CHECK(folded("/slurm/uid_1000/job_5") == "slurm");
  CHECK(folded("/machine.slice/libpod-0123abcd.scope/container/system.slice/acme-payroll.service") == "machine.slice");
  CHECK(folded("/system.slice/docker-0123abcd.scope/system.slice/cron.service") == "docker-*.scope");
  CHECK(folded("/lxc.payload.web/system.slice/x.service") == "lxc.payload.web");
  CHECK(folded("/system.slice/ci-4711.service") == "ci-*.service");
  CHECK(folded("/workload.slice/payroll.service/sub.scope") == "payroll.service");
  CHECK(folded("/../../system.slice/cron.service") == "cron.service");
  CHECK(folded("relative/of/some") == "relative");
  CHECK(folded("//") == "");
}

TEST_CASE("a kernel thread is known by its flags, whatever its name", "[trace]") {
  const test::TemporaryDirectory root;
  Services services(root.path("sys/fs/cgroup"), root.path("proc"));
  write(root.path("proc/7/stat"), "7 (kworker/0:1-a) b) I 2 0 0 0 -1 69238880 0 0\n");  // 0x4208060
  write(root.path("proc/8/stat"), "8 (a) I 2 0 0 0 -1 2129984) S 1 8 8 0 -1 4194560 120 0\n");
  write(root.path("proc/9/stat"), "9 (cut) S 1");
  write(root.path("proc/10/stat"), "10 (migration/0) S 2 0 0 0 -1 69238848 0 0\n");
  CHECK(services.is_kernel_thread(7, kSecond) == true);
  CHECK(services.is_kernel_thread(8, kSecond) == false);
  CHECK_FALSE(services.is_kernel_thread(9, kSecond).has_value());
  CHECK(services.is_kernel_thread(10, kSecond) == true);
  CHECK_FALSE(services.is_kernel_thread(11, kSecond).has_value());
  write(root.path("proc/11/stat"), "11 (late) S 2 0 0 0 -1 2129984 0 0\n");
  CHECK_FALSE(services.is_kernel_thread(11, kSecond + 1).has_value());  // looked a moment ago
  CHECK(services.is_kernel_thread(11, 2 * kSecond + 1) == true);
  write(root.path("proc/11/stat"), "11 (other) S 1 1 1 0 -1 4194560 0 0\n");
  CHECK(services.is_kernel_thread(11, 2 * kSecond + 1) == false);
}

TEST_CASE("on version 1, and where both are mounted, a process names its job", "[trace]") {
  const test::TemporaryDirectory root;
  const std::string cgroups = root.path("sys/fs/cgroup/unified");
  std::filesystem::create_directories(cgroups + "/system.slice/slurmd.service");
  const std::uint64_t slurmd = inode(cgroups + "/system.slice/slurmd.service");
  const std::string job = "/slurm/uid_1000/job_7/step_0";
  write(root.path("proc/7/cgroup"),
        "9:memory:" + job + "\n1:name=systemd:/system.slice/slurmd.service\n" + "0::/system.slice/slurmd.service\n");
  write(root.path("proc/8/cgroup"), "9:memory:/\n1:name=systemd:/system.slice/cron.service\n");
  SECTION("both") {
    write(root.path("proc/self/cgroup"), "1:name=systemd:/\n0::/\n");
    Services services(cgroups, root.path("proc"));
    CHECK(services.of_cgroup(slurmd, 7, kSecond) == job);
    CHECK(services.of_process(7, kSecond) == job);
    CHECK(services.of_cgroup(slurmd, 9, kSecond) == "/system.slice/slurmd.service");  // it has ended
    write(root.path("proc/7/cgroup"), "9:memory:/other\n0::/\n");                     // the pid is another's
    CHECK(services.of_cgroup(slurmd, 7, 9 * kSecond) == "/system.slice/slurmd.service");
  }
  SECTION("version 1 alone") {
    write(root.path("proc/self/cgroup"), "1:name=systemd:/\n");
    write(root.path("proc/7/cgroup"), "9:memory:" + job + "\n1:name=systemd:/system.slice/slurmd.service\n");
    Services services("", root.path("proc"));
    CHECK(services.of_cgroup(1, 7, kSecond) == job);
    CHECK(services.of_cgroup(1, 8, kSecond) == "/system.slice/cron.service");
    CHECK(services.of_cgroup(1, 9, kSecond) == "");
  }
  CHECK(most_specific_cgroup("", "") == "");
  CHECK(most_specific_cgroup("12:cpu:/\n\n0::/\n", "") == "");
  CHECK(most_specific_cgroup("4:cpu,cpuacct:/a:/b\n", "") == "/a:/b");
  // A container that everything runs in, the daemon too, is no job of the task's.
  const char* both = "4:memory:/container/9\n3:cpu:/\n0::/some.service\n";
  CHECK(most_specific_cgroup(both, "4:memory:/container/9\n3:cpu:/\n0::/\n") == "/some.service");
  CHECK(most_specific_cgroup(both, "4:memory:/container/8\n3:cpu:/\n0::/\n") == "/container/9");
  CHECK(most_specific_cgroup("4:memory:/container/9\n0::/\n", "4:memory:/container/9\n0::/\n") == "/container/9");
}

TEST_CASE("cgroup lines of any form are read or left", "[trace]") {
  CHECK(parse_cgroup("0::/a\n") == "/a");
  CHECK(parse_cgroup("0::/a") == "/a");
  CHECK(parse_cgroup("1:name=systemd:/x\n\n0::/b c\n") == "/b c");
  CHECK_FALSE(parse_cgroup("").has_value());
  CHECK_FALSE(parse_cgroup("0:").has_value());
  CHECK_FALSE(parse_cgroup("0::relative\n").has_value());
}

TEST_CASE("steal time is the eighth number of a CPU's line", "[trace]") {
  std::vector<std::uint64_t> stolen;
  parse_steal("cpu  1 2 3 4 5 6 7 99 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu2 1 2 3 4 5 6 7 11\nintr 5\n", 10, stolen);
  REQUIRE(stolen.size() == 3);
  CHECK(stolen[0] == 80);
  CHECK(stolen[1] == kNeverListed);
  CHECK(stolen[2] == 110);
  parse_steal("cpu0 1 2 3\ncpu1 x\ncpu99999999 1 2 3 4 5 6 7 8\ncpu", 10, stolen);  // what does not fit changes nothing
  CHECK(stolen == std::vector<std::uint64_t>{80, kNeverListed, 110});
  CHECK(StealClock::step_ns() == 10'000'000);
  auto clock = StealClock::open();
  REQUIRE(clock.ok());
  CHECK_FALSE(clock.value().read().empty());
}

TEST_CASE("a virtual machine is known by its processor or by Xen's word", "[trace]") {
  CHECK_FALSE(is_virtual_machine(0x7fffffff, ""));
  CHECK(is_virtual_machine(0x80000000, ""));
  CHECK(is_virtual_machine(0, "xen\n"));
}
