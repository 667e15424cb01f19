// SPDX-License-Identifier: Apache-2.0
// Names of the kernel's functions as this kernel gives them: to whom, and what is shown where it gives none.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "noised/privileges.h"
#include "system/kallsyms.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;
using noised::system::Kallsyms;
using noised::test::TemporaryDirectory;

namespace {

// kernel.kptr_restrict, until the test is over. 1: addresses are for CAP_SYSLOG; 2: for nobody.
class HiddenAddresses {
 public:
  explicit HiddenAddresses(int how) : before_(read_file(kFile).value()) {
    std::ofstream(kFile) << how << std::flush;
    if (read_file(kFile).value() != std::to_string(how) + "\n") SKIP("kernel.kptr_restrict cannot be set");
  }
  ~HiddenAddresses() { std::ofstream(kFile) << before_ << std::flush; }
  HiddenAddresses(const HiddenAddresses&) = delete;
  HiddenAddresses& operator=(const HiddenAddresses&) = delete;

 private:
  static constexpr const char* kFile = "/proc/sys/kernel/kptr_restrict";
  std::string before_;
};

// The address of a function that every kernel has; 0: not shown.
std::uint64_t address_of_schedule() {
  std::ifstream file("/proc/kallsyms");
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with(" T schedule")) return std::stoull(line, nullptr, 16);
  }
  return 0;
}

// In the child: 0 if all is well, else the number of what was not.
int read_without_privileges(Kallsyms& symbols, std::uint64_t address, const std::string& modules) {
  if (!daemon::drop_privileges()) return 1;
  if (address_of_schedule() != 0) return 2;  // opened now, it shows none
  std::ofstream(modules) << "changed 4096 0 - Live 0x1000\n" << std::flush;
  if (!symbols.refresh()) return 3;
  if (symbols.at(address) != "schedule") return 4;
  return symbols.refresh() ? 5 : 0;
}

}  // namespace

TEST_CASE("names: what was opened before privileges were given up shows addresses afterwards") {
  const HiddenAddresses hidden(1);
  const std::uint64_t address = address_of_schedule();
  REQUIRE(address != 0);
  // The kernel's own symbols, and a list of modules that the test can change.
  const TemporaryDirectory proc;
  std::filesystem::create_symlink("/proc/kallsyms", proc.path("kallsyms"));
  proc.write("modules", "");
  Kallsyms symbols = Kallsyms::open(proc.path());
  REQUIRE(symbols.at(address) == "schedule");
  const pid_t child = fork();
  if (child == 0) _exit(read_without_privileges(symbols, address, proc.path("modules")));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("names: where the kernel hides addresses, none is shown, and callbacks are unknown", "[core]") {
  const HiddenAddresses hidden(2);
  const TemporaryDirectory directory;
  const std::string socket = directory.path("noised.sock");
  Background daemon({kNoised, "--cpus", std::to_string(probed_cpu()), "--socket", socket});
  const auto ask = [&](const Arguments& command) {
    Arguments arguments{kNoisectl, "--socket", socket};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run(arguments);
  };
  REQUIRE(eventually([&] { return ask({"status"}).exit_code == 0; }));
  const auto report = [&] { return ask({"report", "--json"}).out; };
  // The timer of somebody who sleeps there, if the tick itself is off.
  CHECK(eventually([&] {
    const Outcome slept = run({"taskset", "-c", std::to_string(probed_cpu()), "sleep", "0.01"});
    return slept.exit_code == 0 && report().find("\"name\":\"unknown\"") != std::string::npos;
  }));
  for (const std::string& text : {report(), ask({"detours", "--json"}).out})
    CHECK(text.find("0xffff") == std::string::npos);
  const Outcome metrics = run({"curl", "-s", "--unix-socket", socket, "http://noised/metrics"});
  if (metrics.exit_code == 127) SKIP("curl is not installed");
  CHECK(metrics.out.find("source=\"unknown\"") != std::string::npos);
  CHECK(metrics.out.find("0xffff") == std::string::npos);
  CHECK(ask({"status"}).out.find("function names") != std::string::npos);
}
