// SPDX-License-Identifier: Apache-2.0
// Several measured CPUs: what happened on each is told of it, and of no other.
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "report_checks.h"
#include "selftest/truth.h"
#include "unit/base/temporary_directory.h"
#include "views/detour.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

constexpr std::uint64_t kWorkNs = 3'000'000;

CommandOptions patient_for(int minutes) {
  CommandOptions options;
  options.timeout = std::chrono::minutes(minutes);
  return options;
}

// 3 ms every 60 ms on each CPU, by a process of its own, whose other threads stay off all of them. Where a host runs
// many CPUs on few of its own, an activation takes as many times longer: they come as much more rarely.
class Loads {
 public:
  explicit Loads(const std::vector<unsigned>& cpus, const std::string& duration) {
    const std::string period = std::to_string(cpus.size() > 4 ? 400 : 60) + "ms";
    for (const unsigned cpu : cpus) {
      loads_.emplace_back(Arguments{"taskset", "-c", std::to_string(online_cpus().value().front()), kNoise, "task",
                                    "--cpu", std::to_string(cpu), "--name", own_task(cpu), "--work",
                                    std::to_string(kWorkNs) + "ns", "--period", period, "--duration", duration},
                          patient_for(3));
    }
  }
  // What they did, by CPU in their order.
  std::vector<selftest::Truth> truths() {
    std::vector<selftest::Truth> truths;
    for (Background& load : loads_) {
      const Outcome outcome = load.wait();
      INFO(outcome.err);
      REQUIRE(outcome.exit_code == 0);
      auto truth = selftest::parse_truth(outcome.out);
      REQUIRE(truth);
      truths.push_back(std::move(truth).value());
    }
    return truths;
  }

 private:
  std::deque<Background> loads_;
};

std::vector<DetourView> recorded_detours(const std::string& file) {
  std::vector<DetourView> detours;
  const Outcome outcome = run({kNoisectl, "--replay", file, "detours", "--json"}, patient_for(3));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  for (const std::string& line : lines_of(outcome.out)) {
    auto detour = views::parse_detour(line);
    REQUIRE(detour);
    detours.push_back(std::move(detour).value());
  }
  return detours;
}

std::map<unsigned, std::set<std::string>> expected_tasks(const std::vector<unsigned>& cpus) {
  std::map<unsigned, std::set<std::string>> own;
  for (const unsigned cpu : cpus) own[cpu] = {own_task(cpu)};
  return own;
}

// By CPU, whom `noisectl check` blames.
std::map<unsigned, std::set<std::string>> tasks_blamed(const std::string& check) {
  std::map<unsigned, std::set<std::string>> blamed;
  const Json found = object_in(check);
  for (const Json& noisy : found.at("noisy")) {
    for (const Json& part : noisy.at("by")) blamed[noisy.at("cpu").get<unsigned>()].insert(part.at("name"));
  }
  return blamed;
}

// By CPU, which of the loads' tasks its detours name.
std::map<unsigned, std::set<std::string>> tasks_seen(const std::string& stream) {
  std::map<unsigned, std::set<std::string>> seen;
  for (const std::string& line : lines_of(stream)) {
    const auto detour = views::parse_detour(line);
    if (!detour) continue;  // it says how many detours the reader missed
    for (const DetourEntryView& entry : detour.value().entries) {
      if (entry.kind == "task" && entry.name.starts_with("only-cpu")) seen[detour.value().cpu].insert(entry.name);
    }
  }
  return seen;
}

// By CPU, what others had of its own task's activations: interrupts, mostly, which the task's clock has too.
std::map<unsigned, std::uint64_t> inside_own_tasks(const std::vector<DetourView>& detours) {
  std::map<unsigned, std::uint64_t> inside_ns;
  for (const DetourView& detour : detours) {
    const auto is_own = [&](const DetourEntryView& entry) {
      return entry.kind == "task" && entry.name == own_task(detour.cpu);
    };
    if (std::ranges::none_of(detour.entries, is_own)) continue;
    inside_ns[detour.cpu] += detour.overhead_ns;
    for (const DetourEntryView& entry : detour.entries) {
      const bool nobody = entry.kind == "hypervisor" || entry.kind == "hardware" || entry.kind == "unexplained";
      if (!nobody && !is_own(entry)) inside_ns[detour.cpu] += entry.self_ns;
    }
  }
  return inside_ns;
}

