// SPDX-License-Identifier: Apache-2.0
// What is played from a recording is what was measured.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <span>

#include "account/lost_counts.h"
#include "noisectl/commands/record.h"
#include "unit/recording/scene.h"

using namespace noised;
using namespace noised::probe;
using namespace noised::recording;
using namespace noised::test;

namespace {

constexpr std::size_t kSmallBlock = 4096;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::vector<std::string> tail(const std::vector<std::string>& texts, std::size_t from) {
  return {texts.begin() + static_cast<std::ptrdiff_t>(from), texts.end()};
}

}  // namespace

TEST_CASE("a recording of a whole run gives its report and its detours, to the nanosecond", "[recording]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  // Some of its sources have slots that others had before.
  const int departed = GENERATE(0, 30);
  for (int number = 0; number < departed; ++number) {
    const auto departure = run.sources.departure(run.sources.intern(Kind::task, "gone"));
    run.sources.let_go(std::span(&*departure, 1));
  }
  Recorder recorder(run.sources, run.status, run.description, kSmallBlock);
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  for (int i = 0; i < 200; ++i) {
    run.drain(&recorder, 10);
    write_blocks(recorder, file.value());
  }
  finish(run, recorder);
  write_blocks(recorder, file.value());

  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  DetourTexts played(player.value().playback());
  while (player.value().step(&played)) {
  }
  CHECK(player.value().damage().empty());
  CHECK(player.value().progress() == 1);
  CHECK(views::to_json(player.value().report()) == views::to_json(run.report()));
  CHECK(views::to_json(run.report()).find("\"stolen_by_host_ns\":") != std::string::npos);
  CHECK(played.texts == run.detours);
  CHECK(played.intervals == run.intervals);
  CHECK(run.detours.size() > 3'500);
}

TEST_CASE("a recording that begins in the middle has every detour since, as it was shown", "[recording]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  Recorder recorder(run.sources, run.status, run.description, kSmallBlock);
  for (int i = 0; i < 100; ++i) run.drain(&recorder, 10);
  const std::size_t before = run.detours.size();
  const Report report_before = run.report();
  run.reading_ns = 1'000'000;  // the last CPU was read so long after the drain began, in which it went on observing
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  run.reading_ns = 0;
  for (int i = 0; i < 100; ++i) {
    run.drain(&recorder, 10);
    write_blocks(recorder, file.value());
  }
  finish(run, recorder);
  write_blocks(recorder, file.value());

  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  DetourTexts played(player.value().playback());
  while (player.value().step(&played)) {
  }
  CHECK(player.value().damage().empty());
  CHECK(played.texts == tail(run.detours, before));
  const Report report = player.value().report();
  const Report all = run.report();
  CHECK(report.elapsed_ns == all.elapsed_ns - report_before.elapsed_ns + 1'000'000);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(report.cpus.at(i).detour_ns == all.cpus.at(i).detour_ns - report_before.cpus.at(i).detour_ns);
    CHECK(report.cpus.at(i).explained_ns == all.cpus.at(i).explained_ns - report_before.cpus.at(i).explained_ns);
    CHECK(report.cpus.at(i).hypervisor_ns == all.cpus.at(i).hypervisor_ns - report_before.cpus.at(i).hypervisor_ns);
    CHECK(report.cpus.at(i).observed_ns == all.cpus.at(i).observed_ns - report_before.cpus.at(i).observed_ns);
  }
}

TEST_CASE("a reader that is too slow costs what it did not take, and that is counted", "[recording]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  Recorder recorder(run.sources, run.status, run.description, kSmallBlock);
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  for (int i = 0; i < 40; ++i) {
    run.drain(&recorder, 100);
    if (i == 20) write_blocks(recorder, file.value());
  }
  write_blocks(recorder, file.value());
  run.drain(&recorder, 1);
  finish(run, recorder);
  write_blocks(recorder, file.value());

  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  DetourTexts played(player.value().playback());
  while (player.value().step(&played)) {
  }
  CHECK(player.value().damage().empty());
  const Report report = player.value().report();
  CHECK(report.lost.detours > 0);
  CHECK(report.lost.events > 0);
  CHECK(played.texts.size() + report.lost.detours == run.detours.size());
  CHECK(played.intervals + report.lost.events == run.intervals);
  REQUIRE(!report.lost.by.empty());
  CHECK(report.lost.by.back().reason == "recording_full");
  // Nothing of a part explains what is in another.
  std::size_t at = 0;
  for (const std::string& text : played.texts) {
    while (at < run.detours.size() && run.detours[at] != text) ++at;
  }
  CHECK(at < run.detours.size());
}

TEST_CASE("one reader at a time records, and another can when it has gone", "[recording]") {
  RecordedRun run;
  Recorder recorder(run.sources, run.status, run.description, kSmallBlock);
  REQUIRE(recorder.open());
  CHECK_FALSE(recorder.open());
  recorder.close();
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  run.drain(&recorder, 100);
  recorder.close();
  CHECK_FALSE(recorder.open());  // until the pipeline has seen it
  run.drain(&recorder, 1);
  REQUIRE(recorder.open());
  CHECK_FALSE(recorder.front());  // what the first did not take is not the second's
  run.drain(&recorder, 1);
  REQUIRE(recorder.front());
  CHECK(recorder.front()->kind == BlockKind::description);
}

