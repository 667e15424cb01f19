// SPDX-License-Identifier: Apache-2.0
// Streams are in order and nest, and say what the report says. tests/export/ctf reads them with babeltrace2.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "export/ctf/ctf.h"
#include "export/ctf/ctf_metadata.h"
#include "export/ctf/ctf_order.h"
#include "export/ctf/ctf_stream.h"
#include "unit/export/ctf_read.h"

using namespace noised;
using namespace noised::exports;
using namespace noised::recording;
using namespace noised::test;

namespace {

// Intervals that nest, with equal edges and instants, each told when it ended.
void nest(std::mt19937_64& random, std::uint64_t start, std::uint64_t end, int depth, std::vector<Interval>& told) {
  std::uint64_t at = start;
  while (depth > 0 && random() % 3 != 0 && at < end) {
    at += random() % 3;
    const std::uint64_t until = std::min(end, at + random() % 12);
    if (at > until) break;
    nest(random, at, until, depth - 1, told);
    at = until;
  }
  told.push_back({start, end, static_cast<SourceId>(told.size()), Kind::irq, 0, 0, 0});
}

struct Read {
  std::map<SourceId, std::uint64_t> self_ns;
  std::uint64_t detour_ns = 0;
  std::uint64_t detours = 0;
  std::uint64_t entries = 0;
  std::uint64_t exits = 0;
  std::uint64_t gaps_ns = 0;
  std::uint64_t discarded = 0;
  std::uint64_t last_ns = 0;
};

void read_detour(Bytes& bytes, Read& read) {
  const auto duration = bytes.take<std::uint64_t>();
  std::uint64_t sum = 0;
  for (int part = 0; part < 5; ++part) sum += bytes.take<std::uint64_t>();
  CHECK(sum == duration);
  read.detour_ns += duration;
  ++read.detours;
  (void)bytes.take<std::uint8_t>();
  for (auto count = bytes.take<std::uint32_t>(); count > 0; --count) {
    const auto source = bytes.take<std::uint32_t>();
    (void)bytes.take<std::uint8_t>();
    read.self_ns[source] += bytes.take<std::uint64_t>();
  }
}

Read read_stream(const std::string& path, unsigned cpu) {
  Read read;
  read.discarded = read_ctf_stream(path, cpu, [&read](std::uint16_t id, std::uint64_t time_ns, Bytes& bytes) {
    read.last_ns = time_ns;
    if (id == kCtfObservedSince) {
      (void)bytes.take<std::uint64_t>();
    } else if (id == kCtfNotObservedExit) {
      read.gaps_ns += bytes.take<std::uint64_t>();
    } else if (id == kCtfDetourExit) {
      read_detour(bytes, read);
    } else if (id >= kCtfFirstInterval) {
      const bool exit = id % 2 == 1;
      ++(exit ? read.exits : read.entries);
      (void)bytes.take(4 + 8 + (exit ? 8 : 1));
    }
  });
  return read;
}

}  // namespace

TEST_CASE("spans told when they ended become beginnings and ends that nest, in order", "[export]") {
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 500; ++round) {
    std::uint64_t last = 0;
    std::vector<SourceId> open;
    std::size_t begun = 0;
    CtfOrder order([&](const CtfSpan& span, bool end) {
      const std::uint64_t time = end ? span.interval.end_ns : span.interval.start_ns;
      REQUIRE(time >= last);
      last = time;
      if (!end) {
        ++begun;
        return open.push_back(span.interval.source);
      }
      REQUIRE(open.back() == span.interval.source);
      open.pop_back();
    });
    std::vector<Interval> told;
    std::uint64_t at = 5;
    for (int i = 0; i < 6; ++i, at += 40) nest(random, at, at + random() % 40, 4, told);
    for (const Interval& interval : told) {
      // What is still to come began after this, or is around it.
      CtfSpan span;
      span.interval = interval;
      order.add(span);
      if (interval.start_ns % 40 == 5) order.release(interval.start_ns);
    }
    order.finish();
    REQUIRE(open.empty());
    REQUIRE(begun == told.size());
  }
}