// Of one CPU: its task is there as often and as long as it says itself, and no other's. `inside_ns`: what others had of
// the detours that its task was in.
void check_own_task(const Report& report, unsigned cpu, const selftest::Truth& truth, std::uint64_t inside_ns) {
  std::uint64_t worked_ns = 0;
  std::uint64_t most_ns = 0;
  std::uint64_t preempted = 0;
  for (const selftest::Occurrence& each : truth.occurrences) {
    worked_ns += each.cpu_ns;
    most_ns += std::max(each.charged_ns, each.cpu_ns);
    preempted += each.preempted;
  }
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  for (const ReportSource& source : report.sources) {
    if (source.kind != "task" || !source.name.starts_with("only-cpu")) continue;
    if (source.cpu == cpu) {
      CHECK(source.name == own_task(cpu));
      count += source.count;
      total_ns += source.total_ns;
    } else {
      CHECK(source.name != own_task(cpu));
    }
  }
  const std::uint64_t slept = static_cast<std::uint64_t>(
      std::ranges::count_if(truth.occurrences, [](const selftest::Occurrence& each) { return each.slept; }));
  INFO("CPU " << cpu << ": made " << truth.occurrences.size() << " (" << slept << " after a sleep, " << preempted
              << " times preempted), " << worked_ns << " to " << most_ns << " ns; told " << count << ", " << total_ns
              << " ns, and " << inside_ns << " ns of others in these detours");
  REQUIRE(truth.occurrences.size() >= 10);
  // Beside its activations, the thread runs briefly when it moves to the CPU and when it ends.
  CHECK(count >= slept);
  CHECK(count <= truth.occurrences.size() + preempted + 6);
  // What runs inside an activation is the others': ticks, mostly, a quarter of the time in a busy emulator. What the
  // host takes is in neither clock alike.
  CHECK(total_ns + inside_ns >= worked_ns * 95 / 100);
  CHECK(total_ns >= worked_ns * (is_emulated() ? 50 : 80) / 100);
  CHECK(total_ns <= most_ns * 150 / 100 + 6 * kWorkNs);
}

void check_shown_cpu(const Report& report, unsigned cpu) {
  const ReportCpu shown = cpu_of(report, cpu);
  INFO("CPU " << cpu);
  CHECK(shown.detours > 0);
  CHECK(shown.explained_ns > 0);
  CHECK(shown.observed_ns > report.elapsed_ns / 2);
  REQUIRE(shown.containment.has_value());
  CHECK(*shown.containment >= 0.999);
  CHECK(shown.explained_ns + shown.overhead_ns + shown.hypervisor_ns + shown.hardware_ns + shown.unexplained_ns ==
        shown.detour_ns);
}

std::string threshold() { return is_emulated() ? "5us" : "1us"; }

