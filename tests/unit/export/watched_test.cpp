// SPDX-License-Identifier: Apache-2.0
// Recordings of watched tasks in the formats of other tools: what is there adds up to the report.
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "export/csv.h"
#include "export/paraver/paraver.h"
#include "export/paraver/paraver_sort.h"
#include "export/perfetto/perfetto.h"
#include "unit/account/watched_scene.h"
#include "unit/export/read.h"
#include "unit/export/scene.h"

using namespace noised;
using namespace noised::exports;
using namespace noised::test;

namespace {

/// A run that was recorded, and what is in all of it.
struct Recorded {
  TemporaryDirectory directory;
  WatchedRun run;
  WatchReport watched;
  ReportCpu both;

  Recorded() {
    run.begin_account(0, [](std::uint32_t) { return true; });
    record_watched(run, path(), 60);
    watched = run.watch_report();
    for (const ReportCpu& cpu : run.report().cpus) {
      both.detours += cpu.detours;
      both.detour_ns += cpu.detour_ns;
      both.explained_ns += cpu.explained_ns;
      both.overhead_ns += cpu.overhead_ns;
      both.unexplained_ns += cpu.unexplained_ns;
    }
  }
  [[nodiscard]] std::string path() const { return directory.path("run"); }
};

std::vector<std::vector<std::uint64_t>> watched_records(std::istream& trace) {
  std::vector<std::vector<std::uint64_t>> records;
  for (std::string line; std::getline(trace, line);) {
    std::istringstream words(line);
    auto& fields = records.emplace_back();
    for (std::string word; std::getline(words, word, ':');) fields.push_back(std::stoull(word));
  }
  return records;
}

}  // namespace

TEST_CASE("the CSV of watched tasks has each loss with its victim, and each run", "[export][watch]") {
  Recorded recorded;
  const std::string out = recorded.directory.path("csv");
  REQUIRE(export_csv(play_of(recorded.path()), out, no_progress));
  auto losses = sums(out + "/detours.csv");
  CHECK(losses[""] == recorded.both.detours);
  CHECK(losses["duration_ns"] == recorded.both.detour_ns);
  CHECK(losses["explained_ns"] == recorded.both.explained_ns);
  CHECK(losses["unexplained_ns"] == recorded.both.unexplained_ns);
  CHECK(losses["pid"] >= recorded.both.detours * WatchedRun::kFirstPid);
  CHECK(losses["waited_ns"] == recorded.watched.counts.preempted_ns + recorded.watched.counts.queued_ns);
  CHECK(sums(out + "/entries.csv")["self_ns"] == recorded.both.explained_ns);
  CHECK(sums(out + "/intervals.csv")[""] == recorded.run.intervals);
  auto runs = sums(out + "/runs.csv");
  CHECK(runs[""] == recorded.run.runs);
  CHECK(runs["involuntary"] == recorded.watched.counts.involuntary);
  CHECK(runs["unseen_wait_ns"] == recorded.watched.counts.unseen_wait_ns);
  const std::string text = content_of(out + "/detours.csv");
  CHECK(text.find(",task:rank105,preempted,") != std::string::npos);
  CHECK(text.find(",task:rank105,interrupted,0") != std::string::npos);
}

