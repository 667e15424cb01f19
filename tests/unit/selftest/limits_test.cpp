// SPDX-License-Identifier: Apache-2.0
// What a row needs to pass, at each limit and just beyond it.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "unit/selftest/scene.h"

using namespace noised;
using namespace noised::test;
using selftest::KernelCount;
using selftest::Losses;
using selftest::Row;
using selftest::Verdict;

namespace {

// A scene whose tasks are shown so long, and charged so much.
TaskScene timed_scene(std::uint64_t shown_ns, std::uint64_t charged_ns = kMs) {
  TaskScene scene;
  for (auto& each : scene.truth.occurrences) each.charged_ns = charged_ns;
  for (DetourView& each : scene.detours) each.entries = {entry("task", "noised-task", shown_ns)};
  return scene;
}

}  // namespace

TEST_CASE("a thousandth may be missed and a tenth in doubt, and no more", "[selftest]") {
  EventScene scene(10'000);
  for (unsigned i = 0; i < 1'000; ++i) scene.detours[i].incomplete = true;
  scene.detours.resize(scene.detours.size() - 9);
  Row row = scene.compare();
  CHECK(row.found == 8'991);
  CHECK(row.missed == 9);
  CHECK(row.in_doubt == 1'000);
  CHECK(row.verdict == Verdict::pass);
  scene.detours.pop_back();
  row = scene.compare();
  CHECK(row.reason == "found 8990 of 9000; noised showed there: 10 no detour");
  CHECK_FALSE(row.undecided);
}

TEST_CASE("one in doubt more than a tenth decides nothing", "[selftest]") {
  EventScene scene;
  for (unsigned i = 0; i < 100; ++i) scene.detours[i].incomplete = true;
  CHECK(scene.compare().verdict == Verdict::pass);
  scene.detours[100].incomplete = true;
  CHECK(scene.compare().reason == "only 899 of 1000 could be judged: the host, or a loss, touched the others");
  CHECK(scene.compare().undecided);
}

TEST_CASE("a hundredth of what was shown may be misattributed, and no more", "[selftest]") {
  EventScene scene(990);
  for (unsigned i = 0; i < 10; ++i) scene.detours[i].entries.push_back(scene.detours[i].entries.back());
  CHECK(scene.compare().shown == 1'000);
  CHECK(scene.compare().verdict == Verdict::pass);
  scene.detours[10].entries.push_back(scene.detours[10].entries.back());
  CHECK(scene.compare().reason == "11 of the 1001 shown were not done");
}

TEST_CASE("as much is certain of precision as of a recall of the same share", "[selftest]") {
  Row row;
  row.found = 98;
  row.missed = 2;
  row.shown = 100;
  row.misattributed = 2;
  CHECK(row.least_precision() == Catch::Approx(0.9413).epsilon(1e-3));
  CHECK(row.least_precision() == row.least_recall());
}

TEST_CASE("a kernel that counts just what was done agrees", "[selftest]") {
  EventScene scene;
  scene.truth.kernel = KernelCount{"/proc/interrupts CAL", 1'000};
  CHECK(scene.compare().verdict == Verdict::pass);
}

TEST_CASE("what shows in the first nanosecond of an occurrence is of it", "[selftest]") {
  EventScene scene(100);
  for (std::size_t at = 0; at < 100; ++at)
    scene.truth.occurrences[at].start_ns = scene.detours[at].start_ns + scene.detours[at].duration_ns;
  CHECK(scene.compare().found == 100);
  for (auto& each : scene.truth.occurrences) ++each.start_ns;
  CHECK(scene.compare().missed == 100);
}

TEST_CASE("a quarter of the activations must be timed", "[selftest]") {
  TaskScene scene;
  for (unsigned i = 0; i < 75; ++i) scene.truth.occurrences[i].end_ns += 100'000;
  CHECK(scene.compare().timed == 25);
  CHECK(scene.compare().verdict == Verdict::pass);
  scene.truth.occurrences[75].end_ns += 100'000;
  CHECK(scene.compare().reason == "only 24 of 100 could be timed");
  CHECK(scene.compare().undecided);
  for (auto& each : scene.truth.occurrences) each.charged_ns = 0;
  CHECK(scene.compare().reason == "only 0 of 100 could be timed");
}

TEST_CASE("an activation is stretched by more than a hundredth and what the clocks cost", "[selftest]") {
  TaskScene scene;
  scene.truth.occurrences[3].end_ns = scene.truth.occurrences[3].start_ns + kMs + 10'000 + selftest::kStretchFloor;
  CHECK(scene.compare().timed == 100);
  ++scene.truth.occurrences[3].end_ns;
  CHECK(scene.compare().timed == 99);
}

TEST_CASE("activations that share a detour are timed together, or none of them", "[selftest]") {
  TaskScene scene;
  DetourView& both = scene.detours[4];
  const DetourView& last = scene.detours[5];
  both = detour(both.start_ns, last.start_ns + last.duration_ns,
                {entry("task", "noised-task", kMs + 5'000), entry("vector", "local_timer", 9 * kMs),
                 entry("task", "noised-task", kMs + 5'000)});
  scene.detours.erase(scene.detours.begin() + 5);
  Row row = scene.compare();
  CHECK(row.found == 100);
  CHECK(row.timed == 100);
  CHECK(row.time_error == Catch::Approx(0.005));
  scene.truth.occurrences[5].end_ns += 100'000;
  row = scene.compare();
  CHECK(row.found == 100);
  CHECK(row.timed == 98);
  CHECK(row.time_error == Catch::Approx(0.005));
}

TEST_CASE("an activation that does not show takes no other from those that are timed", "[selftest]") {
  TaskScene scene;
  for (const unsigned at : {99U, 50U, 0U}) scene.detours.erase(scene.detours.begin() + at);
  const Row row = scene.compare();
  CHECK(row.missed == 3);
  CHECK(row.timed == 97);
  CHECK(row.time_error == Catch::Approx(0.005));
}

TEST_CASE("a time that is two hundredths off is as far off as it may be", "[selftest]") {
  CHECK(timed_scene(kMs * 102 / 100 - 1).compare().verdict == Verdict::pass);
  CHECK(timed_scene(kMs * 102 / 100 + 1).compare().reason == "the time is wrong");
  CHECK(timed_scene(kMs * 98 / 100 + 1).compare().verdict == Verdict::pass);
  CHECK(timed_scene(kMs * 98 / 100 - 1).compare().reason == "the time is wrong");
}

TEST_CASE("a time that the kernel's account allows is not wrong", "[selftest]") {
  // 4.0816% more by the most it can be is 2% more than the middle.
  CHECK(timed_scene(kMs, 1'040'816).compare().verdict == Verdict::pass);
  CHECK(timed_scene(kMs, 1'040'817).compare().undecided);
  // What the account is at most is as far from its middle as it is uncertain.
  const Row row = timed_scene(1'050'000, 1'050'000).compare();
  CHECK(row.reason == "the kernel's account is known within 2.4% only");
  CHECK(row.undecided);
  CHECK(timed_scene(1'050'001, 1'050'000).compare().reason == "the time is wrong");
}

TEST_CASE("only a detour that holds all of an absent activation blames others", "[selftest]") {
  const Losses losses{1, {}};
  TaskScene scene;
  const selftest::Occurrence& absent = scene.truth.occurrences[7];
  scene.detours[7] = detour(absent.start_ns, absent.end_ns, {entry("task", "somebody", kMs)});
  scene.detours[7].incomplete = true;
  CHECK(scene.compare(losses).missed == 1);
  CHECK(scene.compare(losses).misattributed == 1);
  --scene.detours[7].duration_ns;
  CHECK(scene.compare(losses).in_doubt == 1);
  ++scene.detours[7].start_ns;
  CHECK(scene.compare(losses).in_doubt == 1);
}

TEST_CASE("others may have had a tenth of an absent activation", "[selftest]") {
  const Losses losses{1, {}};
  TaskScene scene;
  scene.detours[7].incomplete = true;
  scene.detours[7].entries = {entry("task", "somebody", 120'000), entry("unexplained", "unexplained", 900'000)};
  CHECK(scene.compare(losses).in_doubt == 1);
  --scene.detours[7].entries[1].self_ns;
  CHECK(scene.compare(losses).missed == 1);
}

TEST_CASE("absence needs a detour of this CPU that begins in the window", "[selftest]") {
  struct Case {
    unsigned cpu;
    std::uint64_t start_ns;
    Verdict verdict;
  };
  for (const Case& each : {Case{kCpu, 10 * kMs, Verdict::pass}, Case{kCpu, 20 * kMs, Verdict::pass},
                           Case{kCpu, 10 * kMs - 1, Verdict::fail}, Case{kCpu, 20 * kMs + 1, Verdict::fail},
                           Case{kCpu + 1, 15 * kMs, Verdict::fail}}) {
    EventScene scene(0);
    scene.truth.shape = selftest::Shape::absence;
    scene.truth.first_ns = 10 * kMs;
    scene.truth.last_ns = 20 * kMs;
    scene.detours = {detour(each.start_ns, each.start_ns + 4'000, {entry("vector", "local_timer", 4'000)})};
    scene.detours[0].cpu = each.cpu;
    CHECK(scene.compare().verdict == each.verdict);
  }
}
