// SPDX-License-Identifier: Apache-2.0
// A CPU that a real-time task has all of is told from the others, since nothing can be watched there.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "noised/hogged_cpus.h"
#include "processes.h"

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
    Background ordinary({"taskset", "-c", std::to_string(cpu), "sh", "-c", "echo"});
    const bool ran = eventually([&] { return !ordinary.out().empty(); }, std::chrono::seconds(2));
    if (!ran) move_to(ordinary.pid(), cpu == 0 ? 1 : 0);  // there it can be killed
    if (ran) SKIP("this kernel leaves ordinary tasks time beside real-time ones (the fair server of Linux 6.12)");
  }

 private:
  Background process_;
};

}  // namespace

TEST_CASE("hogged: a CPU that a real-time task has all of is found, and nobody is left there") {
  const std::vector<unsigned> cpus = online_cpus().value();
  const unsigned hogged = probed_cpu();
  const Elsewhere away(hogged);
  CHECK(daemon::hogged_cpus(cpus).empty());
  {
    const NoThrottle unlimited;
    const Hog hog(hogged);
    CHECK(daemon::hogged_cpus(cpus) == std::vector<unsigned>{hogged});
  }
  CHECK(daemon::hogged_cpus(cpus).empty());
}
