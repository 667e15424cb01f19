// SPDX-License-Identifier: Apache-2.0
// Choosing CPUs on machines made of fixture files: every refusal names the place and the remedy.
#include <catch2/catch_test_macros.hpp>

#include <sched.h>

#include <algorithm>

#include "base/cpus.h"
#include "unit/base/temporary_directory.h"

namespace noised {

namespace {

using Cpus = std::vector<unsigned>;
const std::string kCpuDirectory = "sys/devices/system/cpu/";

// Six possible CPUs, 0-4 online, 2 and 3 isolated, 3-5 nohz_full, all permitted, affinity as after a boot with
// isolcpus.
struct Machine {
  Machine() {
    set("possible", "0-5\n");
    set("online", "0-4\n");
    set("isolated", "2-3\n");
    set("nohz_full", "3-5\n");
  }
  void set(const std::string& file, const std::string& content) const { root.write(kCpuDirectory + file, content); }
  void remove(const std::string& file) const { std::filesystem::remove(root.path(kCpuDirectory + file)); }
  [[nodiscard]] Result<CpuChoice> choose(const std::string& text,
                                         const std::optional<std::string>& housekeeping = std::nullopt) const {
    return choose_cpus(text, housekeeping, allowed, CpuUse::probe, root.path());
  }
  [[nodiscard]] std::string refusal(const std::string& text,
                                    const std::optional<std::string>& housekeeping = std::nullopt) const {
    const auto choice = choose(text, housekeeping);
    REQUIRE_FALSE(choice);
    CHECK(choice.error().code == ExitCode::usage);
    CHECK(choice.error().line().find('\n') == std::string::npos);
    return choice.error().line();
  }

  test::TemporaryDirectory root;
  AllowedCpus allowed{{0, 1, 4}, {0, 1, 2, 3, 4, 5}};
};

}  // namespace

TEST_CASE("further CPUs are those that are wanted, or all that may be used, but for those that are taken") {
  const Machine machine;
  const auto others = [&](const std::string& text, const Cpus& but) {
    return choose_other_cpus(text, but, machine.allowed, machine.root.path());
  };
  CHECK(others("all", {2, 3}).value() == Cpus{0, 1, 4});
  CHECK(others("all", {}).value() == Cpus{0, 1, 2, 3, 4});  // not 5, which is offline
  CHECK(others("none", {2, 3}).value().empty());
  CHECK(others("1,3", {2, 3}).value() == Cpus{1});
  CHECK(others("3", {2, 3}).value().empty());
  for (const char* const bad : {"5", "7", "", "some", "1-"}) {
    INFO(bad);
    const auto refused = others(bad, {2});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ExitCode::usage);
    CHECK_FALSE(refused.error().remedy.empty());
  }
  const AllowedCpus few{{0}, {0, 2}};
  CHECK(choose_other_cpus("all", {2}, few, machine.root.path()).value() == Cpus{0});
  CHECK_FALSE(choose_other_cpus("1", {2}, few, machine.root.path()));
}

TEST_CASE("sysfs lists are read, whitespace and (null) included") {
  const Machine machine;
  CHECK(possible_cpus(machine.root.path()).value() == Cpus{0, 1, 2, 3, 4, 5});
  CHECK(online_cpus(machine.root.path()).value() == Cpus{0, 1, 2, 3, 4});
  CHECK(isolated_cpus(machine.root.path()).value() == Cpus{2, 3});
  CHECK(nohz_full_cpus(machine.root.path()).value() == Cpus{3, 4, 5});
  for (const char* none : {"", "\n", " (null)\n", "(null)"}) {
    machine.set("nohz_full", none);
    CHECK(nohz_full_cpus(machine.root.path()).value() == Cpus{});
  }
}

TEST_CASE("a broken sysfs is a failure that names the file") {
  const Machine machine;
  machine.set("online", "0-\n");
  CHECK(online_cpus(machine.root.path()).error().line().find(kCpuDirectory + "online") != std::string::npos);
  machine.remove("possible");
  const auto choice = machine.choose("1");
  REQUIRE_FALSE(choice);
  CHECK(choice.error().code == ExitCode::failed);
  CHECK(choice.error().line().find(kCpuDirectory + "possible") != std::string::npos);
}

TEST_CASE("this machine's own files can be read") {
  const auto online = online_cpus();
  REQUIRE(online);
  CHECK_FALSE(online.value().empty());
}

TEST_CASE("a list, isolated and nohz_full become CPUs, and the rest does housekeeping") {
  const Machine machine;
  const auto listed = machine.choose("1,2");
  REQUIRE(listed);
  CHECK(listed.value().probe == Cpus{1, 2});
  CHECK(listed.value().housekeeping == Cpus{0, 4});

  const auto isolated = machine.choose("isolated", "");
  REQUIRE(isolated);
  CHECK(isolated.value().probe == Cpus{2, 3});
  CHECK(isolated.value().housekeeping == Cpus{0, 1, 4});

  // 5 is nohz_full but offline: the word means those there are.
  const auto nohz_full = machine.choose("nohz_full");
  REQUIRE(nohz_full);
  CHECK(nohz_full.value().probe == Cpus{3, 4});
  CHECK(nohz_full.value().housekeeping == Cpus{0, 1});

  const auto both = machine.choose("2", "0,3");
  REQUIRE(both);
  CHECK(both.value().housekeeping == Cpus{0, 3});
}

