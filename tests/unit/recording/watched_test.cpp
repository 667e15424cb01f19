// SPDX-License-Identifier: Apache-2.0
// What is played from a recording of watched tasks is what a daemon tells of them.
#include <catch2/catch_test_macros.hpp>

#include "noisectl/replay/replay_watch.h"
#include "unit/account/watched_scene.h"
#include "views/watch.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;
using namespace noised::system;
using namespace noised::client;
using namespace noised::test;

namespace {

constexpr std::uint64_t kAtOnce = 0;

/// The losses of a recording, as JSON, in order.
class LossTexts : public PlayerVisitor {
 public:
  explicit LossTexts(const Playback& playback) : playback_(playback) {}
  void interval(std::size_t /*cpu*/, const Interval& /*interval*/) override { ++intervals; }
  void loss(std::size_t cpu, const Loss& loss, const DetourLedger& ledger, std::string_view details) override {
    texts.push_back(views::to_json(to_view(playback_, cpu, loss, ledger, details)));
  }
  void ran(std::size_t /*cpu*/, const TaskRun& /*run*/, const RunFacts& /*facts*/) override { ++runs; }

  std::vector<std::string> texts;
  std::uint64_t intervals = 0;
  std::uint64_t runs = 0;

 private:
  const Playback& playback_;
};

/// What `noisectl --replay PATH watch` tells of this selection.
WatchReport replayed(const std::string& path, const Selection& selection) {
  auto first = Player::open(path);
  REQUIRE(first);
  RecordedTasks tasks(selection, first.value().playback().sources());
  while (first.value().step(&tasks)) {
  }
  REQUIRE(tasks.settle());
  auto second = Player::open(path);
  REQUIRE(second);
  ReplayedAccount account(tasks, second.value().playback());
  while (second.value().step(&account)) {
  }
  return account.report(second.value());
}

// But for what the account does not tell.
std::string text_of(WatchReport report) {
  report.final = true;
  report.elapsed_ns = 0;
  report.cpus.clear();
  report.lost = {};
  report.unsupported.clear();
  return views::to_json(report);
}

Selection by_pids(std::vector<std::uint32_t> pids) { return {SelectBy::pids, std::move(pids), {}, false, {}}; }

}  // namespace

