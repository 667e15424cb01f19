// SPDX-License-Identifier: Apache-2.0
// Whatever is wrong, a user reads one line that names the place and a remedy, and finds nothing left behind.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/cpus.h"
#include "command.h"
#include "left_behind.h"
#include "loads.h"
#include "measurement.h"
#include "report_checks.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr uid_t kNobody = 65534;

// What is wrong, and what the one line must name of it and of the way out.
struct Expected {
  int exit_code;
  std::string place;
  std::string remedy;
};

void check_refused(const Outcome& outcome, const Expected& expected) {
  INFO("standard error: " << outcome.err);
  CHECK(outcome.exit_code == expected.exit_code);
  CHECK(outcome.out.empty());
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK(outcome.err.starts_with("noised: "));
  CHECK(outcome.err.ends_with('\n'));
  CHECK(outcome.err.size() < 300);
  CHECK(outcome.err.find(expected.place) != std::string::npos);
  CHECK(outcome.err.find(expected.remedy) != std::string::npos);
  CHECK(outcome.err.find("Unknown error") == std::string::npos);
  CHECK(programs_left_behind().empty());
}

// The duration is for what should have been refused and is not.
Arguments noised_with(const std::string& socket, const Arguments& flags) {
  Arguments arguments{kNoised, "--socket", socket, "--duration", "1s"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

// Runs it with a socket in an empty directory, which must be empty again.
void check_refused(const Arguments& flags, const Expected& expected, const CommandOptions& options = {}) {
  const TemporaryDirectory directory;
  check_refused(run(noised_with(directory.path("made/socket"), flags), options), expected);
  CHECK(names_in(directory.path()).empty());
}

std::string last_cpu() { return std::to_string(online_cpus().value().back()); }

Arguments in_shell(const std::string& script, const Arguments& command) {
  Arguments arguments{"unshare", "--mount", "sh", "-c", script + " && exec \"$@\"", "sh"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return arguments;
}

void need_mount_namespaces() {
  if (run({"unshare", "--mount", "true"}).exit_code != 0) SKIP("no mount namespace can be made here");
}

}  // namespace

TEST_CASE("CPU lists that name no CPU to probe are refused", "[core]") {
  const std::string missing = std::to_string(possible_cpus().value().back() + 1);
  check_refused({"--cpus", missing}, {kUsage, "CPU " + missing, "choose"});
  check_refused({"--cpus", "99999999999"}, {kUsage, "99999999999", "1-3,5"});
  check_refused({"--cpus", ""}, {kUsage, "--cpus", "1-3,5"});
  for (const char* garbage : {"a", "1-", "-1", "3-1", "1,,2", "1;2", "0x1", "1 2", ","}) {
    INFO(garbage);
    check_refused({"--cpus", garbage}, {kUsage, std::string("'") + garbage + "'", "1-3,5"});
  }
}

TEST_CASE("probing all CPUs is refused: none is left for the daemon") {
  const std::string all = format_cpu_list(online_cpus().value());
  check_refused({"--cpus", all}, {kUsage, all, "fewer"});
}

TEST_CASE("an offline CPU is refused") {
  probed_cpu();
  need_mount_namespaces();
  const TemporaryDirectory directory;
  directory.write("online", "0\n");
  const TemporaryDirectory run_directory;
  // The kernel's list is covered for this process alone: taking a CPU away would disturb the whole machine.
  check_refused(run(in_shell("mount --bind '" + directory.path("online") + "' /sys/devices/system/cpu/online",
                             noised_with(run_directory.path("socket"), {"--cpus", last_cpu()}))),
                {kUsage, "CPU " + last_cpu(), "/sys/devices/system/cpu/cpu" + last_cpu() + "/online"});
  CHECK(names_in(run_directory.path()).empty());
}

TEST_CASE("a kernel that has given the time stamp counter up is refused, with the reason") {
  need_mount_namespaces();
  const TemporaryDirectory directory;
  directory.write("current", "hpet\n");
  directory.write("available", "hpet acpi_pm \n");
  const std::string kernels = " /sys/devices/system/clocksource/clocksource0/";
  const std::string script = "mount --bind '" + directory.path("current") + "'" + kernels +
                             "current_clocksource && mount --bind '" + directory.path("available") + "'" + kernels +
                             "available_clocksource";
  const TemporaryDirectory run_directory;
  check_refused(
      run(in_shell(script, noised_with(run_directory.path("socket"), {"--cpus", std::to_string(probed_cpu())}))),
      {kFailed, "the kernel's clock source is hpet", "tsc=reliable"});
  CHECK(names_in(run_directory.path()).empty());
}

TEST_CASE("flags with bad values are refused", "[core]") {
  const Arguments cpus{"--cpus", last_cpu()};
  const auto with = [&](const Arguments& more) {
    Arguments flags = cpus;
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  check_refused(with({"--threshold", "0"}), {kUsage, "--threshold", "200ns"});
  check_refused(with({"--threshold", "0ns"}), {kUsage, "--threshold", "200ns"});
  for (const char* time : {"", "10", "10x", "-1s", "1.5.1s", "s", "1 s s", "99999999999999999999s", "nan"}) {
    INFO(time);
    check_refused(with({"--threshold", time}), {kUsage, "--threshold", "200ns"});
  }
  check_refused(with({"--no-such-flag"}), {kUsage, "--no-such-flag", "--help"});
  check_refused(with({"stray"}), {kUsage, "stray", "--help"});
  check_refused(with({"--report", "yaml"}), {kUsage, "--report", "json"});
  check_refused(with({"--log-level", "loud"}), {kUsage, "--log-level", "warning"});
}

TEST_CASE("a report without a duration, and a duration that is none, are refused") {
  const TemporaryDirectory directory;
  const auto noised = [&](const Arguments& flags) {
    Arguments arguments{kNoised, "--cpus", last_cpu(), "--socket", directory.path("socket")};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run(arguments);
  };
  check_refused(noised({"--report", "json"}), {kUsage, "--report", "--duration"});
  for (const char* time : {"", "0s", "10", "soon", "-5s", "1e3"}) {
    INFO(time);
    check_refused(noised({"--report", "json", "--duration", time}), {kUsage, "--duration", "such as"});
  }
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("a socket that cannot be made is refused") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  directory.write("file", "precious");
  std::filesystem::create_directory(directory.path("directory"));
  const std::vector<std::string> before = names_in(directory.path());
  const auto refused = [&](const std::string& socket, int exit_code, const std::string& place) {
    INFO(socket);
    check_refused(run(noised_with(socket, {"--cpus", std::to_string(cpu)})), {exit_code, place, "--socket"});
    CHECK(names_in(directory.path()) == before);
  };
  refused("/proc/noised.sock", kFailed, "/proc/noised.sock");
  refused("/proc/none/noised.sock", kFailed, "/proc/none");
  refused(directory.path("file"), kFailed, directory.path("file"));
  refused(directory.path("file/socket"), kFailed, directory.path("file"));
  refused(directory.path("directory"), kFailed, directory.path("directory"));
  refused(directory.path(std::string(120, 'x')), kUsage, "107");
  refused("", kUsage, "--socket");
  CHECK(std::filesystem::file_size(directory.path("file")) == 8);
  CHECK(names_in(directory.path("directory")).empty());
}

TEST_CASE("without privileges the line says which are missing", "[core]") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  CommandOptions nobody;
  nobody.user = kNobody;
  const Arguments flags{"--cpus", std::to_string(cpu)};
  check_refused(run(noised_with(directory.path("made/socket"), flags), nobody), {kFailed, "BPF", "CAP_BPF"});
  CHECK(names_in(directory.path()).empty());
  REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
  check_refused(run(noised_with(directory.path("socket"), flags), nobody), {kFailed, directory.path("socket"), "root"});
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("BTF that is not the kernel's is refused") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  directory.write("garbage", std::string(100'000, '\x7f'));
  directory.write("empty", "");
  for (const char* name : {"missing", "garbage", "empty", ""}) {
    const std::string file = directory.path(name);
    INFO(file);
    check_refused({"--cpus", std::to_string(cpu), "--btf", file}, {kUsage, file, "running kernel"});
  }
  check_refused({"--cpus", std::to_string(cpu), "--btf", ""}, {kUsage, "--btf", "running kernel"});
}

TEST_CASE("a kernel without BTF is refused with the way to get it") {
  const unsigned cpu = probed_cpu();
  need_mount_namespaces();
  const TemporaryDirectory directory;
  check_refused(run(in_shell("mount -t tmpfs none /sys/kernel/btf",
                             noised_with(directory.path("socket"), {"--cpus", std::to_string(cpu)}))),
                {kFailed, "/sys/kernel/btf/vmlinux", "--btf"});
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("with BTF from a file the raw tracepoints are used, and see the same") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  const std::string socket = directory.path("socket");
  const std::jthread timers = keep_sleeping_on(cpu);
  Background daemon({kNoised, "--socket", socket, "--cpus", std::to_string(cpu), "--btf", "/sys/kernel/btf/vmlinux",
                     "--duration", "1500ms", "--report", "json"});
  Outcome status;
  REQUIRE(eventually([&] {
    status = run({kNoisectl, "--socket", socket, "status", "--json"});
    return status.exit_code == 0;
  }));
  std::size_t attached = 0;
  const Json answer = object_in(status.out);
  for (const Json& program : answer.at("programs")) {
    INFO(program.dump());
    if (program.at("attached").is_null()) continue;
    CHECK(program.at("attached") == "raw_tp");
    ++attached;
  }
  CHECK(attached > 20);
  const Outcome outcome = daemon.wait();
  REQUIRE(outcome.exit_code == 0);
  const Json report = object_in(outcome.out);
  check_fields(report);
  check_ledger(report);
  const bool ticked = std::ranges::any_of(report.at("sources"), [](const Json& source) {
    return source.at("kind") == "vector" && source.at("name") == "local_timer" && source.at("total_ns") > 0;
  });
  CHECK(ticked);
  CHECK(names_in(directory.path()).empty());
  CHECK(programs_left_behind().empty());
}

TEST_CASE("a second daemon on the same socket is refused, and the first goes on") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  const std::string socket = directory.path("socket");
  const auto answers = [&] { return run({kNoisectl, "--socket", socket, "status"}).exit_code == 0; };
  Background first({kNoised, "--socket", socket, "--cpus", std::to_string(cpu)});
  REQUIRE(eventually(answers));
  const std::vector<std::string> before = names_in(directory.path());
  check_refused(run(noised_with(socket, {"--cpus", std::to_string(cpu)})), {kFailed, socket, "--socket"});
  CHECK(names_in(directory.path()) == before);
  CHECK(answers());
  // On another one, it measures beside the first, and says so.
  const Outcome beside = run({kNoised, "--socket", directory.path("other"), "--cpus", std::to_string(cpu),
                              "--web.listen-address", "", "--duration", "300ms", "--report", "json"});
  CHECK(beside.exit_code == 0);
  const std::string told = fmt::format("another noised (process {}) has a loop on CPU {}", first.pid(), cpu);
  CHECK(beside.err.find(told) != std::string::npos);
  CHECK(beside.out.find(told) != std::string::npos);
  first.signal(SIGTERM);
  CHECK(first.wait().exit_code == 0);
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("a configuration that cannot be used is refused with its file and line") {
  const TemporaryDirectory directory;
  const auto refused = [&](const std::string& content, const std::string& line, const std::string& remedy) {
    INFO(content);
    const std::string file = directory.path("noised.conf");
    directory.write("noised.conf", content);
    check_refused({"--config", file}, {kUsage, file + ":" + line + ":", remedy});
    const Outcome checked = run({kNoised, "--check-config", "--config", file});
    check_refused(checked, {kUsage, file + ":" + line + ":", remedy});
  };
  refused("[probe]\ncpus = \"1\"\nbogus = 3\n", "3", "threshold");
  refused("\n[nonsense]\ncpus = \"1\"\n", "2", "probe");
  refused("[probe]\nthreshold = \"0ns\"\n", "2", "200ns");
  refused("[probe]\nthreshold = 200\n", "2", "quotes");
  refused("[probe]\n\ncpus = \"1-\"\n", "3", "1-3,5");
  refused("[probe]\ncpus = \n", "2", "noised.conf");
  check_refused({"--config", directory.path("missing")}, {kUsage, directory.path("missing"), "--config"});
  check_refused({"--config", directory.path()}, {kUsage, directory.path(), "--config"});
}

TEST_CASE("a configuration that may not be read is refused") {
  probed_cpu();
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  directory.write("secret.conf", "[probe]\n");
  REQUIRE(chmod(directory.path("secret.conf").c_str(), 0600) == 0);
  CommandOptions nobody;
  nobody.user = kNobody;
  check_refused(run(noised_with(directory.path("socket"), {"--config", directory.path("secret.conf")}), nobody),
                {kUsage, directory.path("secret.conf"), "readable"});
  CHECK(names_in(directory.path()) == std::vector<std::string>{"secret.conf"});
}

TEST_CASE("standard output that takes nothing is an error, after everything was put away") {
  const unsigned cpu = probed_cpu();
  const TemporaryDirectory directory;
  const Outcome outcome =
      run({"sh", "-c", "exec \"$@\" >/dev/full", "sh", kNoised, "--log-level", "error", "--socket",
           directory.path("socket"), "--cpus", std::to_string(cpu), "--duration", "100ms", "--report", "json"});
  check_refused(outcome, {kFailed, "standard output", "No space"});
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("an error that nobody can read still has its exit code") {
  CHECK(run({"sh", "-c", "exec \"$@\" 2>/dev/full", "sh", kNoised, "--no-such-flag"}).exit_code == kUsage);
}
