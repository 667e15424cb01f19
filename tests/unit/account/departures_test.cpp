// SPDX-License-Identifier: Apache-2.0
// Random ledgers on several CPUs, while names leave and come back: every sum against one that is kept by name.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "account/ledger_counter.h"

namespace noised {

using namespace noised::account;

namespace {

struct Sum {
  std::uint64_t ns = 0;
  std::uint64_t count = 0;
  auto operator<=>(const Sum&) const = default;
};
using ByName = std::map<std::string, Sum>;

/// What was counted, told by names only: nothing there knows of ids.
struct Oracle {
  ByName sources;
  std::array<ByName, kRecentSlots> slots;  // the first goes on
  std::map<std::vector<std::string>, Sum> combinations;

  static void rename(ByName& sums, const std::string& from, const std::string& into) {
    const auto found = sums.find(from);
    if (found == sums.end()) return;
    const Sum sum = found->second;
    sums.erase(found);
    sums[into].ns += sum.ns;
    sums[into].count += sum.count;
  }
  void rename(const std::string& from, const std::string& into) {
    rename(sources, from, into);
    for (ByName& slot : slots) rename(slot, from, into);
    std::map<std::vector<std::string>, Sum> renamed;
    for (const auto& [key, sum] : combinations) {
      std::vector<std::string> names;
      for (const std::string& name : key) {
        const std::string& now = name == from ? into : name;
        if (std::ranges::find(names, now) == names.end()) names.push_back(now);
      }
      renamed[names].ns += sum.ns;
      renamed[names].count += sum.count;
    }
    combinations.swap(renamed);
  }
};

struct Cpu {
  explicit Cpu(const SourceTable& sources) : counter(sources) {}

  LedgerCounter counter;
  Oracle oracle;
  CpuStatistics copy;     // of everything, now and then
  CpuStatistics summary;  // without histograms, likewise
};

class Churn {
 public:
  explicit Churn(std::size_t cpus) {
    for (std::size_t at = 0; at < cpus; ++at) cpus_.emplace_back(sources);
  }

  void step() {
    const std::uint64_t what = random_() % 100;
    if (what < 3) return leave();
    Cpu& cpu = cpus_[random_() % cpus_.size()];
    if (what < 5) {
      cpu.counter.recent().turn();
      std::ranges::rotate(cpu.oracle.slots, cpu.oracle.slots.end() - 1);
      cpu.oracle.slots[0].clear();
    } else {
      count(cpu);
    }
  }

  void check() {
    for (Cpu& cpu : cpus_) {
      const auto sums_of = [this](const CpuStatistics& statistics) {
        ByName sums;
        statistics.for_each_source([&](const SourceStatistics& source) {
          const bool is_new = sums.emplace(sources.at(source.id).name, Sum()).second;
          CHECK(is_new);  // each name once
          sums[sources.at(source.id).name] = {source.moments.total_ns(), source.moments.count()};
        });
        return sums;
      };
      cpu.counter.statistics().copy_to(cpu.copy);
      cpu.counter.statistics().copy_summary_to(cpu.summary);
      CHECK(sums_of(cpu.counter.statistics()) == cpu.oracle.sources);
      CHECK(sums_of(cpu.copy) == cpu.oracle.sources);
      CHECK(sums_of(cpu.summary) == cpu.oracle.sources);
      cpu.copy.for_each_source([&](const SourceStatistics& source) {
        CHECK(source.histogram.count() == source.moments.count());
        CHECK(cpu.copy.source(source.id) == &source);
      });
      RecentCounts recent;
      cpu.counter.recent().sum_to(recent);
      ByName lately;
      for (const RecentSource& source : recent.sources) {
        lately[sources.at(source.id).name].ns += source.moments.total_ns();
        lately[sources.at(source.id).name].count += source.moments.count();
      }
      ByName expected;
      for (const ByName& slot : cpu.oracle.slots) {
        for (const auto& [name, sum] : slot) {
          expected[name].ns += sum.ns;
          expected[name].count += sum.count;
        }
      }
      CHECK(lately == expected);
      CHECK(recent.sources.size() == expected.size());
      std::map<std::vector<std::string>, Sum> combinations;
      for (const Combination& each : cpu.counter.statistics().combinations().kept()) {
        std::vector<std::string> names;
        for (const SourceId id : each.key.sources()) names.push_back(sources.at(id).name);
        CHECK(combinations.emplace(names, Sum{each.moments.total_ns(), each.moments.count()}).second);
      }
      CHECK(combinations == cpu.oracle.combinations);
    }
  }

  SourceTable sources;

 private:
  // Few of many names at a time, some of noised's own, and one that is no task's.
  std::string any_name() {
    const std::uint64_t number = random_() % 14;
    return (number < 4 ? "noised/" : "task") + std::to_string(number);
  }

  void leave() {
    std::vector<Departure> departures;
    std::vector<std::pair<std::string, std::string>> names;
    for (std::uint64_t left = 1 + random_() % 8; left > 0; --left) {
      const SourceId id = sources.intern(Kind::task, any_name());
      const auto departure = sources.departure(id);
      REQUIRE(departure);
      if (std::ranges::find(departures, id, &Departure::from) != departures.end()) continue;
      departures.push_back(*departure);
      names.emplace_back(sources.at(id).name, sources.at(departure->into).name);
    }
    for (Cpu& cpu : cpus_) {
      cpu.counter.let_go(Departures(departures));
      for (const auto& [from, into] : names) cpu.oracle.rename(from, into);
    }
    sources.let_go(departures);
  }

  // Some of what is counted was named before it left: from then on nobody knows whose it was.
  void count(Cpu& cpu) {
    DetourLedger ledger;
    std::vector<std::string> combination;
    for (std::uint64_t entries = random_() % 3; entries > 0; --entries) {
      const std::uint64_t ns = 1 + random_() % 10'000;
      SourceId id = sources.intern(Kind::task, any_name());
      if (!kept_.empty() && random_() % 4 == 0) id = kept_[random_() % kept_.size()];
      if (random_() % 8 == 0) kept_.push_back(id);
      if (kept_.size() > 30) kept_.pop_front();
      LedgerEntry entry;
      entry.source = id;
      entry.kind = Kind::task;
      entry.self_ns = ns;
      ledger.entries.push_back(entry);
      ledger.explained_ns += ns;
      const std::string name = sources.at(id).name;
      for (ByName* sums : {&cpu.oracle.sources, cpu.oracle.slots.data()}) {
        (*sums)[name].ns += ns;
        ++(*sums)[name].count;
      }
      if (std::ranges::find(combination, name) == combination.end()) combination.push_back(name);
    }
    ledger.detour.end_ns = ledger.explained_ns;
    cpu.counter.count(ledger);
    Sum& sum = cpu.oracle.combinations[combination];
    sum.ns += ledger.explained_ns;
    ++sum.count;
  }

  std::mt19937_64 random_;  // NOLINT(cert-msc51-cpp): the same every time
  std::deque<Cpu> cpus_;
  std::deque<SourceId> kept_;
};

}  // namespace

TEST_CASE("what was counted of names that leave is told of where they went, and nothing is lost") {
  for (const std::size_t cpus : {1U, 5U, 256U}) {
    Churn churn(cpus);
    for (int round = 0; round < 20; ++round) {
      for (std::size_t step = 0; step < 150 + 4 * cpus; ++step) churn.step();
      churn.check();
    }
    CHECK(churn.sources.departed() > 100);
  }
}

}  // namespace noised
