// SPDX-License-Identifier: Apache-2.0
// The settings of machines made of fixture files, and what remedies make of them.
#include <zlib.h>
#include <catch2/catch_test_macros.hpp>

#include "analysis/advice/machine.h"
#include "analysis/advice/remedies.h"
#include "unit/base/temporary_directory.h"

namespace noised {
using namespace noised::analysis;
using namespace noised::recording;

namespace {

using Cpus = std::vector<unsigned>;

// Four CPUs, 1 to 3 watched, nothing isolated; booted long before the recording.
struct Fixture {
  Fixture() {
    description.start = "2026-01-02T03:04:05Z";
    description.boot_parameters = "root=/dev/vda quiet";
    description.base.status.host = "node";
    description.base.status.kernel = "6.1.0-1";
    description.base.status.housekeeping_cpus = "0";
    for (const unsigned cpu : {1U, 2U, 3U}) description.base.cpus.emplace_back().cpu = cpu;
    root.write("proc/sys/kernel/hostname", "node\n");
    root.write("proc/sys/kernel/osrelease", "6.1.0-1\n");
    root.write("proc/cmdline", "root=/dev/vda quiet\n");
    root.write("proc/uptime", "3000000000.55 1.00\n");
    root.write("sys/devices/system/cpu/online", "0-4\n");
    root.write("sys/devices/system/cpu/isolated", "\n");
    root.write("sys/devices/system/cpu/nohz_full", "(null)\n");
    root.write("sys/devices/virtual/workqueue/cpumask", "1f\n");
    root.write("proc/sys/kernel/watchdog", "1\n");
    root.write("proc/sys/kernel/watchdog_cpumask", "0-4\n");
    root.write("proc/sys/vm/stat_interval", "1\n");
    root.write("proc/sys/kernel/nmi_watchdog", "1\n");
    root.write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
    root.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    irq("24", "virtio0-req", "0-4");
    irq("25", "eth0", "0");
    irq("26", "eth0", "2");
    irq("27", "", "2");
    task("101", "crond", "0-4", 0x400000);
  }
  void irq(const std::string& number, const std::string& action, const std::string& cpus) const {
    root.write("sys/kernel/irq/" + number + "/actions", action + "\n");
    root.write("proc/irq/" + number + "/smp_affinity_list", cpus + "\n");
  }
  void task(const std::string& pid, const std::string& name, const std::string& cpus, unsigned long flags) const {
    root.write("proc/" + pid + "/stat", pid + " (" + name + ") S 1 2 3 0 -1 " + std::to_string(flags) + " 0 0 0\n");
    root.write("proc/" + pid + "/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cpus + "\nMems:\t1\n");
  }
  [[nodiscard]] Machine read(bool here = false) const {
    return read_machine(description, here, {{"crond", 101}, {"gone", 102}}, root.path());
  }
  [[nodiscard]] Remedy remedy(RemedyId id, const RemedyTarget& target = {}) const {
    return make_remedy(id, target, read());
  }
  [[nodiscard]] RemedyState state(RemedyId id, const RemedyTarget& target = {}) const {
    return remedy(id, target).state;
  }

  test::TemporaryDirectory root;
  Description description;
};

}  // namespace

TEST_CASE("settings are read where the recording is of this machine, as it was booted", "[advice]") {
  Fixture fixture;
  const Machine machine = fixture.read();
  CHECK(machine.live);
  CHECK(machine.watched == Cpus{1, 2, 3});
  CHECK(machine.housekeeping == Cpus{0, 4});
  CHECK(machine.number("proc/sys/vm/stat_interval").value == 1U);
  CHECK(machine.cpu_mask("sys/devices/virtual/workqueue/cpumask").value == Cpus{0, 1, 2, 3, 4});
  CHECK_FALSE(machine.number("proc/sys/kernel/numa_balancing").value.has_value());
  CHECK(machine.number("proc/sys/kernel/numa_balancing").why.find("numa_balancing") != std::string::npos);
  CHECK_FALSE(machine.number("sys/kernel/mm/transparent_hugepage/enabled").value.has_value());
  CHECK(machine.irqs.at("virtio0-req").size() == 1);
  CHECK(machine.irqs.at("eth0").size() == 2);
  CHECK(machine.irqs.at("eth0:26").front().cpus == Cpus{2});
  CHECK(machine.irqs.at("irq27").front().irq == 27);
  REQUIRE(machine.tasks.contains("crond"));
  CHECK(machine.tasks.at("crond").cpus == Cpus{0, 1, 2, 3, 4});
  CHECK_FALSE(machine.tasks.contains("gone"));
}

TEST_CASE("of another machine, kernel, command line or boot nothing is read but the recording", "[advice]") {
  const std::pair<const char*, const char*> cases[] = {{"proc/sys/kernel/hostname", "other\n"},
                                                       {"proc/sys/kernel/osrelease", "6.1.0-2\n"},
                                                       {"proc/cmdline", "root=/dev/vda quiet nohz_full=1\n"},
                                                       {"proc/uptime", "5.00 1.00\n"},
                                                       {"proc/uptime", ""}};
  for (const auto& [file, content] : cases) {
    const Fixture fixture;
    fixture.root.write(file, content);
    const Machine machine = fixture.read();
    INFO(file << ": " << content);
    CHECK_FALSE(machine.live);
    CHECK_FALSE(machine.why.empty());
    CHECK(machine.files.empty());
    CHECK(machine.housekeeping == Cpus{0});
    CHECK(machine.number("proc/sys/vm/stat_interval").why == machine.why);
    CHECK(fixture.read(true).live);  // a daemon of this kernel's
  }
}

TEST_CASE("masks of CPUs, as the kernel writes them", "[advice]") {
  const Fixture fixture;
  Machine machine = fixture.read();
  machine.files["m"] = "3,00000001,80000000";
  CHECK(machine.cpu_mask("m").value == Cpus{31, 32, 64, 65});
  for (const char* bad : {"", "0x3", "all"}) {
    machine.files["m"] = bad;
    CHECK_FALSE(machine.cpu_mask("m").value.has_value());
  }
}

TEST_CASE("what the kernel was built with is in /boot, or in the kernel itself", "[advice]") {
  const Fixture fixture;
  CHECK_FALSE(fixture.read().built_with("CONFIG_NO_HZ_FULL"));
  const std::string path = fixture.root.path() + "/proc/config.gz";
  gzFile const file = gzopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  gzputs(file, "#\n# CONFIG_PREEMPT_RT is not set\nCONFIG_NO_HZ_FULL=y\n");
  REQUIRE(gzclose(file) == Z_OK);
  CHECK(fixture.read().built_with("CONFIG_NO_HZ_FULL") == true);
  CHECK(fixture.read().built_with("CONFIG_PREEMPT_RT") == false);
  fixture.root.write("proc/config.gz", "\x1f\x8b\x08 cut short");
  CHECK_FALSE(fixture.read().built_with("CONFIG_NO_HZ_FULL"));
  fixture.root.write("boot/config-6.1.0-1", "#\nCONFIG_PREEMPT_RT=y\n");
  CHECK(fixture.read().built_with("CONFIG_PREEMPT_RT") == true);
}

TEST_CASE("a task is who it was: its name may have parentheses, its pid may be another's", "[advice]") {
  const Fixture fixture;
  fixture.task("7", "a) (b", "1", 0x00200000 | 0x04000000);
  const auto task = read_task(7, "a) (b", fixture.root.path());
  REQUIRE(task);
  CHECK(task->kernel_thread);
  CHECK(task->fixed);
  CHECK(task->cpus == Cpus{1});
  CHECK_FALSE(read_task(7, "other", fixture.root.path()).has_value());
  CHECK_FALSE(read_task(8, "a) (b", fixture.root.path()).has_value());
}

TEST_CASE("settings name the CPUs, and keep what is on the command line", "[advice]") {
  Fixture fixture;
  fixture.description.boot_parameters = "isolcpus=4 nohz_full=4 irqaffinity=0-2";
  fixture.root.write("proc/cmdline", fixture.description.boot_parameters);
  CHECK(fixture.remedy(RemedyId::nohz_full).setting == "nohz_full=1-4");
  CHECK(fixture.remedy(RemedyId::isolcpus).setting == "isolcpus=managed_irq,domain,1-4");
  CHECK(fixture.remedy(RemedyId::irqaffinity).setting == "irqaffinity=0");
  CHECK(fixture.remedy(RemedyId::workqueue_cpumask).setting == "echo 11 > /sys/devices/virtual/workqueue/cpumask");
  CHECK(fixture.remedy(RemedyId::watchdog_cpumask).setting == "kernel.watchdog_cpumask=0,4");
  CHECK(fixture.remedy(RemedyId::irq_affinity, {"eth0", ""}).setting ==
        "echo 0,4 > /proc/irq/25/smp_affinity_list; echo 0,4 > /proc/irq/26/smp_affinity_list");
  CHECK(fixture.remedy(RemedyId::irq_affinity, {"irq/24-virtio0-", ""}).setting ==
        "echo 0,4 > /proc/irq/24/smp_affinity_list");
  CHECK(fixture.remedy(RemedyId::service_affinity, {"cron.service", "crond"}).setting.find("CPUAffinity=0,4") !=
        std::string::npos);
  CHECK(fixture.remedy(RemedyId::service_affinity, {"a.scope", "x"}).setting ==
        "systemctl set-property a.scope AllowedCPUs=0,4");
  CHECK(fixture.remedy(RemedyId::task_affinity, {"crond", "crond"}).setting == "taskset -pc 0,4 101");
}

TEST_CASE("what is set already is known, and what cannot be", "[advice]") {
  Fixture fixture;
  CHECK(fixture.state(RemedyId::nohz_full) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::isolcpus) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::workqueue_cpumask) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::watchdog_cpumask) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::irq_affinity, {"eth0", ""}) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::irq_affinity, {"eth0:25", ""}) == RemedyState::set);
  CHECK(fixture.state(RemedyId::irq_affinity, {"gone", ""}) == RemedyState::unknown);
  CHECK(fixture.state(RemedyId::stat_interval) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::huge_pages) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::rt_runtime) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::ksm) == RemedyState::impossible);
  CHECK(fixture.state(RemedyId::task_affinity, {"crond", "crond"}) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::task_affinity, {"gone", "gone"}) == RemedyState::unknown);
  CHECK(fixture.state(RemedyId::host) == RemedyState::advice);

  fixture.root.write("sys/devices/system/cpu/isolated", "1-3\n");
  fixture.root.write("sys/devices/system/cpu/nohz_full", "1-4\n");
  fixture.root.write("sys/devices/virtual/workqueue/cpumask", "11\n");
  fixture.root.write("proc/sys/kernel/watchdog_cpumask", "0\n");
  fixture.root.write("proc/sys/vm/stat_interval", "300\n");
  fixture.root.write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
  fixture.root.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  fixture.irq("26", "eth0", "4");
  fixture.task("101", "crond", "0", 0);
  for (const RemedyId id :
       {RemedyId::nohz_full, RemedyId::isolcpus, RemedyId::workqueue_cpumask, RemedyId::watchdog_cpumask,
        RemedyId::stat_interval, RemedyId::rt_runtime, RemedyId::huge_pages}) {
    INFO(fixture.remedy(id).name);
    CHECK(fixture.state(id) == RemedyState::set);
  }
  CHECK(fixture.state(RemedyId::irq_affinity, {"eth0", ""}) == RemedyState::set);
  CHECK(fixture.state(RemedyId::task_affinity, {"crond", "crond"}) == RemedyState::set);

  std::filesystem::remove(fixture.root.path("sys/devices/system/cpu/nohz_full"));
  CHECK(fixture.state(RemedyId::nohz_full) == RemedyState::impossible);
}

