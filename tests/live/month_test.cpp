// SPDX-License-Identifier: Apache-2.0
// What weeks bring to a node, squeezed: jobs whose tasks have names of their own, pids that come round, cgroups, clock
// steps, CPUs offline, changed configurations and an upgrade. The culprit of each round is named, nothing goes back and
// nothing grows but by the names that are new.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "processes.h"
#include "quiet_cpu.h"
#include "report_checks.h"
#include "scrape.h"
#include "test_cgroups.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr const char* kPidMax = "/proc/sys/kernel/pid_max";
constexpr unsigned kFewPids = 2048;     // so that 10,000 tasks have each of them several times
constexpr unsigned kTasksARound = 500;  // short ones
constexpr unsigned kCgroupsARound = 50;
// The first jobs bring 500 names, and what is remembered grows to its size: from 25,876 to 30,256 KiB in three rounds.
constexpr std::size_t kWarmLooks = 3;
constexpr int kStep = 86'400;  // of the clock, in s
// Of a name that is new: its statistics on a CPU, twice (counted, and in the snapshot), and its series in a scrape.
constexpr std::uint64_t kKibAName = 12;
constexpr std::uint64_t kKibAtMost = 2'048;  // beside them: rings of what is remembered fill, and a scrape has its text

std::size_t descriptors_of(pid_t pid) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid)),
                                                std::filesystem::directory_iterator()));
}

// "culprit-aab": no two are alike in letters, so that none stands for another.
std::string culprit_name(unsigned round) {
  std::string letters;
  for (int place = 0; place < 3; ++place, round /= 26)
    letters.insert(letters.begin(), static_cast<char>('a' + round % 26));
  return "culprit-" + letters;
}

class FewPids {
 public:
  FewPids() : before_(read_file(kPidMax).value()) { set(std::to_string(kFewPids)); }
  ~FewPids() { set(before_); }
  FewPids(const FewPids&) = delete;
  FewPids& operator=(const FewPids&) = delete;

 private:
  static void set(const std::string& value) { std::ofstream(kPidMax) << value << std::flush; }
  std::string before_;
};

// A daemon with a loop on one CPU.
class Node {
 public:
  Node() : cpu_(probed_cpu()), quiet_(cpu_), socket_(directory_.path("socket")) {
    configure(0);
    start();
  }