// The rows of a CSV file whose first column is this.
std::size_t rows_of(const std::string& csv, const std::string& cpu) {
  std::size_t rows = 0;
  for (const std::string& line : lines_of(csv)) rows += line.starts_with(cpu + ",") ? 1U : 0U;
  return rows;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("several: each CPU tells of its own task, counted and timed, live and recorded, by every command") {
  const std::vector<unsigned> cpus = measured_cpus();
  const std::string list = format_cpu_list(cpus);
  const TemporaryDirectory directory;
  const std::string file = directory.path("recording");
  std::deque<QuietCpu> quiet;
  for (const unsigned cpu : cpus) quiet.emplace_back(cpu);
  const std::string socket = directory.path("socket");
  Background daemon({kNoised, "--cpus", list, "--threshold", threshold(), "--record", file, "--socket", socket,
                     "--web.listen-address", "", "--log-level", "error", "--duration", "10m", "--report", "json"},
                    patient_for(3));
  const auto ask = [&](const Arguments& arguments) {
    Arguments all{kNoisectl, "--socket", socket};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all, patient_for(3));
  };
  REQUIRE(eventually([&] { return ask({"status"}).exit_code == 0; }, std::chrono::minutes(1)));
  // Followed, not asked for when all is over: the daemon keeps the latest 2,048 of all CPUs together, and in an
  // emulator one CPU was seen to have none among them.
  Background follower({kNoisectl, "--socket", socket, "detours", "--follow", "--json", "--min", "1ms"}, patient_for(3));
  std::vector<selftest::Truth> truths;
  const std::uint64_t begun_ns = monotonic_ns();
  {
    Loads loads(cpus, "6s");
    truths = loads.truths();
  }
  const Outcome status = ask({"status", "--json"});
  CHECK(status.exit_code == 0);
  const Arguments check{"check", "--json", "--source", "task:only-cpu*=1ms"};
  const Outcome lately = ask(check);
  INFO(lately.out << lately.err);
  CHECK(lately.exit_code == 3);
  // Where starting them took longer than that, the first are in the last minute no more.
  if (monotonic_ns() - begun_ns < 60'000'000'000) CHECK(tasks_blamed(lately.out) == expected_tasks(cpus));
  follower.signal(SIGINT);
  const Outcome followed = follower.wait();
  INFO(followed.err);
  CHECK(tasks_seen(followed.out) == expected_tasks(cpus));
  daemon.signal(SIGTERM);
  const Outcome ended = daemon.wait();
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  const auto parsed = views::parse_report(ended.out);
  REQUIRE(parsed);
  const Report& report = parsed.value();
  REQUIRE(report.cpus.size() == cpus.size());
  const auto replay = [&](const Arguments& arguments) {
    Arguments all{kNoisectl, "--replay", file};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all, patient_for(3));
  };
  CHECK(replay({"report", "--json"}).out == ended.out);
  CHECK(tasks_blamed(replay(check).out) == expected_tasks(cpus));
  const Json histogram = object_in(replay({"histogram", "--json"}).out);
  std::map<unsigned, std::uint64_t> told;
  const std::vector<DetourView> detours = recorded_detours(file);
  for (const DetourView& detour : detours) ++told[detour.cpu];
  std::map<unsigned, std::uint64_t> inside_ns = inside_own_tasks(detours);
  for (std::size_t place = 0; place < cpus.size(); ++place) {
    check_shown_cpu(report, cpus[place]);
    check_own_task(report, cpus[place], truths[place], inside_ns[cpus[place]]);
  }
  CHECK(report.clock.containment_cpu.has_value());

  const Outcome exported = replay({"export", "--format", "csv", "-o", directory.path("csv")});
  INFO(exported.err);
  REQUIRE(exported.exit_code == 0);
  const std::string detours_csv = file_text(directory.path("csv/detours.csv"));
  REQUIRE_FALSE(detours_csv.empty());
  for (const unsigned cpu : cpus) {
    INFO("CPU " << cpu);
    const std::uint64_t count = cpu_of(report, cpu).detours;
    CHECK(told[cpu] == count);
    CHECK(rows_of(detours_csv, std::to_string(cpu)) == count);
    const auto series = std::ranges::find_if(histogram.at("series"), [&](const Json& each) {
      return each.at("cpu") == cpu && each.at("kind").get<std::string>().empty();
    });
    REQUIRE(series != histogram.at("series").end());
    CHECK(series->at("count") == count);
  }
}

TEST_CASE("several: phases of fixed work run on each CPU, and each one's own task costs its own") {
  const std::vector<unsigned> cpus = measured_cpus();
  const TemporaryDirectory directory;
  std::deque<QuietCpu> quiet;
  for (const unsigned cpu : cpus) quiet.emplace_back(cpu);
  const std::string file = directory.path("recording");
  const std::string socket = directory.path("socket");
  Background daemon(
      {kNoised, "--cpus", format_cpu_list(cpus), "--threshold", threshold(), "--grain", "10ms", "--record", file,
       "--socket", socket, "--web.listen-address", "", "--log-level", "error", "--duration", "10m"},
      patient_for(3));
  REQUIRE(eventually([&] { return run({kNoisectl, "--socket", socket, "status"}).exit_code == 0; },
                     std::chrono::minutes(1)));
  (void)Loads(cpus, "4s").truths();
  daemon.signal(SIGTERM);
  const Outcome ended = daemon.wait();
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  const Json phases = object_in(run({kNoisectl, "--replay", file, "phases", "--json"}, patient_for(3)).out);
  REQUIRE(phases.at("cpus").size() == cpus.size());
  for (std::size_t place = 0; place < cpus.size(); ++place) {
    const Json& of = phases.at("cpus").at(place);
    INFO("CPU " << cpus[place] << ": " << of.dump().substr(0, 300));
    CHECK(of.at("cpu") == cpus[place]);
    CHECK(of.at("phases").get<std::uint64_t>() >= 20);
    CHECK(of.at("iterations").get<std::uint64_t>() > 0);
    const std::string text = of.dump();
    for (const unsigned other : cpus)
      CHECK((text.find('"' + own_task(other) + '"') != std::string::npos) == (other == cpus[place]));
  }
}

