// SPDX-License-Identifier: Apache-2.0
// States in Paraver's files are self times: compared with a painting of each nanosecond, and with the report.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <sstream>

#include "export/paraver/paraver.h"
#include "export/paraver/paraver_names.h"
#include "export/paraver/paraver_timeline.h"
#include "unit/export/scene.h"

using namespace noised;
using namespace noised::account;
using namespace noised::exports;
using namespace noised::test;

namespace {

std::vector<Interval> random_intervals(std::mt19937_64& random, std::uint64_t start, std::uint64_t length) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Interval> intervals;  // no two the same: whose time is it then?
  for (std::uint64_t n = random() % 7; n > 0; --n) {
    const std::uint64_t a = start + random() % length;
    const std::uint64_t b = std::min(start + length, a + random() % length);
    const auto source = static_cast<SourceId>(100 + n);
    intervals[{a, b}] = {a, b, source, Kind::irq, 0, 0, 0};
  }
  std::vector<Interval> sorted;
  for (const auto& [times, interval] : intervals) sorted.push_back(interval);
  return sorted;
}

// By the definition: of those that cover the instant, the one that started last, the shorter of two.
std::uint64_t state_at(const std::vector<Interval>& intervals, std::uint64_t at) {
  const Interval* owner = nullptr;
  for (const Interval& i : intervals) {
    if (i.start_ns > at || i.end_ns <= at) continue;
    const bool inner =
        owner == nullptr || i.start_ns > owner->start_ns || (i.start_ns == owner->start_ns && i.end_ns < owner->end_ns);
    if (inner) owner = &i;
  }
  return owner == nullptr ? UINT64_MAX : kStateOfSource + owner->source;
}

struct Line {
  std::vector<std::uint64_t> fields;
};

std::vector<Line> records_of(const std::string& trace) {
  std::istringstream text(trace);
  std::string line;
  std::getline(text, line);  // the header
  std::vector<Line> lines;
  while (std::getline(text, line)) {
    std::istringstream words(line);
    Line& record = lines.emplace_back();
    for (std::string word; std::getline(words, word, ':');) record.fields.push_back(std::stoull(word));
  }
  return lines;
}

}  // namespace