TEST_CASE("a task that asks for a watched CPU is not kept away by isolation", "[advice]") {
  Fixture fixture;
  fixture.task("101", "crond", "2", 0);
  CHECK(fixture.state(RemedyId::isolcpus, {"crond", "crond"}) == RemedyState::impossible);
  CHECK(fixture.state(RemedyId::task_affinity, {"crond", "crond"}) == RemedyState::not_set);
  fixture.task("101", "crond", "2", 0x04000000);
  CHECK(fixture.state(RemedyId::task_affinity, {"crond", "crond"}) == RemedyState::impossible);
}

TEST_CASE("of a recording from elsewhere the command line tells what it can", "[advice]") {
  Fixture fixture;
  fixture.root.write("proc/sys/kernel/hostname", "other\n");
  CHECK(fixture.state(RemedyId::nohz_full) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::stat_interval) == RemedyState::unknown);
  CHECK(fixture.remedy(RemedyId::stat_interval).reason.find("another machine") != std::string::npos);
  fixture.description.boot_parameters = "isolcpus=nohz,domain,1-3 rcu_nocbs=all irqaffinity=0 psi=0 tsc=reliable";
  for (const RemedyId id : {RemedyId::nohz_full, RemedyId::isolcpus, RemedyId::rcu_nocbs, RemedyId::irqaffinity,
                            RemedyId::psi_off, RemedyId::tsc_reliable})
    CHECK(fixture.state(id) == RemedyState::set);
  fixture.description.boot_parameters = "nohz_full=1-N isolcpus=managed_irq,1-3 rcu_nocbs=1";
  CHECK(fixture.state(RemedyId::nohz_full) == RemedyState::unknown);
  CHECK(fixture.state(RemedyId::isolcpus) == RemedyState::not_set);
  CHECK(fixture.state(RemedyId::rcu_nocbs) == RemedyState::unknown);
}

TEST_CASE("CPU 0 keeps the time", "[advice]") {
  Fixture fixture;
  fixture.description.base.cpus.resize(1);
  fixture.description.base.cpus[0].cpu = 0;
  CHECK(fixture.state(RemedyId::nohz_full) == RemedyState::impossible);
  fixture.description.base.cpus.emplace_back().cpu = 1;
  CHECK(fixture.remedy(RemedyId::nohz_full).setting == "nohz_full=1");
}

TEST_CASE("every remedy of every rule has words", "[advice]") {
  const Fixture fixture;
  for (std::size_t i = 0; i < kRuleCount; ++i) {
    for (const RemedyId id : rule(static_cast<RuleId>(i)).remedies) {
      if (id == RemedyId::none) continue;
      const Remedy remedy = fixture.remedy(id, {"object", "task"});
      CHECK_FALSE(remedy.name.empty());
      CHECK((id == RemedyId::avoid_cause || !remedy.why.empty()));
      CHECK((remedy.state == RemedyState::advice || !remedy.setting.empty()));
    }
  }
}

}  // namespace noised