TEST_CASE("several: a task that one measured CPU wakes on another names it, and that one's own detours do not") {
  const std::vector<unsigned> cpus = measured_cpus();
  if (cpus.size() < 2) SKIP("one CPU is measured here: none of two can wake the other");
  constexpr int kTimes = 40;
  for (std::size_t place = 0; place < std::min<std::size_t>(cpus.size(), 3); ++place) {
    const unsigned woken = cpus[place];
    const unsigned waking = cpus[(place + 1) % std::min<std::size_t>(cpus.size(), 3)];
    const auto become = [](const char* name, unsigned cpu) {
      prctl(PR_SET_NAME, name);
      const CpuSet own({cpu});
      const sched_param priority{2};
      (void)sched_setaffinity(0, own.bytes(), own.get());
      (void)sched_setscheduler(0, SCHED_FIFO, &priority);
    };
    const Descriptor event(eventfd(0, EFD_SEMAPHORE));
    std::atomic<bool> ready = false;
    // Before the first wakeup and after the last read, where it gives its stack back, the sleeper also waits for
    // others' work on the memory that they share, such as the thread that drains, and is woken by them.
    std::atomic<std::uint64_t> first_wakeup_ns = UINT64_MAX;
    std::atomic<std::uint64_t> last_read_ns = 0;
    // So often did it sleep meanwhile: where a host stops the emulator, one run reads what was written several times.
    std::atomic<long> slept = 0;
    Measurement measurement(std::vector<unsigned>{woken, waking});
    measurement.begin();
    measurement.run(1'500, [&] {
      std::jthread sleeper([&] {
        become("several-woken", woken);
        std::uint64_t value = 0;
        const auto sleeps = [] {
          rusage used{};
          getrusage(RUSAGE_THREAD, &used);
          return used.ru_nvcsw;
        };
        const long before = sleeps();
        ready = true;
        for (int time = 0; time < kTimes; ++time) (void)!::read(event.get(), &value, sizeof(value));
        last_read_ns = monotonic_ns();
        slept = sleeps() - before;
      });
      std::jthread waker([&] {
        become("several-waker", waking);
        const std::uint64_t one = 1;
        while (!ready) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (int time = 0; time < kTimes; ++time) {
          std::this_thread::sleep_for(std::chrono::milliseconds(25));
          if (time == 0) first_wakeup_ns = monotonic_ns();
          (void)!::write(event.get(), &one, sizeof(one));
        }
      });
    });
    measurement.end();
    const Report report = measurement.report();
    int named = 0;
    int activations = 0;
    for (const DetourView& detour : measurement.detours()) {
      for (const DetourEntryView& entry : detour.entries) {
        if (entry.name == "several-waker") CHECK(detour.cpu == waking);
        if (entry.name != "several-woken") continue;
        CHECK(detour.cpu == woken);
        if (detour.start_ns < first_wakeup_ns || detour.start_ns > last_read_ns) continue;
        ++activations;
        const std::map<std::string, std::string> detail(entry.detail.begin(), entry.detail.end());
        const auto waker = detail.find("waker_cpu");
        if (waker == detail.end()) continue;
        INFO("activation " << activations << ": " << views::chain_text(entry));
        CHECK(waker->second == std::to_string(waking));
        named += waker->second == std::to_string(waking) ? 1 : 0;
      }
    }
    INFO("CPU " << woken << ", woken by CPU " << waking << ": " << named << " of " << activations << " named, it slept "
                << slept << " times");
    CHECK(slept >= kTimes / 4);
    // All of them but one at either end, and those that the feed sums up with others in a long detour.
    const long least = report.lost.by.empty() ? slept * 9 / 10 - 1 : slept / 2;
    CHECK(activations >= least);
    CHECK(named >= least);
    for (const unsigned cpu : {woken, waking}) check_shown_cpu(report, cpu);
  }
}

