// SPDX-License-Identifier: Apache-2.0
// Faults planted in one stream of several: containment, blindness or the self-test's comparison has to find each, name
// the CPU, and leave the others alone.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "selftest/compare.h"
#include "unit/pipeline/node.h"

using namespace noised;
using namespace noised::test;

namespace {

using Place = std::optional<std::size_t>;

const std::vector<unsigned> kCpus = {1, 2, 3, 5, 8};
constexpr std::size_t kHalf = Story::kRounds / 2;

// What a report says of each place.
struct Found {
  bool contained = false;  ///< there was something to check, and it was contained
  bool blind = false;
};

std::vector<Found> findings(const Report& report) {
  std::vector<Found> found;
  for (const ReportCpu& cpu : report.cpus) {
    Found& of = found.emplace_back();
    of.contained = cpu.containment.has_value() && *cpu.containment >= 0.999;
    of.blind = std::ranges::any_of(
        report.lost.by, [&](const ReportLoss& loss) { return loss.reason == kBlind && loss.cpu == cpu.cpu; });
  }
  return found;
}

// The self-test's comparison of what the CPU's own task did with what was shown of it.
selftest::Row compared(Node& node, std::size_t place) {
  const unsigned cpu = kCpus[place];
  selftest::Truth truth;
  truth.mode = "task";
  truth.cpu = cpu;
  truth.first_ns = Story::kBegin;
  truth.last_ns = Story::kBegin + Story::kRounds * Story::kRound;
  truth.sources = {{"task", Story::task_of(cpu)}};
  for (std::size_t round = 0; round < Story::kRounds; ++round) {
    for (const noised_task_record& record : node.story(place).round(round).records) {
      if (record.record.kind != NOISED_KIND_TASK) continue;
      truth.occurrences.push_back({.start_ns = record.record.start_ns,
                                   .end_ns = record.record.start_ns + record.record.duration_ns,
                                   .pid = Story::pid_of(cpu)});
    }
  }
  return selftest::compare(truth, node.detours(cpu), {});
}

// `strikes`: the places that the fault concerns; containment or blindness must find it at each, and at no other.
void require_found(Faults faults, const std::set<std::size_t>& strikes) {
  Node node(kCpus, std::move(faults));
  node.play();
  const Report report = node.report();
  const std::vector<Found> found = findings(report);
  for (std::size_t place = 0; place < kCpus.size(); ++place) {
    INFO("CPU " << kCpus[place] << ": contained " << found[place].contained << ", blind " << found[place].blind);
    CHECK((!found[place].contained || found[place].blind) == strikes.contains(place));
  }
  // The report's containment is the worst CPU's, unless the fault leaves nothing to check there.
  for (const ReportCpu& cpu : report.cpus) {
    if (cpu.containment) CHECK(*report.clock.containment <= *cpu.containment);
  }
}

}  // namespace

TEST_CASE("a node without faults is contained, sees, and passes the self-test on every CPU", "[pipeline]") {
  Node node(kCpus);
  node.play();
  const std::vector<Found> found = findings(node.report());
  for (std::size_t place = 0; place < kCpus.size(); ++place) {
    INFO("CPU " << kCpus[place]);
    CHECK(found[place].contained);
    CHECK_FALSE(found[place].blind);
    CHECK(compared(node, place).verdict == selftest::Verdict::pass);
  }
}

