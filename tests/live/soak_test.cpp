// SPDX-License-Identifier: Apache-2.0
// A daemon beside every kind of noise for half an hour, scraped every five seconds: flat memory, nothing lost, no
// counter that goes back. (tests/soak has a day of made-up events.)
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "daemon.h"
#include "processes.h"
#include "scrape.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::chrono::seconds kBetweenScrapes{5};
constexpr std::uint64_t kWarmNs = 60 * kSecondNs;
// One after the other, so that all nine kinds come in the first minute: a source's histograms grow when it is first
// seen.
constexpr const char* kNoiseTime = "4s";
// One more source is 2 KiB, and a scrape that is some digits longer touches a page: that comes now and then (2 of 23
// looks, 12 KiB in 110 s). What leaks a page between two looks grows in each.
constexpr std::size_t kSeldom = 2;
constexpr double kFlat = 1.01;

// Each kind of noise in its turn.
class Noises {
 public:
  explicit Noises(unsigned cpu) : cpu_(std::to_string(cpu)) {}

  void next() {
    end();
    constexpr std::array kModes = {"task", "hrtimer", "fault", "wake", "ipi", "work", "timer", "munmap", "cache"};
    now_ = std::make_unique<Background>(
        Arguments{kNoise, kModes[turn_++ % kModes.size()], "--cpu", cpu_, "--duration", kNoiseTime});
  }

  void end() const {
    if (now_) CHECK(now_->wait().exit_code == 0);
  }

 private:
  std::string cpu_;
  std::unique_ptr<Background> now_;
  std::size_t turn_ = 0;
};

}  // namespace

TEST_CASE("soak: memory is flat after the first minute, nothing is lost and no counter goes back") {
  const char* const seconds = std::getenv("NOISED_SOAK_SECONDS");
  if (seconds == nullptr) SKIP("half an hour with NOISED_SOAK_SECONDS=1800, on a CPU that is isolated");
  Daemon daemon;
  const pid_t pid = daemon.process().pid();
  Noises noises(daemon.cpu());
  Samples before = scrape(daemon.socket());
  const std::uint64_t begin_ns = monotonic_ns();
  const std::uint64_t end_ns = begin_ns + std::stoull(seconds) * kSecondNs;
  std::vector<std::size_t> settled_kib;  // from the end of the first minute on
  std::ostringstream course;
  for (int step = 1; monotonic_ns() < end_ns; ++step) {
    noises.next();
    std::this_thread::sleep_for(kBetweenScrapes);
    const Samples now = scrape(daemon.socket());
    check_counters(before, now);
    before = now;
    if (monotonic_ns() - begin_ns >= kWarmNs) settled_kib.push_back(resident_kib(pid));
    if (step % 24 == 0) {
      course << (monotonic_ns() - begin_ns) / kSecondNs << " s: " << resident_kib(pid) << " KiB, "
             << family_sum(now, "noised_detours_total") << " detours, " << family_sum(now, "noised_interruptions_total")
             << " interruptions, " << family_sum(now, "noised_lost_total") << " lost\n";
    }
  }
  noises.end();
  settled_kib.push_back(resident_kib(pid));
  CHECK(family_sum(before, "noised_interruptions_total") > 1'000);
  for (const auto& [name, value] : before) {
    INFO(name);
    if (name.starts_with("noised_lost_total")) CHECK(value == 0);
  }
  REQUIRE(settled_kib.size() > kSeldom);
  std::size_t grown = 0;
  for (std::size_t i = 1; i < settled_kib.size(); ++i) grown += settled_kib[i] > settled_kib[i - 1] ? 1 : 0;
  CHECK(grown * kSeldom <= settled_kib.size());
  CHECK(static_cast<double>(settled_kib.back()) <= static_cast<double>(settled_kib.front()) * kFlat);
  WARN(course.str() << "after the first minute " << settled_kib.front() << " KiB, at the end " << settled_kib.back()
                    << "; grown in " << grown << " of " << settled_kib.size() << " looks");
  daemon.process().signal(SIGTERM);
  CHECK(daemon.process().wait().exit_code == 0);
}
