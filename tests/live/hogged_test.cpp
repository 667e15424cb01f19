// SPDX-License-Identifier: Apache-2.0
// A CPU that a real-time task has all of: it cannot be watched, and keeps nobody from watching the others.
#include <sched.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "processes.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

// The kernel leaves ordinary tasks nothing of a second in which a real-time one wants all of it.
class NoThrottle {
 public:
  NoThrottle() : before_(read_file(kFile).value()) {
    std::ofstream(kFile) << -1 << std::flush;
    if (read_file(kFile).value() != "-1\n") SKIP("kernel.sched_rt_runtime_us cannot be set");
  }
  ~NoThrottle() { std::ofstream(kFile) << before_ << std::flush; }
  NoThrottle(const NoThrottle&) = delete;
  NoThrottle& operator=(const NoThrottle&) = delete;

 private:
  static constexpr const char* kFile = "/proc/sys/kernel/sched_rt_runtime_us";
  std::string before_;
};

// Has all of a CPU as long as it lives; started from where the test goes on.
class Hog {
 public:
  explicit Hog(unsigned cpu)
      : process_({"taskset", "-c", std::to_string(cpu), "chrt", "-f", "50", "sh", "-c", "echo; while :; do :; done"}) {
    if (!eventually([this] { return !process_.out().empty(); })) SKIP("no real-time task can be started here");
  }

 private:
  Background process_;
};

}  // namespace

TEST_CASE("hogged: a CPU that a real-time task has all of is left out, and the others are watched") {
  std::vector<unsigned> others = online_cpus().value();
  const unsigned probed = probed_cpu();
  std::erase(others, probed);
  if (others.size() < 2) SKIP("it takes three CPUs: one to measure, one for the daemon and one to lose");
  const unsigned home = others.front();
  const unsigned hogged = others.back();
  const Elsewhere away(hogged);
  const NoThrottle unlimited;
  const test::TemporaryDirectory directory;
  const std::string socket = directory.path("socket");
  directory.write("noised.conf", "[service]\nhousekeeping_cpus = '" + std::to_string(home) + "'\n");
  for (const bool with_loop : {true, false}) {
    INFO("with a loop: " << with_loop);
    std::optional<Hog> hog(hogged);
    Arguments arguments{kNoised, "--config", directory.path("noised.conf"), "--socket", socket, "--web.listen-address",
                        ""};
    const Arguments more = with_loop ? Arguments{"--mode", "auto", "--cpus", std::to_string(probed)}
                                     : Arguments{"--mode", "watch", "--cpus", "all"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Background daemon(arguments);
    const bool answers = eventually([&] { return run({kNoisectl, "--socket", socket, "status"}).exit_code == 0; },
                                    std::chrono::minutes(1));
    INFO(daemon.err());
    REQUIRE(answers);
    const auto status = views::parse_status(run({kNoisectl, "--socket", socket, "status", "--json"}).out);
    REQUIRE(status);
    std::vector<unsigned> watched = online_cpus().value();
    std::erase(watched, hogged);
    CHECK(status.value().watched_cpus == format_cpu_list(watched));
    const std::string told = "a real-time task has all of CPUs " + std::to_string(hogged);
    CHECK(std::ranges::any_of(status.value().unsupported,
                              [&](const std::string& line) { return line.find(told) != std::string::npos; }));
    CHECK(daemon.err().find(told) != std::string::npos);
    hog.reset();
    daemon.signal(SIGTERM);
    CHECK(daemon.wait().exit_code == 0);
  }
}
