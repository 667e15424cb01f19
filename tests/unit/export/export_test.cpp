// SPDX-License-Identifier: Apache-2.0
// Recordings in the formats of other tools. What those tools make of them: tests/export.
#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <iterator>
#include <sstream>

#include "export/csv.h"
#include "export/lanes.h"
#include "export/new_file.h"
#include "export/perfetto/perfetto.h"
#include "export/perfetto/perfetto_file.h"
#include "unit/export/read.h"
#include "unit/export/scene.h"

using namespace noised;
using namespace noised::exports;
using namespace noised::recording;
using namespace noised::test;

namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Records a run; a play of it.
Play record(RecordedRun& run, const TemporaryDirectory& directory) {
  record_drains(run, directory.path("run"), 100);
  return [path = directory.path("run")] { return Player::open(path); };
}

const IntervalOrder::Take kNothing = [](const Interval&) { FAIL(); };

}  // namespace

TEST_CASE("protobuf: the wire format", "[export]") {
  ProtobufWriter writer;
  writer.number(1, 150);  // the example of the format's description: 08 96 01
  CHECK(writer.bytes() == "\x08\x96\x01");
  writer.clear();
  writer.text(2, "testing");  // and its second one
  CHECK(writer.bytes() == "\x12\x07testing");
  writer.clear();
  writer.number(16, UINT64_MAX);
  CHECK(writer.bytes() == "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  writer.clear();
  writer.message(3, [&] { writer.fixed(1, 0x0102030405060708); });
  const Fields outer = parse(writer.bytes());
  CHECK(parse(outer.texts.at(3)).texts.at(1) == "\x08\x07\x06\x05\x04\x03\x02\x01");
}

TEST_CASE("csv: quotes only where they have to be", "[export]") {
  CHECK(csv_field("task:crond") == "task:crond");
  CHECK(csv_field("task:a,b") == "\"task:a,b\"");
  CHECK(csv_field("task:\"\n") == "\"task:\"\"\n\"");
}

TEST_CASE("an enclosing interval comes before what it encloses", "[export]") {
  IntervalOrder order;
  for (const auto& [start, end] : {std::pair{10, 12}, {14, 14}, {10, 20}, {20, 20}, {10, 20}, {31, 35}, {30, 40}}) {
    Interval interval{.start_ns = static_cast<std::uint64_t>(start), .end_ns = static_cast<std::uint64_t>(end)};
    interval.id = order.held();
    order.add(interval, kNothing);
  }
  std::vector<std::uint64_t> ids;
  const auto take = [&](const Interval& interval) { ids.push_back(interval.id); };
  order.release(29, take);
  CHECK(ids == std::vector<std::uint64_t>{4, 2, 0, 1, 3});  // of two alike, the one that came last is around the other
  order.release(UINT64_MAX, take);
  CHECK(ids == std::vector<std::uint64_t>{4, 2, 0, 1, 3, 6, 5});
}

TEST_CASE("intervals without a detour are not held for ever, and none is lost", "[export]") {
  constexpr std::uint64_t kCount = 3 * IntervalOrder::kMostHeld;
  for (const bool together : {false, true}) {
    IntervalOrder order;
    std::uint64_t taken = 0;
    const auto take = [&](const Interval&) { ++taken; };
    for (std::uint64_t i = 0; i < kCount; ++i) {
      order.add({.start_ns = together ? 7 : i, .end_ns = i + 10}, take);
      REQUIRE(order.held() <= IntervalOrder::kMostHeld);
    }
    order.release(UINT64_MAX, take);
    CHECK(taken == kCount);
  }
}

TEST_CASE("bars nest on a lane, and go to the next where they do not", "[export]") {
  Lanes lanes;
  std::vector<std::pair<std::size_t, std::uint64_t>> ended;
  const auto end = [&](std::size_t lane, std::uint64_t at_ns) { ended.emplace_back(lane, at_ns); };
  CHECK(lanes.open(10, 30, end) == 0U);
  CHECK(lanes.open(10, 20, end) == 0U);
  CHECK(lanes.open(15, 25, end) == 1U);  // overlaps the one before it
  CHECK(lanes.open(20, 20, end) == 0U);
  CHECK(ended == std::vector<std::pair<std::size_t, std::uint64_t>>{{0, 20}});
  CHECK(lanes.open(5, 40, end) == 2U);  // comes late
  lanes.finish(end);
  const std::vector<std::pair<std::size_t, std::uint64_t>> all{{0, 20}, {0, 20}, {0, 30}, {1, 25}, {2, 40}};
  CHECK(ended == all);
  for (std::size_t i = 0; i < Lanes::kMost; ++i) CHECK(lanes.open(100 + i, 200 + i, end).has_value());
  CHECK_FALSE(lanes.open(150, 300, end).has_value());
}

TEST_CASE("what is not finished is removed, and nothing is overwritten", "[export]") {
  const TemporaryDirectory directory;
  directory.write("mine", "kept");
  const auto refused = NewFile::create(directory.path("mine"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ExitCode::usage);
  CHECK(content(directory.path("mine")) == "kept");
  {
    auto file = NewFile::create(directory.path("half"));
    REQUIRE(file);
    file.value().write("some of it");
  }
  CHECK_FALSE(std::filesystem::exists(directory.path("half")));
  auto full = NewFile::create("/dev/full");
  REQUIRE(full);
  full.value().write("lost");
  CHECK_FALSE(full.value().finish());
  CHECK(std::filesystem::exists("/dev/full"));
}

TEST_CASE("the CSV of a recording adds up to the report of the run", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Play play = record(run, directory);
  const std::string out = directory.path("csv");
  REQUIRE(export_csv(play, out, no_progress));
  Report total = run.report();
  auto detours = sums(out + "/detours.csv");
  ReportCpu both;
  for (const ReportCpu& cpu : total.cpus) {
    both.detours += cpu.detours;
    both.detour_ns += cpu.detour_ns;
    both.explained_ns += cpu.explained_ns;
    both.hardware_ns += cpu.hardware_ns;
    both.unexplained_ns += cpu.unexplained_ns;
  }
  CHECK(detours[""] == both.detours);
  CHECK(detours["duration_ns"] == both.detour_ns);
  CHECK(detours["explained_ns"] == both.explained_ns);
  CHECK(detours["hardware_ns"] == both.hardware_ns);
  CHECK(detours["unexplained_ns"] == both.unexplained_ns);
  CHECK(both.unexplained_ns > 0);
  CHECK(detours["incomplete"] == total.lost.incomplete_detours);
  CHECK(sums(out + "/entries.csv")["self_ns"] == both.explained_ns);
  CHECK(sums(out + "/intervals.csv")[""] == run.intervals);
  CHECK(sums(out + "/not_observed.csv")[""] == total.lost.by.at(0).count);
  CHECK(content(out + "/report.json") == views::to_json(total) + "\n");
  const Status again = export_csv(play, out, no_progress);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == ExitCode::usage);
}

TEST_CASE("in a trace of Perfetto every bar ends, in the reverse order of its beginning", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Play play = record(run, directory);
  REQUIRE(export_perfetto(play, directory.path("trace"), no_progress));
  const std::string trace = content(directory.path("trace"));
  std::map<std::uint64_t, std::vector<std::uint64_t>> open;  // beginnings by track
  std::map<std::uint64_t, std::uint64_t> last_ns;
  std::uint64_t bars = 0;
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
      ++bars;
    } else if (event.numbers.at(9) == 2) {
      REQUIRE_FALSE(open[track].empty());
      open[track].pop_back();
    }
  }
  for (const auto& [track, beginnings] : open) CHECK(beginnings.empty());
  const Report report = run.report();
  const std::uint64_t about_all = 1 + report.lost.by.size() + report.unsupported.size();
  CHECK(bars == run.intervals + run.detours.size() + report.lost.by.at(0).count + about_all);
}

TEST_CASE("of a damaged recording what came before is exported, and that it is damaged is told", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const Play play = record(run, directory);
  std::filesystem::resize_file(directory.path("run"), std::filesystem::file_size(directory.path("run")) / 2);
  const std::string out = directory.path("csv");
  for (const Status& status :
       {export_csv(play, out, no_progress), export_perfetto(play, directory.path("trace"), no_progress)}) {
    REQUIRE_FALSE(status);
    CHECK(status.error().remedy == "everything before that was exported");
  }
  const std::uint64_t rows = sums(out + "/intervals.csv")[""];
  CHECK(rows > run.intervals / 4);
  CHECK(rows < run.intervals);
  CHECK(content(directory.path("trace")).find("the rest of the recording: ") != std::string::npos);
}