TEST_CASE("several: loops leave only the CPU that a task comes to, in mode auto") {
  const std::vector<unsigned> cpus = measured_cpus();
  if (cpus.size() < 2) SKIP("one CPU is measured here: there is no other whose loop could stay");
  const TemporaryDirectory directory;
  std::deque<QuietCpu> quiet;
  for (const unsigned cpu : cpus) quiet.emplace_back(cpu);
  const std::string socket = directory.path("socket");
  const Background daemon({kNoised, "--mode", "auto", "--cpus", format_cpu_list(cpus), "--quiet-time", "100ms",
                           "--threshold", threshold(), "--socket", socket, "--web.listen-address", "", "--log-level",
                           "error"});
  const auto status = [&] {
    const Outcome outcome = run({kNoisectl, "--socket", socket, "status", "--json"});
    return outcome.exit_code == 0 ? views::parse_status(outcome.out) : Result<StatusView>(failure("no answer"));
  };
  const auto aside = [&] {
    const auto now = status();
    return now && now.value().aside ? now.value().aside->cpus : "?";
  };
  REQUIRE(eventually([&] { return aside().empty(); }, std::chrono::minutes(1)));
  for (const unsigned cpu : {cpus.front(), cpus.back()}) {
    INFO("a task on CPU " << cpu);
    {
      const Background task({"taskset", "-c", std::to_string(cpu), "sh", "-c", "while :; do :; done"});
      REQUIRE(eventually([&] { return aside() == std::to_string(cpu); }));
      // It stays the only one.
      for (int time = 0; time < 2; ++time) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        CHECK(aside() == std::to_string(cpu));
      }
    }
    REQUIRE(eventually([&] { return aside().empty(); }));
  }
}

TEST_CASE("several: a CPU in the middle that is offline is not measured, and does not shift the others") {
  const std::vector<unsigned> cpus = measured_cpus();
  if (cpus.size() < 3) SKIP("fewer than three CPUs are measured here: there is none in the middle");
  const unsigned middle = cpus[1];
  const std::string online = "/sys/devices/system/cpu/cpu" + std::to_string(middle) + "/online";
  const auto set = [&](int value) { return static_cast<bool>(std::ofstream(online) << value << std::flush); };
  if (!set(0)) SKIP("CPU " + std::to_string(middle) + " cannot go offline (Linux 6.12 refuses that of isolated ones)");
  std::vector<unsigned> others = cpus;
  std::erase(others, middle);
  const TemporaryDirectory directory;
  std::map<unsigned, std::uint64_t> inside_ns;
  const auto measure = [&](const std::vector<unsigned>& measured, const auto& meanwhile) {
    const std::string socket = directory.path("socket");
    const std::string file = directory.path("recording");
    std::filesystem::remove(file);
    Background daemon(
        {kNoised, "--cpus", format_cpu_list(measured), "--threshold", threshold(), "--duration", "10m", "--report",
         "json", "--record", file, "--socket", socket, "--web.listen-address", "", "--log-level", "error"},
        patient_for(3));
    REQUIRE(eventually([&] { return run({kNoisectl, "--socket", socket, "status"}).exit_code == 0; },
                       std::chrono::minutes(1)));
    meanwhile();
    daemon.signal(SIGTERM);
    const Outcome outcome = daemon.wait();
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const auto report = views::parse_report(outcome.out);
    REQUIRE(report);
    inside_ns = inside_own_tasks(recorded_detours(file));
    return report.value();
  };
  std::vector<selftest::Truth> truths;
  const Report sparse = measure(others, [&] { truths = Loads(others, "3s").truths(); });
  REQUIRE(set(1));
  REQUIRE(sparse.cpus.size() == others.size());
  for (std::size_t place = 0; place < others.size(); ++place) {
    check_shown_cpu(sparse, others[place]);
    check_own_task(sparse, others[place], truths[place], inside_ns[others[place]]);
  }
  // And one that goes while it is measured, and comes back.
  const Report gone = measure(cpus, [&] {
    Loads loads(others, "4s");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    REQUIRE(set(0));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    REQUIRE(set(1));
    truths = loads.truths();
  });
  for (std::size_t place = 0; place < others.size(); ++place) {
    check_shown_cpu(gone, others[place]);
    check_own_task(gone, others[place], truths[place], inside_ns[others[place]]);
    CHECK(cpu_of(gone, others[place]).blind_ns == 0);
  }
  INFO("blind for " << cpu_of(gone, middle).blind_ns);
  CHECK(cpu_of(gone, middle).blind_ns > 1'500'000'000);
  CHECK(cpu_of(gone, middle).observed_ns > 1'000'000'000);
}