TEST_CASE("in Paraver each watched thread is a row of its process, whose states do not overlap", "[export][watch]") {
  Recorded recorded;
  const std::string out = recorded.directory.path("tasks");
  REQUIRE(export_paraver(play_of(recorded.path()), out, no_progress));
  std::ifstream trace(out + ".prv");
  std::string header;
  std::getline(trace, header);
  const std::string names = content_of(out + ".row");
  CHECK(names.find("LEVEL TASK SIZE 2\nprocess 100\nprocess 106\n") != std::string::npos);
  CHECK(header.find("_ns:1(2):1:2(") != std::string::npos);

  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> until;  // by process and thread
  std::uint64_t last = 0;
  std::uint64_t runs_ns = 0;
  std::uint64_t lost_ns = 0;
  std::uint64_t overlap_ns = 0;
  std::map<std::uint64_t, std::uint64_t> kinds;
  for (const auto& record : watched_records(trace)) {
    REQUIRE(record.size() == 8);
    CHECK(record[1] <= 2);
    CHECK(record[3] <= 2);
    CHECK(record[5] >= last);
    last = record[5];
    if (record[0] == 2) {
      if (record[6] == kEventOverlap) overlap_ns += record[7];
      if (record[6] == kEventLoss) ++kinds[record[7]];
      continue;
    }
    REQUIRE(record[6] > record[5]);
    auto& busy_until = until[{record[3], record[4]}];
    CHECK(record[5] >= busy_until);
    busy_until = record[6];
    (record[7] == kStateUndisturbed ? runs_ns : lost_ns) += record[6] - record[5];
  }
  CHECK(lost_ns + overlap_ns == recorded.both.detour_ns);
  CHECK(kinds[1] + kinds[2] + kinds[3] == recorded.both.detours);
  CHECK(kinds[1] > 100);
  CHECK(kinds[2] > 100);
  CHECK(kinds[3] > 100);
  CHECK(runs_ns < recorded.watched.counts.run_ns);
  CHECK(runs_ns > recorded.watched.counts.run_ns / 2);
  // Each pid's lives apart, some more than the twelve there are.
  CHECK(until.size() > WatchedRun::kPids);
  CHECK(names.find("LEVEL THREAD SIZE " + std::to_string(until.size()) + "\n") != std::string::npos);
}

TEST_CASE("records come back by time, however they came", "[export][watch]") {
  const TemporaryDirectory directory;
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  ParaverSort sort(directory.path("out"), 100);
  std::multiset<std::uint64_t> times;
  for (std::uint64_t i = 0; i < 5'050; ++i) {
    const std::uint64_t at_ns = random() % 1'000;
    times.insert(at_ns);
    REQUIRE(sort.add({at_ns, at_ns + 5, i, 0}));
  }
  REQUIRE(sort.sort());
  CHECK(sort.first_ns() == *times.begin());
  CHECK(sort.last_ns() == *times.rbegin() + 5);
  ParaverRecord before;
  std::size_t count = 0;
  for (bool again = false;;) {
    const auto next = sort.next();
    REQUIRE(next);
    if (!next.value()) break;
    const ParaverRecord record = *next.value();
    REQUIRE(record.time_ns >= before.time_ns);
    if (record.time_ns == before.time_ns && record.type == 0 && before.type == 0 && count != 0)
      REQUIRE(record.value > before.value);
    before = record;
    ++count;
    if (!again && record.time_ns >= 500) {
      again = true;
      sort.add_again({700, 701, 0, 1});
      times.insert(700);
    }
  }
  CHECK(count == times.size());
}

TEST_CASE("in Perfetto the bars of each watched task nest, and none is missing", "[export][watch]") {
  Recorded recorded;
  REQUIRE(export_perfetto(play_of(recorded.path()), recorded.directory.path("trace"), no_progress));
  const std::string trace = content_of(recorded.directory.path("trace"));
  constexpr std::uint64_t kTasks = std::uint64_t{1} << 40U;
  std::map<std::uint64_t, std::vector<std::uint64_t>> open;  // beginnings by track
  std::map<std::uint64_t, std::uint64_t> last_ns;
  std::uint64_t bars = 0;
  std::uint64_t bars_ns = 0;
  std::string_view rest = trace;
  Fields packet;
  while (next_field(rest, packet)) {
    const Fields fields = parse(packet.texts.at(1));
    if (!fields.texts.contains(11)) continue;
    const Fields event = parse(fields.texts.at(11));
    const std::uint64_t track = event.numbers.at(11);
    const std::uint64_t at_ns = fields.numbers.at(8);
    CHECK(at_ns >= last_ns[track]);
    last_ns[track] = at_ns;
    if (event.numbers.at(9) == 1) {
      open[track].push_back(at_ns);
    } else if (event.numbers.at(9) == 2) {
      REQUIRE_FALSE(open[track].empty());
      if (track > kTasks) {
        ++bars;
        bars_ns += at_ns - open[track].back();
      }
      open[track].pop_back();
    }
  }
  for (const auto& [track, beginnings] : open) CHECK(beginnings.empty());
  CHECK(bars == recorded.both.detours + recorded.run.runs + 2);  // two tasks still have a CPU
  CHECK(bars_ns == recorded.both.detour_ns + recorded.watched.counts.run_ns);
  CHECK(trace.find("rank105 [105]") != std::string::npos);
  CHECK(trace.find("not drawn") == std::string::npos);
}