TEST_CASE("names in the metadata are literals, whatever they are", "[export]") {
  CHECK(ctf_literal("task:kworker/1:0") == R"("task:kworker/1:0")");
  CHECK(ctf_literal("\"; }; evil") == R"("\"; }; evil")");
  CHECK(ctf_literal("a\\n") == R"("a\\x5cn")");
  CHECK(ctf_literal("a\nb") == R"("a\\x0ab")");
  CHECK(ctf_literal("\xff") == R"("\\xff")");
}

TEST_CASE("a stream never goes back in time, and counts where it would have", "[export]") {
  const TemporaryDirectory directory;
  auto file = NewFile::create(directory.path("stream"));
  REQUIRE(file);
  CtfStream stream(std::move(file).value(), 7);
  stream.event(kCtfNotObservedEntry, 100, {});
  stream.event(kCtfNotObservedEntry, 90, {});
  stream.event(kCtfNotObservedEntry, 110, {});
  stream.lost(5);
  REQUIRE(stream.finish());
  CHECK(stream.moved() == 1);
  CHECK(read_stream(directory.path("stream"), 7).discarded == 5);
  CHECK(read_stream(directory.path("stream"), 7).last_ns == 110);
}

TEST_CASE("a run exported to CTF has its report's times, CPU by CPU", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  const bool from_start = GENERATE(true, false);
  record_run(run, directory.path("run"), from_start);
  REQUIRE(export_ctf(play_of(directory.path("run")), directory.path("out"), no_progress));
  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  DetourTexts played(player.value().playback());
  while (player.value().step(&played)) {
  }
  const Report report = player.value().report();
  std::uint64_t entries = 0;
  for (const ReportCpu& cpu : report.cpus) {
    const Read read = read_stream(directory.path("out/cpu_" + std::to_string(cpu.cpu)), cpu.cpu);
    CHECK(read.detours == cpu.detours);
    CHECK(read.detour_ns == cpu.detour_ns);
    CHECK(read.entries == read.exits);
    CHECK(read.gaps_ns > 0);
    CHECK(read.discarded == 0);
    entries += read.entries;
    for (const ReportSource& source : report.sources) {
      const Kind kind = kind_named(source.kind).value();
      if (source.cpu != cpu.cpu || kind >= Kind::hypervisor) continue;
      SourceId id = 0;
      const SourceTable& sources = player.value().playback().sources();
      while (sources.at(id).kind != kind || sources.at(id).name != source.name) ++id;
      CHECK(read.self_ns.at(id) == source.total_ns);
    }
  }
  CHECK(entries == played.intervals);
  CHECK(entries > 1'000);
}

TEST_CASE("what was lost on a CPU is in the packets of its stream, the rest in the environment", "[export]") {
  const TemporaryDirectory directory;
  LossyRun run;
  record_run(run, directory.path("run"));
  REQUIRE(export_ctf(play_of(directory.path("run")), directory.path("out"), no_progress));
  CHECK(run.intervals > 1'000);
  CHECK(read_stream(directory.path("out/cpu_1"), 1).discarded == run.intervals / 100);
  CHECK(read_stream(directory.path("out/cpu_3"), 3).discarded == 0);
  CHECK(content_of(directory.path("out/metadata")).find("\"missed_run: 3\"") != std::string::npos);
}

TEST_CASE("an export to CTF touches no directory that is there", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  record_run(run, directory.path("run"));
  std::filesystem::create_directory(directory.path("out"));
  const Status refused = export_ctf(play_of(directory.path("run")), directory.path("out"), no_progress);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ExitCode::usage);
  CHECK(refused.error().what == directory.path("out") + " exists");
  CHECK(std::filesystem::is_empty(directory.path("out")));
  const Status no_recording = export_ctf(play_of(directory.path("none")), directory.path("new"), no_progress);
  CHECK_FALSE(no_recording);
  CHECK_FALSE(std::filesystem::exists(directory.path("new")));
}
