// SPDX-License-Identifier: Apache-2.0
// The gate: the exit code says whether a CPU was quiet, and the line who made the noise.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>

#include "base/cpus.h"
#include "command.h"
#include "daemon.h"
#include "measurement.h"
#include "report_checks.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr int kGoodEnd = 0, kFailedEnd = 1, kNoisyEnd = 3, kBlindEnd = 4;

Outcome ask_check(const Daemon& daemon, const Arguments& limits) {
  Arguments arguments{"check", "--json"};
  arguments.insert(arguments.end(), limits.begin(), limits.end());
  return run(daemon.command(arguments));
}

// Some ten times 3 ms.
void plant_noise(unsigned cpu, const std::string& name) {
  const Outcome noise = run({kNoise, "task", "--cpu", std::to_string(cpu), "--name", name, "--work", "3ms", "--period",
                             "50ms", "--duration", "500ms"});
  INFO(noise.err);
  REQUIRE(noise.exit_code == 0);
}

// Nothing was above the limit. Where a kernel refuses runs of noised's programs, or a slow guest loses a record, names
// are not known to be whole: that is said, and of the detours themselves nothing is missing.
void check_quiet(const Outcome& outcome) {
  INFO(outcome.out << outcome.err);
  const Json found = object_in(outcome.out);
  CHECK(found.at("noisy").empty());
  for (const Json& blind : found.at("blind")) {
    const auto reason = blind.at("reason").get<std::string>();
    CHECK(reason.starts_with("lost: "));
    for (const char* const whole : {" blind", " detour_ring_full", " clock_backward", " recording_full"})
      CHECK_FALSE(reason.ends_with(whole));
  }
  CHECK(outcome.exit_code == (found.at("blind").empty() ? kGoodEnd : kBlindEnd));
}

void check_blames(const Outcome& outcome, unsigned cpu, const std::string& name) {
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == kNoisyEnd);
  const Json found = object_in(outcome.out);
  CHECK(found.at("verdict") == "noisy");
  REQUIRE(found.at("noisy").size() == 1);
  const Json& noisy = found.at("noisy").at(0);
  CHECK(noisy.at("cpu") == cpu);
  CHECK(noisy.at("found_ns").get<std::uint64_t>() > 2'000'000);
  REQUIRE(noisy.at("by").size() == 1);
  CHECK(noisy.at("by").at(0).at("kind") == "task");
  CHECK(noisy.at("by").at(0).at("name") == name);
}

}  // namespace

TEST_CASE("check: a CPU is quiet until noise is planted, and then it is named", "[core]") {
  Daemon daemon;
  const Arguments limit{"--source", "task:planted*=2ms"};
  std::this_thread::sleep_for(std::chrono::seconds(1));
  check_quiet(ask_check(daemon, limit));
  CHECK(ask_check(daemon, {"--max-detour", "1h"}).exit_code ==
        kGoodEnd);  // what names are made of does not matter here
  plant_noise(daemon.cpu(), "planted/1");
  check_blames(ask_check(daemon, limit), daemon.cpu(), "planted/1");

  const Outcome line = run(daemon.command({"check", "--max-detour", "2us", "--max-share", "0.0000001%"}));
  CHECK(line.exit_code == kNoisyEnd);
  CHECK(line.out.starts_with("noisy: CPU " + std::to_string(daemon.cpu()) + ": a detour of "));
  CHECK(line.out.find(" of the time, above ") != std::string::npos);
  CHECK(line.err.empty());

  // A measurement of its own has what happens meanwhile, and nothing of before.
  Arguments measured = limit;
  measured.insert(measured.end(), {"--for", "2s"});
  check_quiet(ask_check(daemon, measured));
  Background other({kNoise, "task", "--cpu", std::to_string(daemon.cpu()), "--name", "planted/2", "--work", "3ms",
                    "--period", "50ms", "--duration", "4s"});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  check_blames(ask_check(daemon, measured), daemon.cpu(), "planted/2");
  CHECK(other.wait().exit_code == 0);
}

TEST_CASE("check: what is not seen is never good", "[core]") {
  Daemon daemon;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const unsigned other = online_cpus().value().front();
  const Outcome elsewhere = ask_check(daemon, {"--max-detour", "1h", "--cpus", std::to_string(other)});
  CHECK(elsewhere.exit_code == kBlindEnd);
  CHECK(object_in(elsewhere.out).at("blind").at(0).at("cpu") == other);
  CHECK(ask_check(daemon, {"--max-detour", "1h"}).exit_code == kGoodEnd);

  daemon.process().signal(SIGSTOP);
  const Outcome hangs = ask_check(daemon, {"--max-detour", "1h"});
  CHECK(hangs.exit_code == kFailedEnd);
  CHECK(hangs.err.find("did not answer in time") != std::string::npos);
  daemon.process().signal(SIGCONT);
  REQUIRE(eventually([&] { return ask_check(daemon, {"--max-detour", "1h"}).exit_code != kFailedEnd; }));
  const Outcome stopped = ask_check(daemon, {"--max-detour", "1h"});  // its loop was off its CPU meanwhile
  INFO(stopped.out << stopped.err);
  CHECK(stopped.exit_code == kBlindEnd);

  daemon.process().signal(SIGTERM);
  (void)daemon.process().wait();
  const Outcome absent = ask_check(daemon, {"--max-detour", "1h"});
  CHECK(absent.exit_code == kFailedEnd);
  CHECK(absent.err.find("no daemon at") != std::string::npos);
  CHECK(ask_check(daemon, {}).exit_code == 2);
}

TEST_CASE("check: of watched tasks it tells who took their time, and nothing where none ran") {
  const unsigned cpu = probed_cpu();
  const WatchingDaemon daemon(std::to_string(cpu));
  const auto check_watched = [&](const Arguments& limits) {
    Arguments arguments{"check", "--json", "--cpus", std::to_string(cpu)};
    arguments.insert(arguments.end(), limits.begin(), limits.end());
    return run(daemon.command(arguments));
  };
  {
    Background busy({"taskset", "-c", std::to_string(cpu), "sh", "-c", "while :; do :; done"});
    std::this_thread::sleep_for(std::chrono::seconds(1));
    check_quiet(check_watched({"--source", "task:planted*=2ms"}));
    plant_noise(cpu, "planted/3");
    check_blames(check_watched({"--source", "task:planted*=2ms"}), cpu, "planted/3");
    busy.signal(SIGKILL);
    (void)busy.wait();
  }
  const WatchingDaemon alone(std::to_string(cpu));
  const QuietCpu quiet(cpu);
  // While it runs on, not as of its start: it measures there then what entering the kernel costs.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const Outcome idle = run(alone.command({"check", "--json", "--max-detour", "1h", "--for", "1s"}));
  INFO(idle.out << idle.err);
  CHECK(idle.exit_code == kBlindEnd);
}