TEST_CASE("a recording that is held begins when what it is of runs, and says of what", "[recording]") {
  RecordedRun run;
  Recorder recorder(run.sources, run.status, run.description, kSmallBlock);
  const auto begun = [&] {
    run.drain(&recorder, 1);
    const auto block = recorder.front();
    return block ? std::optional(parse_description(block->bytes).value()) : std::nullopt;
  };
  CHECK_FALSE(recorder.is_held_or_recording());
  REQUIRE(recorder.hold());
  CHECK(recorder.is_held_or_recording());
  CHECK_FALSE(recorder.hold());
  CHECK_FALSE(recorder.open());
  CHECK_FALSE(begun());
  recorder.begin(PhaseRecording{1'000, 64, "fifo", 7, {"something"}});
  const auto phases = begun();
  REQUIRE(phases);
  CHECK(phases->grain_ns == 1'000);
  CHECK(phases->footprint_bytes == 64);
  CHECK(phases->policy == "fifo");
  CHECK(phases->priority == 7);
  CHECK(phases->quantum_ns + phases->work == 0);
  CHECK(phases->base.status.policy == "fifo");
  CHECK(phases->base.status.unsupported.back() == "something");
  CHECK(recorder.is_held_or_recording());
  recorder.close();
  CHECK_FALSE(recorder.is_held_or_recording());
  run.drain(&recorder, 1);

  // The next is of the loop again, whether it was held or not, and after one that was closed before it began.
  REQUIRE(recorder.hold());
  recorder.begin(std::nullopt);
  CHECK(begun().value().grain_ns == 0);
  recorder.close();
  run.drain(&recorder, 1);
  REQUIRE(recorder.hold());
  recorder.begin(PhaseRecording{1'000, 64, "fifo", 7, {}});
  recorder.close();
  run.drain(&recorder, 1);
  REQUIRE(recorder.open());
  const auto loop = begun();
  REQUIRE(loop);
  CHECK(loop->grain_ns == 0);
  CHECK(loop->quantum_ns == run.description.quantum_ns);
}

TEST_CASE("blocks come out of a stream whatever its pieces", "[recording]") {
  std::string stream;
  const auto append = [&](std::uint32_t kind, const std::string& bytes) {
    const std::array<std::uint32_t, 2> head = {static_cast<std::uint32_t>(bytes.size()), kind};
    stream.append(reinterpret_cast<const char*>(head.data()), sizeof(head)).append(bytes);
  };
  append(1, "description");
  append(2, "");
  append(2, std::string(1'000, 'x'));
  append(3, "");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100}, stream.size()}) {
    client::BlockSplitter blocks;
    std::string seen;
    bool more = true;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      more = blocks.feed(std::string_view(stream).substr(at, piece), [&](BlockKind kind, std::string_view bytes) {
        seen += std::to_string(static_cast<unsigned>(kind)) + ":" + std::to_string(bytes.size()) + " ";
        return kind != BlockKind::end;
      });
    }
    CHECK(seen == "1:11 2:0 2:1000 3:0 ");
    CHECK_FALSE(more);
  }
  client::BlockSplitter blocks;
  CHECK_FALSE(blocks.feed("\xff\xff\xff\xff....", [](BlockKind, std::string_view) { return true; }));
}

TEST_CASE("names that are not told are in no record, and what they took is", "[recording]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  run.wakers = true;
  Recorder recorder(run.sources, run.status, run.description, kSmallBlock);
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  Disclosure told;
  told.name = [](std::string_view name, std::uint32_t /*pid*/) { return name == "mywaker"; };
  REQUIRE(recorder.open(told));
  // In the file, it is compressed.
  const auto write = [&] {
    while (const auto block = recorder.front()) {
      CHECK(block->bytes.find("crond") == std::string_view::npos);
      CHECK(block->bytes.find("theirs") == std::string_view::npos);
      REQUIRE((block->kind == BlockKind::end ? file.value().finish() : file.value().add(block->kind, block->bytes)));
      recorder.pop();
    }
  };
  recorder.after_drain(run);
  for (int i = 0; i < 50; ++i) {
    run.drain(&recorder, 10);
    write();
  }
  finish(run, recorder);
  write();

  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  DetourTexts played(player.value().playback());
  while (player.value().step(&played)) {
  }
  CHECK(player.value().damage().empty());
  std::string expected;
  for (const std::string& text : run.detours) {
    const std::string named = replaced(text, "\"name\":\"crond\"", "\"name\":\"hidden-1\"");
    expected += replaced(named, ",\"waker\":\"theirs\"", "") + '\n';
  }
  std::string got;
  for (const std::string& text : played.texts) got += text + '\n';
  CHECK(got == expected);
  CHECK(got.find("hidden-1") != std::string::npos);
  CHECK(got.find("\"waker\":\"mywaker\"") != std::string::npos);
}