  void start() {
    process_.emplace(Arguments{kNoised, "--config", directory_.path("noised.conf"), "--mode", "probe", "--cpus",
                               std::to_string(cpu_), "--threshold", is_emulated() ? "20us" : "1us", "--socket", socket_,
                               "--web.listen-address", "", "--log-level", "error"});
    REQUIRE(eventually([this] { return run(command({"status"})).exit_code == 0; }, std::chrono::minutes(1)));
  }
  // As a package does it: the old one ends, the new one begins.
  void upgrade() {
    process_->signal(SIGTERM);
    const Outcome outcome = process_->wait();
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    start();
  }
  void reload(unsigned round) {
    configure(round);
    const Outcome outcome = run(command({"reload"}));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
  }
  [[nodiscard]] Arguments command(const Arguments& arguments) const {
    Arguments all{kNoisectl, "--socket", socket_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  [[nodiscard]] Report report() const {
    const Outcome outcome = run(command({"report", "--json"}));
    INFO(outcome.err);
    check_ledger(object_in(outcome.out));
    auto report = views::parse_report(outcome.out);
    if (!report) FAIL(report.error().line());
    return std::move(report).value();
  }
  [[nodiscard]] Samples samples() const { return scrape(socket_); }
  [[nodiscard]] unsigned cpu() const { return cpu_; }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }

 private:
  void configure(unsigned round) const {
    directory_.write("noised.conf", fmt::format("[trace]\ndrain_interval = '{}ms'\n", 25 + round % 5));
  }

  test::TemporaryDirectory directory_;
  unsigned cpu_;
  QuietCpu quiet_;
  std::string socket_;
  std::optional<Background> process_;
};

// Where the loop is, so that it sees each of them.
void run_jobs(unsigned cpu, unsigned round) {
  const Outcome outcome =
      run({"taskset", "-c", std::to_string(cpu), kSwarm, "short", std::to_string(kTasksARound + round % 7)},
          {.environment = {}, .user = {}, .timeout = std::chrono::minutes(1)});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
}

void make_cgroups(unsigned round) {
  TestCgroups cgroups(false, true);
  for (unsigned i = 0; i < kCgroupsARound; ++i) {
    const std::string path = fmt::format("/job-{}-{}", round, i);
    cgroups.make(path);
    Background member({"sleep", "0"});
    cgroups.join(path, member.pid());
    (void)member.wait();
  }
}

void step_clock() {
  const std::time_t now = std::time(nullptr);
  for (const std::time_t then : {now + kStep, now + 1})
    CHECK(run({"date", "-s", fmt::format("@{}", then)}).exit_code == 0);
}

// The last one that is neither the loop's nor the first; where there is none, or the kernel refuses, none goes.
bool lose_a_cpu(unsigned probed) {
  std::vector<unsigned> cpus = online_cpus().value();
  std::erase(cpus, probed);
  if (cpus.size() < 2) return false;
  const unsigned last = cpus.back();
  const std::string file = fmt::format("/sys/devices/system/cpu/cpu{}/online", last);
  if (!(std::ofstream(file) << 0 << std::flush)) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK((std::ofstream(file) << 1 << std::flush).good());
  return true;
}

// Takes the CPU from the loop now and then, under this name; how often.
std::uint64_t take_time(unsigned cpu, const std::string& name) {
  const Outcome outcome = run({kNoise, "task", "--cpu", std::to_string(cpu), "--duration", "1s", "--name", name,
                               "--period", "20ms", "--work", "1ms"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return object_in(outcome.out).at("occurrences").size();
}

}  // namespace

TEST_CASE("month: what weeks bring leaves names right, counters rising and memory flat") {
  const char* const seconds = std::getenv("NOISED_MONTH_SECONDS");
  if (seconds == nullptr)
    SKIP("it sets the clock and takes CPUs offline: for a guest, an hour with NOISED_MONTH_SECONDS=3600");
  const std::uint64_t begin_ns = monotonic_ns();
  const std::uint64_t whole_ns = std::stoull(seconds) * 1'000'000'000;
  const FewPids few;
  Node node;
  Samples before = node.samples();
  unsigned lost_cpus = 0;
  bool upgraded = false;
  struct Look {
    unsigned round;
    std::uint64_t kib;
    std::size_t descriptors;
    std::size_t series;
  };
  std::vector<Look> looks;  // at the daemon that there is at the end, after its first rounds
  unsigned round = 0;
  for (; monotonic_ns() - begin_ns < whole_ns || looks.size() < kWarmLooks + 2; ++round) {
    run_jobs(node.cpu(), round);
    make_cgroups(round);
    step_clock();
    lost_cpus += lose_a_cpu(node.cpu()) ? 1 : 0;
    if (!upgraded && monotonic_ns() - begin_ns > whole_ns / 4) {
      node.upgrade();
      upgraded = true;
      before.clear();
    }
    node.reload(round);
    const std::string name = culprit_name(round);
    const std::uint64_t made = take_time(node.cpu(), name);
    const Report report = node.report();
    const auto culprit = std::ranges::find_if(report.sources, [&](const ReportSource& source) {
      return source.cpu == node.cpu() && source.kind == "task" && source.name == name;
    });
    INFO("round " << round << ": " << name << ", " << made << " times");
    REQUIRE(culprit != report.sources.end());
    CHECK(culprit->count >= made * 9 / 10);
    CHECK(culprit->count <= made * 2);
    const Samples now = node.samples();
    check_counters(before, now);
    before = now;
    if (upgraded) looks.push_back({round, resident_kib(node.pid()), descriptors_of(node.pid()), now.size()});
  }
  for (const Look& look : looks) {
    if (look.round % 10 == 0 || look.round + 1 == round)
      WARN("round " << look.round << ": " << look.kib << " KiB, " << look.descriptors << " descriptors, " << look.series
                    << " samples");
  }
  const Look& first = looks[std::max(kWarmLooks, looks.size() / 4)];
  const Look& last = looks.back();
  CHECK(last.descriptors <= first.descriptors);
  CHECK(last.kib <= first.kib + kKibAtMost + kKibAName * (last.round - first.round));
  WARN(round << " rounds: " << round * kTasksARound << " tasks, " << round * kCgroupsARound << " cgroups, " << 2 * round
             << " steps of the clock, " << lost_cpus << " times a CPU offline, " << round << " reloads; "
             << family_sum(before, "noised_lost_total") << " lost, "
             << family_sum(before, "noised_sources_unnamed_total") << " unnamed");
}