TEST_CASE("a CPU list that is empty or cannot be read is refused") {
  const Machine machine;
  CHECK(machine.refusal("") == "CPU list '' is empty: name CPUs such as 1-3,5, or write isolated, nohz_full or all");
  CHECK(machine.refusal("any") ==
        "CPU list 'any': 'any' is neither a CPU nor a range: write numbers and ranges such as 1-3,5, or isolated, "
        "nohz_full or all");
}

TEST_CASE("a CPU that is not there is refused") {
  const Machine machine;
  CHECK(machine.refusal("1,9") == "cpus '1,9': CPU 9 does not exist: choose from 0-4");
  CHECK(machine.refusal("5") == "cpus '5': CPU 5 is offline: as root: echo 1 > /sys/devices/system/cpu/cpu5/online");
  // Beside one that is there, it may come: no thread can ask yet whether the cpuset has it.
  CHECK(machine.choose("1,5").value().probe == Cpus{1, 5});
  CHECK(machine.choose("1,5").value().housekeeping == Cpus{0, 4});
}

TEST_CASE("a machine without quiet CPUs says how to get some") {
  const Machine machine;
  machine.set("isolated", "\n");
  CHECK(machine.refusal("isolated") ==
        "cpus 'isolated': this machine has no such CPU: boot with isolcpus=LIST, or name CPUs with --cpus LIST "
        "(online: 0-4)");
  machine.set("nohz_full", " (null)\n");
  CHECK(machine.refusal("nohz_full").find("boot with nohz_full=LIST") != std::string::npos);
  machine.set("nohz_full", "5\n");
  CHECK(machine.refusal("nohz_full").find("CPU 5 is offline: as root: echo 1 > ") != std::string::npos);
  machine.remove("nohz_full");
  CHECK(machine.refusal("nohz_full").find("nohz_full does not exist: this kernel is built without NO_HZ_FULL: name") !=
        std::string::npos);
}

TEST_CASE("a probed CPU outside the cpuset is refused, one outside the affinity is not") {
  Machine machine;
  machine.allowed = {{0, 1}, {0, 1, 2}};
  CHECK(machine.choose("2"));
  CHECK(machine.refusal("3").starts_with(
      "cpus '3': CPU 3 is outside the cpuset that noised runs in: choose from 0-2, or add it to the cpuset"));
  CHECK(machine.refusal("isolated").starts_with("cpus 'isolated': CPU 3 is outside the cpuset"));
}

TEST_CASE("housekeeping needs a CPU of its own") {
  Machine machine;
  CHECK(
      machine.refusal("0-4").starts_with("cpus '0-4': no CPU is left for the daemon's own threads: probe fewer CPUs"));
  CHECK(machine.refusal("0,1,4").ends_with("(online: 0-4, affinity: 0-1,4)"));
  CHECK(machine.refusal("1-2", "0-1") ==
        "housekeeping_cpus '0-1': CPU 1 is also probed: take it out of housekeeping_cpus or out of cpus");
  CHECK(machine.refusal("1", "5").starts_with("housekeeping_cpus '5': CPU 5 is offline"));
  CHECK(machine.refusal("1", "7").starts_with("housekeeping_cpus '7': CPU 7 does not exist"));
  CHECK(machine.refusal("1", "x").starts_with("housekeeping_cpus: CPU list 'x'"));
  machine.allowed.permitted = {0, 1};
  CHECK(machine.refusal("1", "2").starts_with("housekeeping_cpus '2': CPU 2 is outside the cpuset"));
}

TEST_CASE("asking where a thread may run leaves its affinity as it was") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof(before), &before) == 0);
  unsigned first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t narrow;
  CPU_ZERO(&narrow);
  CPU_SET(first, &narrow);
  REQUIRE(::sched_setaffinity(0, sizeof(narrow), &narrow) == 0);

  const auto allowed = allowed_cpus();
  cpu_set_t after;
  REQUIRE(::sched_getaffinity(0, sizeof(after), &after) == 0);
  CHECK(CPU_EQUAL(&after, &narrow));
  REQUIRE(::sched_setaffinity(0, sizeof(before), &before) == 0);

  REQUIRE(allowed);
  CHECK(allowed.value().affinity == Cpus{first});
  Cpus wide;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) wide.push_back(cpu);
  }
  // The cpuset holds at least what the test was started with.
  for (const unsigned cpu : wide) {
    CHECK(std::find(allowed.value().permitted.begin(), allowed.value().permitted.end(), cpu) !=
          allowed.value().permitted.end());
  }
}

}  // namespace noised
