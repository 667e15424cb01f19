// SPDX-License-Identifier: Apache-2.0
// Limits of noise: what is above one is noisy, what was not seen is never good, and whoever took the time is named.
#include "analysis/check/check.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "views/check.h"

using namespace noised;
using namespace noised::analysis;

namespace {

constexpr std::uint64_t kObservedNs = 60'000'000'000;

ReportCpu checked_cpu(unsigned number, const std::string& mode = "probe") {
  ReportCpu cpu;
  cpu.cpu = number;
  cpu.mode = mode;
  cpu.observed_ns = kObservedNs;
  cpu.detours = 10;
  cpu.detour_ns = 60'000'000;  // 0.1%
  cpu.max_detour_ns = 20'000;
  cpu.longest = {{"task", "agent/1", 15'000}, {"overhead", "overhead", 5'000}};
  return cpu;
}

// CPUs 1 and 2, of which each lost the same to the same.
struct CheckScene {
  Report report;
  NoiseLimits limits;

  CheckScene() {
    report.elapsed_ns = kObservedNs;
    for (const unsigned cpu : {1U, 2U}) {
      report.cpus.push_back(checked_cpu(cpu));
      add(cpu, "task", "agent/1", 30'000'000, 15'000);
      add(cpu, "task", "agent/2", 20'000'000, 9'000);
      add(cpu, "softirq", "rcu", 10'000'000, 8'000);
    }
  }
  void add(unsigned cpu, const char* kind, const char* name, std::uint64_t total_ns, std::uint64_t max_ns) {
    ReportSource source;
    source.cpu = cpu;
    source.kind = kind;
    source.name = name;
    source.total_ns = total_ns;
    source.max_ns = max_ns;
    report.sources.push_back(source);
  }
  void lose(std::optional<unsigned> cpu, const char* reason) { report.lost.by.push_back({cpu, reason, 3}); }
  [[nodiscard]] CheckView check() const { return check_noise(report, limits); }
  [[nodiscard]] std::string verdict() const { return check().verdict; }
};

SourceLimit limit_of(const std::string& text) {
  const auto limit = parse_source_limit(text);
  if (!limit) FAIL(limit.error().line());
  return limit.value();
}

}  // namespace

TEST_CASE("a limit is the most that is allowed", "[check]") {
  CheckScene scene;
  scene.limits.max_detour_ns = 20'000;
  scene.limits.max_share = 1'000'000;  // 0.1%
  CHECK(scene.verdict() == "good");
  scene.report.cpus[1].max_detour_ns = 20'001;
  CHECK(scene.verdict() == "noisy");
  CHECK(scene.check().noisy.size() == 1);
  scene.report.cpus[0].detour_ns += 1;
  const CheckView view = scene.check();
  REQUIRE(view.noisy.size() == 2);
  CHECK(view.noisy[0].cpu == 1);
  CHECK(view.noisy[0].found_share > view.noisy[0].allowed_share);
  CHECK(view.noisy[0].by.at(0).name == "agent/1");
  CHECK(view.noisy[1].cpu == 2);
  CHECK(view.noisy[1].found_ns == 20'001U);
  CHECK(view.noisy[1].allowed_ns == 20'000U);
  CHECK(view.noisy[1].by.at(0).self_ns == 15'000);
  CHECK(view.max_detour_ns == 20'001);
}

TEST_CASE("a limit of sources is of those alone: their longest, or what they take together", "[check]") {
  CheckScene scene;
  scene.limits.sources = {limit_of("task:agent*=15us"), limit_of("softirq:*=8us"), limit_of("task:agent*=0.1%")};
  CHECK(scene.verdict() == "good");
  scene.limits.sources = {limit_of("task:agent*=14999ns")};
  CheckView view = scene.check();
  REQUIRE(view.noisy.size() == 2);
  CHECK(view.noisy[1].source == "task:agent*");
  REQUIRE(view.noisy[1].by.size() == 1);  // not the other, which keeps to it
  CHECK(view.noisy[1].by[0].name == "agent/1");
  scene.limits.sources = {limit_of("task:agent*=0.08%")};  // 50 ms of 60 s are 0.0833%, and neither alone is above it
  view = scene.check();
  REQUIRE(view.noisy.size() == 2);
  CHECK(view.noisy[0].by.size() == 2);
  scene.limits.sources = {limit_of("task:another=0ns"), limit_of("*irq:none=0ns")};
  CHECK(scene.verdict() == "good");

  for (const char* const bad : {"", "task:a", "agent=5us", "task:a=", "task:a=5", "task:a=5x", "task:a=-1%", "=5us",
                                "taks:a=5us", "no:*=5us"}) {
    INFO(bad);
    const auto limit = parse_source_limit(bad);
    REQUIRE_FALSE(limit);
    CHECK(limit.error().code == ExitCode::usage);
    CHECK_FALSE(limit.error().remedy.empty());
  }
}

TEST_CASE("a CPU that nobody measured, or that saw nothing, is never good", "[check]") {
  CheckScene scene;
  scene.limits.max_detour_ns = 1'000'000'000;
  SECTION("not measured") {
    scene.limits.cpus = {{1, 2}};
    CHECK(scene.verdict() == "good");
    scene.limits.cpus = {{1, 3}};
    const CheckView view = scene.check();
    CHECK(view.verdict == "blind");
    REQUIRE(view.blind.size() == 1);
    CHECK(view.blind[0].cpu == 3);
    CHECK(view.cpus == "1");
  }
  SECTION("without a list, tasks watched beside loops are not judged, with one they are") {
    scene.report.cpus[1].mode = "watch";
    scene.report.cpus[1].observed_ns = 0;
    CHECK(scene.verdict() == "good");
    CHECK(scene.check().cpus == "1");
    scene.limits.cpus = {{1, 2}};
    CHECK(scene.verdict() == "blind");
    scene.limits.cpus.reset();
    scene.report.cpus[0].mode = "watch";
    CHECK(scene.check().cpus == "1-2");
    CHECK(scene.verdict() == "blind");
  }
  SECTION("none at all") {
    scene.report.cpus.clear();
    CHECK(scene.verdict() == "blind");
    CHECK(views::to_text(scene.check()) == "blind: no CPU is measured");
  }
  SECTION("nothing observed") {
    for (const char* const mode : {"probe", "watch", "auto"}) {
      scene.limits.cpus = {{1, 2}};
      scene.report.cpus[1] = checked_cpu(2, mode);
      CHECK(scene.verdict() == "good");
      scene.report.cpus[1].observed_ns = 0;
      CHECK(scene.verdict() == "blind");
    }
  }
  SECTION("its loop was elsewhere") {
    scene.report.cpus[0].blind_ns = 1;
    CHECK(scene.verdict() == "blind");
  }
  SECTION("not judged, not seen: no matter") {
    scene.limits.cpus = {{1}};
    scene.report.cpus[1].observed_ns = 0;
    scene.report.cpus[1].max_detour_ns = UINT64_MAX;
    scene.lose(2, kBlind);
    CHECK(scene.verdict() == "good");
  }
  SECTION("a limit that is below the threshold") {
    scene.report.cpus[1].threshold_ns = 1'000'000'000;
    CHECK(scene.verdict() == "good");
    scene.report.cpus[1].threshold_ns += 1;
    CHECK(scene.verdict() == "blind");
    scene.limits = {};
    scene.limits.sources = {limit_of("softirq:*=2s")};
    CHECK(scene.verdict() == "good");
    scene.limits.sources = {limit_of("softirq:*=1ms")};
    CHECK(scene.verdict() == "blind");
  }
  SECTION("sources without a name of their own") {
    scene.add(2, "task", "other", 10, 10);
    CHECK(scene.verdict() == "good");
    scene.limits.sources = {limit_of("softirq:*=1s")};
    CHECK(scene.verdict() == "good");
    scene.limits.sources = {limit_of("task:agent*=1s")};
    CHECK(scene.verdict() == "blind");
    scene.limits.sources = {limit_of("task:*=1s")};  // these too
    CHECK(scene.verdict() == "good");
  }
  SECTION("a time that was seen is noisy also there, a share is not known") {
    scene.limits.max_detour_ns = 19'999;
    scene.report.cpus[0].observed_ns = 0;
    CHECK(scene.verdict() == "noisy");
    scene.limits.max_detour_ns.reset();
    scene.limits.max_share = 1;
    scene.limits.sources = {limit_of("task:agent*=0%")};
    scene.limits.cpus = {{1}};
    CHECK(scene.verdict() == "blind");
    scene.report.cpus[0].observed_ns = kObservedNs / 10 - 1;
    CHECK(scene.verdict() == "noisy");  // a loop that rests for nine tenths knows what it saw
    scene.lose(std::nullopt, "missed_run");
    scene.lose(1, "ring_full");
    CHECK(scene.verdict() == "noisy");
    scene.report.lost.by.clear();
    // Of tasks, nobody knows how long one was there whose record is lost.
    for (const char* const mode : {"watch", "auto"}) {
      scene.report.cpus[0].mode = mode;
      scene.report.cpus[0].observed_ns = kObservedNs / 10 - 1;
      CHECK(scene.verdict() == "blind");
      scene.report.cpus[0].observed_ns = kObservedNs / 10;
      CHECK(scene.verdict() == "noisy");
      scene.lose(1, "ring_full");
      CHECK(scene.verdict() == "blind");
      scene.report.lost.by.clear();
    }
  }
}

TEST_CASE("what was lost hides noise where it may have been some", "[check]") {
  // The reason, and whether a loop, limits of sources, and watched tasks cannot be judged then.
  struct Lost {
    const char* reason;
    bool of_cpu;
    bool loop;
    bool sources;
    bool tasks;
  };
  const Lost all[] = {
      {kBlind, true, true, true, true},
      {"detour_ring_full", true, true, true, true},
      {"clock_backward", true, true, true, true},
      {"ring_full", true, false, true, true},
      {"unseen_switch", true, false, true, true},
      {"clock_uncertain", true, false, true, true},
      {"missed_run", false, false, true, true},
      {"recording_full", false, true, true, true},
      {"task_table_full", false, false, true, true},
      {"clock_step", false, false, true, true},
      {"clock_source", false, false, true, true},
      {"sample_ring_full", true, false, false, false},
      {"wakeups_full", false, false, false, false},
      {"origin_ring_full", false, false, false, false},
  };
  for (const Lost& lost : all) {
    INFO(lost.reason);
    CheckScene scene;
    scene.limits.max_detour_ns = 1'000'000'000;
    scene.lose(lost.of_cpu ? std::optional(2U) : std::nullopt, lost.reason);
    CHECK((scene.verdict() == "blind") == lost.loop);
    for (ReportCpu& cpu : scene.report.cpus) cpu.mode = "watch";
    CHECK((scene.verdict() == "blind") == lost.tasks);
    for (ReportCpu& cpu : scene.report.cpus) cpu.mode = "probe";
    scene.limits.sources = {limit_of("task:agent*=1s")};
    CHECK((scene.verdict() == "blind") == lost.sources);
    scene.limits.cpus = {{1}};
    if (lost.of_cpu) CHECK(scene.verdict() == "good");
  }
}

TEST_CASE("a check says on one line what was found, of many CPUs too", "[check]") {
  CheckScene scene;
  scene.limits.max_detour_ns = 20'000;
  CHECK(views::to_text(scene.check()) ==
        "good: CPUs 1-2: no detour above 20.0 us, at most 0.100% of the time (over 60.0 s)");
  scene.limits.max_detour_ns = 10'000;
  scene.limits.cpus = {{1}};
  CHECK(views::to_text(scene.check()) ==
        "noisy: CPU 1: a detour of 20.0 us, above 10.0 us, by task:agent/1 15.0 us, overhead 5.00 us "
        "(over 60.0 s)");
  scene.limits = {};
  scene.limits.sources = {limit_of("task:agent*=0.08%")};
  scene.limits.cpus = {{2}};
  CHECK(views::to_text(scene.check()) ==
        "noisy: CPU 2: 0.0833% of the time, above 0.0800% (task:agent*), by task:agent/1 30.0 ms, task:agent/2 20.0 ms "
        "(over 60.0 s)");
  CHECK(views::to_json(scene.check()) ==
        R"({"schema":"noised.check/1","verdict":"noisy","elapsed_ns":60000000000,"cpus":"2","max_detour_ns":20000,)"
        R"("max_share":0.001,"noisy":[{"cpu":2,"source":"task:agent*","found_share":0.0008333333333333334,)"
        R"("allowed_share":0.0008,"by":[{"kind":"task","name":"agent/1","self_ns":30000000},)"
        R"({"kind":"task","name":"agent/2","self_ns":20000000}]}],"blind":[]})");

  scene.report.cpus.clear();
  for (unsigned cpu = 0; cpu < 256; ++cpu) scene.report.cpus.push_back(checked_cpu(cpu));
  scene.limits = {};
  scene.limits.max_detour_ns = 10'000;
  const std::string noisy = views::to_text(scene.check());
  CHECK(noisy.ends_with("; and 253 more (over 60.0 s)"));
  for (ReportCpu& cpu : scene.report.cpus) cpu.observed_ns = cpu.cpu % 2 == 0 ? 0 : kObservedNs;
  scene.limits.max_detour_ns = 1'000'000;
  scene.limits.cpus = {{1, 2, 4, 300}};
  CHECK(views::to_text(scene.check()) ==
        "blind: CPUs 2,4: nothing was observed there; CPU 300: nobody measures it (over 60.0 s)");
}