TEST_CASE("a detour's states paint each nanosecond as its ledger has it", "[export]") {
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  const SourceTable sources;
  std::vector<ParaverRecord> records;
  ParaverTimeline timeline(sources, [&](const ParaverRecord& record) { records.push_back(record); });
  Attributor attributor;
  const OverheadBounds bounds;
  DetourLedger ledger;
  std::uint64_t now = 1'000;
  std::uint64_t painted = 0;
  for (int round = 0; round < 3'000; ++round) {
    const std::uint64_t length = 1 + random() % 60;
    const std::vector<Interval> intervals = random_intervals(random, now, length);
    attributor.attribute({now, now + length, false}, intervals, bounds, ledger);
    const bool one_part = (ledger.overhead_ns != 0) + (ledger.outside_ns() != 0) < 2;
    records.clear();
    timeline.detour(ledger);
    std::uint64_t at = now;
    for (const ParaverRecord& record : records) {
      if (record.type != 0 || record.value == kStateUndisturbed) continue;
      REQUIRE(record.time_ns == at);
      for (; at < record.end_ns; ++at, ++painted) {
        const std::uint64_t owner = state_at(intervals, at);
        if (owner != UINT64_MAX) {
          REQUIRE(record.value == owner);
        } else {
          REQUIRE((record.value == kStateOutside) == !one_part);
          REQUIRE(record.value < kStateOfSource + 4);
        }
      }
    }
    REQUIRE(at == now + length);
    now += length + 1 + random() % 5;
  }
  CHECK(painted > 80'000);
}

TEST_CASE("a detour that begins in the one before has no overlapping states, and says by how much", "[export]") {
  const SourceTable sources;
  std::vector<ParaverRecord> records;
  ParaverTimeline timeline(sources, [&](const ParaverRecord& record) { records.push_back(record); });
  DetourLedger ledger;
  ledger.detour = {100, 200, false};
  ledger.hardware_ns = 100;
  timeline.detour(ledger);
  ledger.detour = {190, 290, false};
  timeline.detour(ledger);
  std::uint64_t until = 0;
  std::uint64_t overlap = 0;
  std::uint64_t last = 0;
  for (const ParaverRecord& record : records) {
    CHECK(record.time_ns >= last);
    last = record.time_ns;
    if (record.type == kEventOverlap) overlap += record.value;
    if (record.type != 0) continue;
    CHECK(record.time_ns >= until);
    until = record.end_ns;
  }
  CHECK(until == 290);
  CHECK(overlap == 10);
}

TEST_CASE("a run exported to Paraver has its report's times and counts, in order", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const bool from_start = GENERATE(true, false);
  record_run(run, directory.path("run"), from_start);
  REQUIRE(export_paraver(play_of(directory.path("run")), directory.path("out"), no_progress));
  const Report report = report_of(directory.path("run"));

  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> times;   // by row and state
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> counts;  // of intervals, the same
  std::map<std::uint64_t, std::uint64_t> until;
  std::uint64_t last = 0;
  for (const Line& line : records_of(content_of(directory.path("out.prv")))) {
    const auto& f = line.fields;
    REQUIRE(f.at(5) >= last);
    last = f.at(5);
    if (f.at(0) == 1) {
      REQUIRE(f.at(5) >= until[f.at(1)]);
      until[f.at(1)] = f.at(6);
      times[{f.at(1), f.at(7)}] += f.at(6) - f.at(5);
    } else if (f.at(6) == kEventInterval) {
      ++counts[{f.at(1), f.at(7)}];
    }
  }
  std::map<std::string, std::uint64_t> states;
  std::istringstream config(content_of(directory.path("out.pcf")));
  for (std::string line; std::getline(config, line) && line != "STATES_COLOR";) {
    const std::size_t space = line.find("    ");
    if (space != std::string::npos && line[0] >= '0' && line[0] <= '9') {
      states[line.substr(space + 4)] = std::stoull(line);
    }
  }
  std::size_t compared = 0;
  for (const ReportSource& source : report.sources) {
    if (kind_named(source.kind).value() >= Kind::hypervisor) continue;
    const std::uint64_t row = source.cpu == 1 ? 1 : 2;
    const std::uint64_t state = states.at(source.kind + ":" + source.name);
    CHECK(times[{row, state}] == source.total_ns);
    CHECK(counts[{row, state}] == source.count);
    ++compared;
  }
  CHECK(compared > 40);
  for (const ReportCpu& cpu : report.cpus) {
    const std::uint64_t row = cpu.cpu == 1 ? 1 : 2;
    std::uint64_t outside = times[{row, kStateOutside}];
    for (std::uint64_t gap = 0; gap < 4; ++gap) outside += times[{row, kStateOfSource + gap}];
    CHECK(outside == cpu.detour_ns - cpu.explained_ns);
    CHECK(times[{row, kStateNotObserved}] > 0);
  }
}

TEST_CASE("Paraver is told what was lost on which CPU", "[export]") {
  const TemporaryDirectory directory;
  LossyRun run;
  record_run(run, directory.path("run"));
  REQUIRE(export_paraver(play_of(directory.path("run")), directory.path("out"), no_progress));
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> lost;  // by row and type of event
  for (const Line& line : records_of(content_of(directory.path("out.prv")))) {
    if (line.fields.at(0) == 2 && line.fields.at(6) / 1'000'000 == kEventLost / 1'000'000) {
      lost[{line.fields.at(1), line.fields.at(6)}] = line.fields.at(7);
    }
  }
  CHECK(lost == decltype(lost){{{1, kEventLost}, run.intervals / 100}, {{1, kEventLostAnywhere}, 3}});
}

TEST_CASE("Paraver is told what could not be seen at all", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  run.status.unsupported = {"hrtimers\nof it", "faults"};
  record_run(run, directory.path("run"));
  REQUIRE(export_paraver(play_of(directory.path("run")), directory.path("out"), no_progress));
  const std::string config = content_of(directory.path("out.pcf"));
  CHECK(config.find("    What could not be seen at all\nVALUES\n1    hrtimers?of it\n2    faults\n") !=
        std::string::npos);
  std::vector<std::uint64_t> told;
  for (const Line& line : records_of(content_of(directory.path("out.prv")))) {
    if (line.fields.at(0) == 2 && line.fields.at(6) == kEventUnsupported) told.push_back(line.fields.at(7));
  }
  CHECK(told == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("an export to Paraver touches nothing that is there, and leaves nothing that is not whole", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  record_run(run, directory.path("run"));
  directory.write("out.pcf", "precious");
  const Status refused = export_paraver(play_of(directory.path("run")), directory.path("out.prv"), no_progress);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ExitCode::usage);
  CHECK(refused.error().what == directory.path("out.pcf") + " exists");
  CHECK(content_of(directory.path("out.pcf")) == "precious");
  CHECK_FALSE(std::filesystem::exists(directory.path("out.prv")));
  CHECK_FALSE(std::filesystem::exists(directory.path("out.row")));
  const Status nowhere = export_paraver(play_of(directory.path("run")), directory.path("no/out"), no_progress);
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == ExitCode::failed);
  CHECK(nowhere.error().what.find(directory.path("no/out.prv")) != std::string::npos);
}

TEST_CASE("of a cut recording Paraver gets everything before the cut, and the error", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  record_run(run, directory.path("run"));
  std::filesystem::resize_file(directory.path("run"), std::filesystem::file_size(directory.path("run")) / 2);
  const Status cut = export_paraver(play_of(directory.path("run")), directory.path("out"), no_progress);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().remedy == "everything before that was exported");
  std::uint64_t detours = 0;
  for (const Line& line : records_of(content_of(directory.path("out.prv")))) {
    detours += line.fields.at(0) == 2 && line.fields.at(6) == kEventDetour && line.fields.at(7) != 0;
  }
  std::uint64_t played = 0;
  for (const ReportCpu& cpu : report_of(directory.path("run")).cpus) played += cpu.detours;
  CHECK(detours == played);
  CHECK(played > 100);
}
