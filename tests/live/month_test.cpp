// SPDX-License-Identifier: Apache-2.0
// What weeks bring to a node, squeezed: jobs whose tasks have names of their own, tasks that rename themselves, pids
// that come round, cgroups, modules, clock steps, CPUs offline, changed configurations and an upgrade. The culprit of
// each round is named, nothing goes back and nothing grows but by the names that there are.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
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
constexpr unsigned kNamesARound = 150;  // of the task that renames itself; in half an hour, more than there is room for
constexpr unsigned kReadsARound = 50;   // from the disk that a module makes up
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

// A daemon with a loop on one CPU, or a task there that is watched.
class Node {
 public:
  explicit Node(const std::string& mode)
      : mode_(mode), cpu_(probed_cpu()), quiet_(cpu_), socket_(directory_.path("socket")) {
    if (mode == "watch")
      victim_.emplace(Arguments{"taskset", "-c", std::to_string(cpu_), "sh", "-c", "while :; do :; done"});
    configure(0);
    start();
  }

  void start() {
    process_.emplace(Arguments{kNoised, "--config", directory_.path("noised.conf"), "--mode", mode_, "--cpus",
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
  std::string mode_;
  unsigned cpu_;
  QuietCpu quiet_;
  std::optional<Background> victim_;
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
  const Outcome renamed = run({"taskset", "-c", std::to_string(cpu), kSwarm, "rename",
                               std::to_string(round * kNamesARound), std::to_string(kNamesARound)});
  INFO(renamed.err);
  CHECK(renamed.exit_code == 0);
}

// A disk that answers by a timer on the CPU that reads. Its module comes and goes, in odd rounds after another one has
// taken its place in the kernel's memory.
class ComingModule {
 public:
  [[nodiscard]] static bool is_there() { return std::filesystem::exists("/modules/null_blk.ko"); }

  explicit ComingModule(unsigned round) {
    if (!std::filesystem::exists("/sys/module/configfs")) load({"/modules/configfs.ko"});
    if (round % 2 == 1) load({"/modules/loop.ko"});
    load({"/modules/null_blk.ko", "queue_mode=2", "irqmode=2", "completion_nsec=50000", "nr_devices=1"});
  }
  ~ComingModule() {
    for (auto module = loaded_.rbegin(); module != loaded_.rend(); ++module) (void)run({"rmmod", *module});
  }
  ComingModule(const ComingModule&) = delete;
  ComingModule& operator=(const ComingModule&) = delete;

  static void read(unsigned cpu) {
    const Outcome outcome = run({"taskset", "-c", std::to_string(cpu), "dd", "if=/dev/nullb0", "of=/dev/null",
                                 "bs=4096", fmt::format("count={}", kReadsARound), "iflag=direct"});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
  }

 private:
  void load(const Arguments& module) {
    Arguments command{"insmod"};
    command.insert(command.end(), module.begin(), module.end());
    const Outcome outcome = run(command);
    INFO(module.front() << ": " << outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const std::string name = std::filesystem::path(module.front()).stem();
    if (name != "configfs") loaded_.push_back(name);
  }
  std::vector<std::string> loaded_;
};

std::uint64_t count_of(const Report& report, const std::string& kind, const std::string& name) {
  const auto found = std::ranges::find_if(
      report.sources, [&](const ReportSource& source) { return source.kind == kind && source.name == name; });
  return found == report.sources.end() ? 0 : found->count;
}

std::uint64_t timers_of(const Report& report) { return count_of(report, "hrtimer", "null_cmd_timer_expired"); }

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
  const std::string mode = GENERATE("probe", "watch");
  const std::uint64_t begin_ns = monotonic_ns();
  const std::uint64_t whole_ns = std::stoull(seconds) * 1'000'000'000 / 2;
  const FewPids few;
  Node node(mode);
  Samples before = node.samples();
  unsigned lost_cpus = 0;
  bool upgraded = false;
  std::uint64_t timers = 0;
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
      timers = 0;
    }
    node.reload(round);
    const std::string name = culprit_name(round);
    const std::uint64_t made = take_time(node.cpu(), name);
    if (ComingModule::is_there()) {
      const ComingModule disk(round);
      ComingModule::read(node.cpu());
      // What is drained when the module has gone has no name any more.
      CHECK(eventually([&] { return timers_of(node.report()) >= timers + kReadsARound * 9 / 10; }));
    }
    const Report report = node.report();
    INFO(mode << ", round " << round << ": " << name << ", " << made << " times");
    CHECK(count_of(report, "task", name) >= made * 9 / 10);
    // Beside the victim it gets the CPU in pieces, each of which is one that the victim waits for.
    CHECK(count_of(report, "task", name) <= made * (mode == "watch" ? 4 : 2));
    timers = timers_of(report);
    CHECK(count_of(report, "hrtimer", "unknown") == 0);
    const Samples now = node.samples();
    check_counters(before, now);
    before = now;
    if (upgraded) looks.push_back({round, resident_kib(node.pid()), descriptors_of(node.pid()), now.size()});
  }
  for (const Look& look : looks) {
    if (look.round % 10 == 0 || look.round + 1 == round)
      WARN(mode << ", round " << look.round << ": " << look.kib << " KiB, " << look.descriptors << " descriptors, "
                << look.series << " samples");
  }
  const Look& first = looks[std::max(kWarmLooks, looks.size() / 4)];
  const Look& last = looks.back();
  CHECK(last.descriptors <= first.descriptors);
  const std::size_t names = std::min((last.round - first.round) * std::size_t{kNamesARound + 1}, SourceTable::kTasks);
  CHECK(last.kib <= first.kib + kKibAtMost + kKibAName * names);
  WARN(mode << ", " << round << " rounds: " << round * kTasksARound << " tasks, " << round * (kNamesARound + 1)
            << " names, " << round * kCgroupsARound << " cgroups, " << (ComingModule::is_there() ? round : 0)
            << " times a module, " << 2 * round << " steps of the clock, " << lost_cpus << " times a CPU offline, "
            << round << " reloads; " << family_sum(before, "noised_lost_total") << " lost, "
            << family_sum(before, "noised_sources_unnamed_total") << " unnamed, "
            << family_sum(before, "noised_sources_departed_total") << " names left");
}
