// SPDX-License-Identifier: Apache-2.0
// A node on which names of tasks are as many as there can be: those that are silent leave, through the real pipeline.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <future>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "unit/pipeline/node.h"

using namespace noised;
using namespace noised::test;

namespace {

constexpr std::uint64_t kTenMinutes = 600'000'000'000;

// As a job does that renames its threads.
void crowd(Node& node) {
  node.names().look(Story::kBegin);
  for (std::size_t number = 0; node.sources().tasks() < SourceTable::kTasks; ++number) {
    std::string name = "x";
    for (std::size_t left = number; left > 0; left /= 26) name += static_cast<char>('a' + left % 26);
    (void)node.names().task(name.c_str());
  }
}

// By CPU and, but for tasks, by name.
std::map<std::pair<unsigned, std::string>, std::uint64_t> sums_of(const Report& report) {
  std::map<std::pair<unsigned, std::string>, std::uint64_t> sums;
  for (const ReportSource& source : report.sources)
    sums[{source.cpu, source.kind + (source.kind == "task" ? "" : ":" + source.name)}] += source.total_ns;
  return sums;
}

bool has_task(const Report& report, unsigned cpu, const std::string& name) {
  return std::ranges::any_of(report.sources, [&](const ReportSource& source) {
    return source.cpu == cpu && source.kind == "task" && source.name == name;
  });
}

// Who records, and keeps nothing.
class Nobody : public PipelineSink {
 public:
  void begins(std::size_t /*cpu*/, std::uint64_t /*first_ns*/) override {}
  void interval(std::size_t /*cpu*/, const Interval& /*interval*/) override {}
  void waits(std::size_t /*cpu*/, const Interval& /*interval*/) override {}
  void detour(std::size_t /*cpu*/, const DetourLedger& /*ledger*/, std::uint64_t /*tolerance_ns*/,
              const FeedDetour& /*shown*/) override {}
  void gap(std::size_t /*cpu*/, GapKind /*kind*/, const Detour& /*gap*/) override {}
  void sample(std::size_t /*cpu*/, std::uint64_t /*end_ns*/, std::uint64_t /*iterations*/) override {}
  void stolen(std::size_t /*cpu*/, const StealWindow& /*window*/) override {}
  void loss(std::size_t /*cpu*/, const Loss& /*loss*/, const DetourLedger& /*ledger*/,
            const FeedDetour& /*shown*/) override {}
  void ran(std::size_t /*cpu*/, const TaskRun& /*run*/, const RunFacts& /*facts*/) override {}
};

}  // namespace

TEST_CASE("silent names leave a full table, later ones come in, and every sum stays", "[pipeline]") {
  const unsigned count = GENERATE(1U, 5U, 256U);
  std::vector<unsigned> cpus(count);
  std::iota(cpus.begin(), cpus.end(), 1U);
  Node quiet(cpus);
  quiet.play();
  Node node(cpus);
  crowd(node);
  int drains = 0;
  node.play([&] {
    if (++drains == 8) node.pass(kTenMinutes + 1);
  });
  const Report report = node.report();
  CHECK(node.sources().departed() > SourceTable::kTasks / 5);
  CHECK(node.sources().tasks() <= SourceTable::kTasks);
  CHECK(sums_of(report) == sums_of(quiet.report()));
  std::size_t named = 0;
  for (const unsigned cpu : cpus) {
    // What found no room is other, and has a name since; without its number, where names are many.
    named += has_task(report, cpu, "task*") ? 1 : 0;
    CHECK(has_task(report, cpu, "other"));
    for (const ReportCpu& each : report.cpus) CHECK(each.adds_up_to(each.detour_ns));
  }
  CHECK(named == count);
}

TEST_CASE("no name leaves while somebody reads names, nor while somebody records", "[pipeline]") {
  Node node({1, 2});
  crowd(node);
  const bool reads = GENERATE(true, false);
  // From another thread, as those who read do.
  std::promise<void> done;
  std::promise<void> holds;
  std::thread reader;
  Nobody nobody;
  int drains = 0;
  node.play([&] {
    ++drains;
    if (drains == 8) {
      node.pass(kTenMinutes + 1);
      if (reads) {
        reader = std::thread([&] {
          const auto held = node.sources().hold();
          holds.set_value();
          done.get_future().wait();
        });
        holds.get_future().wait();
      } else {
        node.pipeline().record_to(&nobody);
      }
    }
    if (drains == 16) {
      CHECK(node.sources().departed() == 0);
      if (reads) {
        done.set_value();
        reader.join();
      } else {
        node.pipeline().record_to(nullptr);
      }
      node.pass(60'000'000'000);
    }
  });
  CHECK(node.sources().departed() > 0);
}