TEST_CASE("a recording of watched tasks has each loss as it was shown, and its report", "[recording][watch]") {
  const TemporaryDirectory directory;
  WatchedRun run;
  record_watched(run, directory.path("run"), 100);
  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  LossTexts texts(player.value().playback());
  while (player.value().step(&texts)) {
  }
  CHECK(player.value().damage().empty());
  CHECK(texts.texts == run.detours);
  CHECK(texts.intervals == run.intervals);
  CHECK(texts.runs == run.runs);
  CHECK(run.detours.size() > 2'000);
  CHECK(run.most_entries > 2 * RecordWriter::kMostEntries);
  const Report report = player.value().report();
  CHECK(views::to_json(report) == views::to_json(run.report()));
  REQUIRE(report.cpus.size() == 2);
  CHECK(report.cpus[0].mode == "watch");
}

TEST_CASE("what was taken from recorded tasks is what a daemon tells of them, to the nanosecond",
          "[recording][watch]") {
  const std::uint32_t process = WatchedRun::kFirstPid;
  struct Choice {
    Selection selection;
    std::function<bool(std::uint32_t)> chosen;
  };
  const std::vector<Choice> choices = {
      {{}, [](std::uint32_t) { return true; }},
      {by_pids({process}), [&](std::uint32_t pid) { return WatchedRun::process_of(pid) == process; }},
      // A thread means its process.
      {by_pids({process + 8}), [&](std::uint32_t pid) { return WatchedRun::process_of(pid) == process + 6; }},
      {by_pids({process + 3, process + 7}), [](std::uint32_t) { return true; }},
  };
  for (const Choice& choice : choices) {
    const TemporaryDirectory directory;
    WatchedRun run;
    run.begin_account(kAtOnce, choice.chosen);
    record_watched(run, directory.path("run"), 60);
    const WatchReport live = run.watch_report();
    CHECK(live.tasks_seen > 1);
    CHECK(live.counts.unseen_wait_ns > 0);
    CHECK(live.counts.migrations > 0);
    CHECK(text_of(replayed(directory.path("run"), choice.selection)) == text_of(live));
  }
}

TEST_CASE("a recording that begins later tells what was lost since then", "[recording][watch]") {
  const TemporaryDirectory directory;
  WatchedRun run;
  for (int i = 0; i < 20; ++i) run.drain(nullptr, 40);
  Recorder recorder(run.sources, run.status, run.description, 4096);
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  const std::size_t before = run.detours.size();
  for (int i = 0; i < 20; ++i) {
    run.drain(&recorder, 40);
    write_blocks(recorder, file.value());
  }
  Snapshot snapshot;
  run.fill(snapshot);
  recorder.finish(snapshot);
  write_blocks(recorder, file.value());
  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  LossTexts texts(player.value().playback());
  while (player.value().step(&texts)) {
  }
  CHECK(player.value().damage().empty());
  CHECK(texts.texts ==
        std::vector<std::string>(run.detours.begin() + static_cast<std::ptrdiff_t>(before), run.detours.end()));
}

TEST_CASE("losses that had no room are counted, and the others are whole", "[recording][watch]") {
  const TemporaryDirectory directory;
  WatchedRun run;
  Recorder recorder(run.sources, run.status, run.description, 4096);
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  for (int i = 0; i < 60; ++i) {
    run.drain(&recorder, 100);
    if (i == 40) write_blocks(recorder, file.value());
  }
  write_blocks(recorder, file.value());
  run.drain(&recorder, 1);
  Snapshot snapshot;
  run.fill(snapshot);
  recorder.finish(snapshot);
  write_blocks(recorder, file.value());
  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  LossTexts texts(player.value().playback());
  while (player.value().step(&texts)) {
  }
  CHECK(player.value().damage().empty());
  const Report report = player.value().report();
  CHECK(report.lost.detours > 0);
  CHECK(texts.texts.size() + report.lost.detours == run.detours.size());
  CHECK(texts.intervals + texts.runs + report.lost.events == run.intervals + run.runs);
  std::size_t at = 0;
  for (const std::string& text : texts.texts) {
    while (at < run.detours.size() && run.detours[at] != text) ++at;
  }
  CHECK(at < run.detours.size());
}

TEST_CASE("a pid is another task's once its own has ended", "[recording][watch]") {
  SourceTable sources;
  const SourceId old_name = sources.intern(Kind::task, "old");
  const SourceId new_name = sources.intern(Kind::task, "new");
  TaskRun first{10, 20, 5, 5, old_name, 0, false, true, {}};
  TaskRun second{30, 40, 5, 4, new_name, 0, false, false, {}};
  RecordedTasks tasks({SelectBy::comm, {}, "new", false, {}}, sources);
  tasks.ran(0, first, {});
  tasks.ran(0, second, {});
  REQUIRE(tasks.settle());
  CHECK_FALSE(tasks.is_chosen(5));
  CHECK_FALSE(tasks.is_chosen(6));
  tasks.ran(0, first, {});
  CHECK(tasks.is_chosen(5));

  RecordedTasks nobody(by_pids({77}), sources);
  nobody.ran(0, first, {});
  CHECK_FALSE(nobody.settle());
  CHECK(nobody.is_chosen(77));  // should it have a CPU at the end
}

TEST_CASE("watch: told CPU by CPU or in order of time, tasks have lost the same") {
  WatchedRun by_cpu(1'000'000'000);
  WatchedRun in_order(1'000'000'000);
  by_cpu.tell_by_cpu();
  for (WatchedRun* const run : {&by_cpu, &in_order}) {
    run->begin_account(0, [](std::uint32_t) { return true; });
    for (int drain = 0; drain < 50; ++drain) run->drain(nullptr, 200);
  }
  CHECK(by_cpu.watch_report().tasks_seen > 100);
  CHECK(by_cpu.watch_report().counts.migrations > 1'000);
  const auto told = [](auto report) {
    report.combinations.clear();  // which ones have no room, and are "other", depends on which came first
    return views::to_json(report);
  };
  CHECK(told(by_cpu.watch_report()) == told(in_order.watch_report()));
  CHECK(told(by_cpu.report()) == told(in_order.report()));
}
