// SPDX-License-Identifier: Apache-2.0
// Phases of fixed work on this kernel: what they say of ticks is what the ledger says, and a task that walks through
// memory costs them more than one that only spins as long.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "command.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;
using Json = nlohmann::json;

namespace {

struct Recorded {
  Json phases;
  Json report;
};

Json shown(const std::string& file, const std::string& command) {
  const Outcome outcome = run({kNoisectl, "--replay", file, command, "--json"});
  INFO(command << ": " << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return Json::parse(outcome.out);
}

Recorded record(const Arguments& flags, const std::string& duration) {
  const TemporaryDirectory directory;
  const std::string file = directory.path("run");
  Arguments arguments{kNoised, "--cpus",   std::to_string(probed_cpu()), "--duration",  duration, "--record",
                      file,    "--socket", directory.path("socket"),     "--log-level", "error"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  CommandOptions options;
  options.timeout = std::chrono::seconds(60);
  const Outcome live = run(arguments, options);
  INFO(live.err);
  REQUIRE(live.exit_code == 0);
  return {shown(file, "phases"), shown(file, "report")};
}

/// A task on the CPU that does something every 10 ms until it is destroyed.
std::jthread every_10_ms(unsigned cpu, const char* name, std::chrono::milliseconds first,
                         std::function<void()> something) {
  return std::jthread([=, something = std::move(something)](const std::stop_token& stop) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    const sched_param priority{50};
    (void)sched_setscheduler(0, SCHED_FIFO, &priority);
    (void)pthread_setname_np(pthread_self(), name);
    for (auto next = std::chrono::steady_clock::now() + first; !stop.stop_requested();
         next += std::chrono::milliseconds(10)) {
      std::this_thread::sleep_until(next);
      something();
    }
  });
}

/// This thread, which looks every 10 ms whether the daemon has ended, is not moved by QuietCpu.
void stay_away_from(unsigned cpu) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return;
  CPU_CLR(cpu, &set);
  (void)sched_setaffinity(0, sizeof(set), &set);
}

const Json& cost_of(const Json& cpu, const std::string& source) {
  for (const Json& each : cpu["indirect"]["sources"]) {
    if (each["sources"][0] == source) return each;
  }
  FAIL(source << " is not in " << cpu["indirect"].dump());
  return cpu;
}

/// What evicting costs here by this test's own clock: the median of how much longer a walk through 64 KiB takes after
/// `thrash` than after `spin`, which takes as long.
std::int64_t cost_of_evicting(unsigned cpu, const std::function<void()>& thrash, const std::function<void()>& spin) {
  constexpr std::size_t kRounds = 300;
  std::vector<std::int64_t> costs;
  std::jthread walker([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    std::vector<unsigned char> footprint(std::size_t{64} << 10U, 1);
    volatile unsigned sum = 0;
    const auto walk_ns = [&] {
      const std::uint64_t start_ns = monotonic_ns();
      for (std::size_t i = 0; i < footprint.size(); i += 64) sum = sum + footprint[i];
      return static_cast<std::int64_t>(monotonic_ns() - start_ns);
    };
    for (std::size_t round = 0; round < kRounds; ++round) {
      thrash();
      const std::int64_t after_thrashing = walk_ns();
      (void)walk_ns();
      spin();
      costs.push_back(after_thrashing - walk_ns());
    }
  });
  walker.join();
  std::ranges::nth_element(costs, costs.begin() + kRounds / 2);
  return costs[kRounds / 2];
}

}  // namespace

TEST_CASE("phases: count and direct cost of each source are those of the ledger") {
  if (!has_tick(probed_cpu())) SKIP("no tick on this CPU");
  const QuietCpu quiet(probed_cpu());
  const Recorded recorded = record({"--work", "12288"}, "3s");
  const Json& cpu = recorded.phases["cpus"][0];
  INFO(cpu.dump());
  CHECK(cpu["iterations"] == 12288);
  CHECK(cpu["phases"].get<std::uint64_t>() > 1'000);
  CHECK(cpu["total_ns"] <= recorded.report["elapsed_ns"]);
  bool tick = false;
  for (const Json& source : recorded.report["sources"]) {
    INFO(source.dump());
    const auto same = [&](const Json& each) {
      return each["kind"] == source["kind"] && each["name"] == source["name"];
    };
    const auto found = std::find_if(cpu["direct"].begin(), cpu["direct"].end(), same);
    REQUIRE(found != cpu["direct"].end());
    CHECK((*found)["count"].get<std::uint64_t>() + (*found)["outside_count"].get<std::uint64_t>() == source["count"]);
    if (!(*found)["total_ns"].is_null())
      CHECK((*found)["total_ns"].get<std::uint64_t>() + (*found)["outside_ns"].get<std::uint64_t>() ==
            source["total_ns"]);
    if (source["name"] != "local_timer") continue;
    tick = true;
    // Phases are nearly all of the time.
    CHECK((*found)["count"].get<double>() > 0.9 * source["count"].get<double>());
  }
  CHECK(tick);
}

TEST_CASE("phases: a task that evicts the footprint costs more than one that does not") {
  if (is_emulated()) SKIP("an emulated CPU has no caches");  // what it costs there, 4.4 us once, is the emulator's own
  const unsigned cpu = probed_cpu();
  const QuietCpu quiet(cpu);
  // Four times the cache that the footprint fills.
  const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (cache <= 0) SKIP("the size of the second cache is not known");
  std::vector<unsigned char> memory(4 * static_cast<std::size_t>(cache));
  std::atomic<std::uint64_t> spent_ns{UINT64_MAX};
  const auto thrash = [&] {
    const std::uint64_t start_ns = monotonic_ns();
    for (std::size_t i = 0; i < memory.size(); i += 64) static_cast<volatile unsigned char&>(memory[i]) = 1;
    spent_ns = std::min(spent_ns.load(), monotonic_ns() - start_ns);  // the host's stalls are not its
  };
  const auto spin = [&] {
    const std::uint64_t start_ns = monotonic_ns();
    while (spent_ns != UINT64_MAX && monotonic_ns() - start_ns < spent_ns) {
    }
  };
  // More than the first cache, a fraction of the second. On a virtual machine, whose core's other thread does somebody
  // else's work, there may be little to evict; most of it is paid within the phase that was interrupted.
  constexpr std::int64_t kTellableNs = 1'000;
  const std::int64_t cost_ns = cost_of_evicting(cpu, thrash, spin);
  if (cost_ns < kTellableNs) SKIP("evicting 64 KiB costs " << cost_ns << " ns here, by this test's own clock");
  const std::jthread first = every_10_ms(cpu, "thrasher", std::chrono::milliseconds(5), thrash);
  const std::jthread second = every_10_ms(cpu, "spinner", std::chrono::milliseconds(10), spin);
  stay_away_from(cpu);
  const Recorded recorded = record({"--grain", "100us", "--footprint", "64KiB"}, "20s");
  CHECK(recorded.phases["grain_ns"] == 100'000);
  const Json& measured = recorded.phases["cpus"][0];
  INFO("evicting costs " << cost_ns << " ns; " << measured["indirect"].dump());
  const Json& thrasher = cost_of(measured, "task:thrasher");
  const Json& spinner = cost_of(measured, "task:spinner");
  REQUIRE_FALSE(thrasher["indirect"].is_null());
  REQUIRE_FALSE(spinner["indirect"].is_null());
  // By more than both intervals.
  CHECK(thrasher["after"]["low_ns"].get<std::int64_t>() > spinner["after"]["high_ns"].get<std::int64_t>());
  CHECK(thrasher["after"]["low_ns"].get<std::int64_t>() > 0);
}