TEST_CASE("a fault planted in any one stream is found there", "[pipeline]") {
  const std::size_t at = GENERATE(0U, 1U, 2U, 3U, 4U);
  const std::size_t next = (at + 1) % kCpus.size();
  Faults faults;
  SECTION("the loop's ring is not read") {
    faults.loop_ring = [=](std::size_t place, std::size_t) { return place == at ? Place() : Place(place); };
    require_found(faults, {at});
  }
  SECTION("the loop's ring is not read any more from the middle on") {
    faults.loop_ring = [=](std::size_t place, std::size_t round) {
      return place == at && round >= kHalf ? Place() : Place(place);
    };
    require_found(faults, {at});
  }
  SECTION("the kernel's ring is not read") {
    faults.kernel_ring = [=](std::size_t place, std::size_t) { return place == at ? Place() : Place(place); };
    require_found(faults, {at});
  }
  SECTION("the kernel's ring is not read any more from the middle on") {
    faults.kernel_ring = [=](std::size_t place, std::size_t round) {
      return place == at && round >= kHalf ? Place() : Place(place);
    };
    require_found(faults, {at});
  }
  SECTION("neither ring is read") {
    faults.loop_ring =
        faults.kernel_ring = [=](std::size_t place, std::size_t) { return place == at ? Place() : Place(place); };
    require_found(faults, {at});
  }
  SECTION("the kernel's rings of two CPUs are read for one another") {
    faults.kernel_ring = [=](std::size_t place, std::size_t) {
      return Place(place == at ? next : place == next ? at : place);
    };
    require_found(faults, {at, next});
  }
  SECTION("the loops' rings of two CPUs are read for one another") {
    faults.loop_ring = [=](std::size_t place, std::size_t) {
      return Place(place == at ? next : place == next ? at : place);
    };
    require_found(faults, {at, next});
  }
  SECTION("a CPU's records are read for two CPUs by turns") {
    faults.kernel_ring = [=](std::size_t place, std::size_t round) {
      return Place(place == next && round % 2 == 1 ? at : place);
    };
    // The other's own ring is read every second time, and all of it then: it loses nothing, and gains what is not its.
    Node node(kCpus, faults);
    node.play();
    const std::vector<Found> found = findings(node.report());
    CHECK_FALSE((found[next].contained && !found[next].blind));
  }
  SECTION("all of its intervals are dropped") {
    faults.drop = [=](std::size_t place, std::size_t) { return place == at; };
    require_found(faults, {at});
  }
  SECTION("three of four of its intervals are dropped") {
    faults.drop = [=](std::size_t place, std::size_t number) { return place == at && number % 4 != 0; };
    require_found(faults, {at});
  }
  SECTION("the loop's clock is 3 ms ahead") {
    faults.loop_shift = [=](std::size_t place) { return place == at ? 3'000'000 : 0; };
    require_found(faults, {at});
  }
  SECTION("the loop's clock is 2 us behind") {
    faults.loop_shift = [=](std::size_t place) { return place == at ? -2'000 : 0; };
    require_found(faults, {at});
  }
  SECTION("the records' clock is 1 ms behind") {
    faults.kernel_shift = [=](std::size_t place) { return place == at ? -1'000'000 : 0; };
    require_found(faults, {at});
  }
  SECTION("every tenth interval is dropped: of that only the self-test knows") {
    faults.drop = [=](std::size_t place, std::size_t number) { return place == at && number % 10 == 7; };
    Node node(kCpus, faults);
    node.play();
    for (const Found& found : findings(node.report())) CHECK((found.contained && !found.blind));
    for (std::size_t place = 0; place < kCpus.size(); ++place) {
      const selftest::Row row = compared(node, place);
      INFO("CPU " << kCpus[place] << ": found " << row.found << ", missed " << row.missed);
      CHECK((row.verdict == selftest::Verdict::pass) == (place != at));
    }
  }
}

TEST_CASE("missed runs of programs that only tell origins cost causes, not detours", "[pipeline]") {
  const bool of_intervals = GENERATE(false, true);
  Node node(kCpus);
  node.wake({{kCpus[1], kCpus[0]}});
  std::size_t round = 0;
  node.play([&] {
    if (++round == kHalf) ++(of_intervals ? node.missed.intervals : node.missed.origins);
  });
  // The drain after that one finds it.
  const std::uint64_t from_ns = Story::kBegin + kHalf * Story::kRound;
  std::size_t incomplete = 0;
  std::size_t unknown = 0;
  std::size_t known = 0;
  for (const unsigned cpu : kCpus) {
    for (const DetourView& detour : node.detours(cpu)) {
      incomplete += detour.incomplete ? 1 : 0;
      for (const DetourEntryView& entry : detour.entries) {
        if (cpu != kCpus[0] || entry.kind != "task") continue;
        const bool is_known = std::ranges::any_of(entry.detail, [](const auto& each) { return each.first == "waker"; });
        ++(is_known ? known : unknown);
        CHECK(is_known == (detour.start_ns < from_ns || detour.start_ns >= from_ns + Story::kRound));
      }
    }
  }
  INFO(incomplete << " incomplete detours, " << known << " tasks with their waker, " << unknown << " without");
  CHECK((incomplete != 0) == of_intervals);
  CHECK(node.report().lost.incomplete_detours == incomplete);
  CHECK(known > unknown);
  CHECK(unknown != 0);
}

TEST_CASE("where a record is begun and never finished, every detour since is incomplete", "[pipeline]") {
  constexpr std::size_t kAt = 2;
  constexpr std::size_t kNumber = 150;
  Faults faults;
  faults.unfinished = [](std::size_t place, std::size_t number) { return place == kAt && number == kNumber; };
  Node node(kCpus, faults);
  node.play();
  std::vector<noised_record> records;
  for (std::size_t round = 0; round < Story::kRounds; ++round)
    for (const noised_task_record& each : node.story(kAt).round(round).records) records.push_back(each.record);
  REQUIRE(records.size() > 2 * kNumber);
  const std::uint64_t held_ns = records[kNumber].start_ns;
  for (const unsigned cpu : kCpus) {
    std::size_t incomplete = 0;
    for (const DetourView& detour : node.detours(cpu)) {
      incomplete += detour.incomplete ? 1 : 0;
      if (cpu != kCpus[kAt]) continue;
      // At most what the drains around it had.
      if (detour.start_ns + detour.duration_ns >= held_ns) REQUIRE(detour.incomplete);
      if (detour.start_ns + 2 * Story::kRound < held_ns) REQUIRE_FALSE(detour.incomplete);
    }
    CHECK((incomplete != 0) == (cpu == kCpus[kAt]));
  }
  const ReportLost lost = node.report().lost;
  CHECK(std::ranges::any_of(lost.by, [](const ReportLoss& loss) {
    return loss.reason == "unfinished_record" && loss.cpu == kCpus[kAt] && loss.count > Story::kRounds / 4;
  }));
}
