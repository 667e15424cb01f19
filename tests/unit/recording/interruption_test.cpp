// SPDX-License-Identifier: Apache-2.0
// A recording that was interrupted within a long detour, and one of very many CPUs.
#include <catch2/catch_test_macros.hpp>

#include "account/lost_counts.h"
#include "unit/recording/scene.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;
using namespace noised::test;

namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr std::uint64_t kToleranceNs = 25;

/// One CPU, whose intervals and detours the test tells.
class LongRun : public Recordable {
 public:
  void fill(Snapshot& snapshot) const override {
    snapshot.drained_ns = snapshot.elapsed_ns = now_ns_;
    snapshot.lost = ReportLost{};
    snapshot.cpus.resize(1);
    snapshot.cpus[0].cpu = 1;
    snapshot.cpus[0].threshold_ns = 200;
    snapshot.cpus[0].observed_ns = now_ns_;
  }
  void record_to(PipelineSink* sink) override {
    sink_ = sink;
    if (sink == nullptr) return;
    sink->begins(0, 1);
    for (const Interval& interval : watched_.matcher().waiting()) sink->waits(0, interval);
  }

  void intervals(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Interval interval{now_ns_ + 100, now_ns_ + 200, source_, Kind::irq, 0, 7, 0};
      now_ns_ = interval.end_ns;
      REQUIRE(watched_.add(interval));
      if (sink_ != nullptr) sink_->interval(0, interval);
    }
  }
  /// A detour from the end of the last one until now.
  void detour() {
    now_ns_ += 100;
    const DetourLedger& ledger = watched_.add({last_ns_, now_ns_, false}, kToleranceNs);
    last_ns_ = now_ns_ += 100;
    if (sink_ != nullptr) sink_->detour(0, ledger, kToleranceNs, FeedDetour());
  }
  /// Drains with so many intervals each, until the recorder has no room left: all of them, and one more.
  std::size_t fill_up(Recorder& recorder, std::size_t count) {
    std::size_t told = 0;
    for (std::size_t i = 0; i <= Recorder::kBlocks; ++i, told += count) {
      intervals(count);
      recorder.after_drain(*this);
    }
    return told;
  }

  SourceTable sources;

 private:
  SourceId source_ = sources.intern(Kind::irq, "eth0");
  LoopCpu watched_{{.cpu = 1, .threshold_ns = 200}, sources};
  PipelineSink* sink_ = nullptr;
  std::uint64_t now_ns_ = 1'000;
  std::uint64_t last_ns_ = 1'000;
};

struct Played {
  Report report;
  std::uint64_t intervals = 0;  ///< told to the visitor
  std::uint64_t counted = 0;    ///< in detours
};

Played play(const std::string& path) {
  auto player = Player::open(path);
  REQUIRE(player);
  DetourTexts texts(player.value().playback());
  while (player.value().step(&texts)) {
  }
  CHECK(player.value().damage().empty());
  Played played{player.value().report(), texts.intervals, 0};
  for (const ReportSource& source : played.report.sources) played.counted += source.kind == "irq" ? source.count : 0;
  return played;
}

/// A recording of a LongRun, with the reader in the test's hands.
struct Scene {
  TemporaryDirectory directory;
  LongRun run;
  Recorder recorder{run.sources, StatusView(), Description(), kBlockBytes};
  Result<BlockWriter> file = create_recording(directory.path("run"));

  Scene() {
    REQUIRE(file);
    REQUIRE(recorder.open());
    recorder.after_drain(run);
  }
  Played finish() {
    Snapshot snapshot;
    run.fill(snapshot);
    write_blocks(recorder, file.value());
    recorder.finish(snapshot);
    write_blocks(recorder, file.value());
    return play(directory.path("run"));
  }
};

}  // namespace

TEST_CASE("what had no room within a detour that goes on is told again, and was not lost", "[recording]") {
  Scene scene;
  const std::size_t told = scene.run.fill_up(scene.recorder, 1'000);
  write_blocks(scene.recorder, scene.file.value());
  scene.run.intervals(10);
  scene.recorder.after_drain(scene.run);  // a new part
  scene.run.intervals(10);
  scene.run.detour();
  scene.recorder.after_drain(scene.run);
  const Played played = scene.finish();
  CHECK(played.report.lost.events == 0);
  CHECK(played.report.lost.detours == 0);
  CHECK(played.intervals == told + 20);
  CHECK(played.counted == told + 20);
}

TEST_CASE("what had no room is lost with its detour, but for what still waits for the next", "[recording]") {
  Scene scene;
  const std::size_t told = scene.run.fill_up(scene.recorder, 1'000);
  scene.run.detour();
  scene.run.intervals(70);
  write_blocks(scene.recorder, scene.file.value());
  scene.recorder.after_drain(scene.run);
  scene.run.intervals(10);
  scene.run.detour();
  scene.recorder.after_drain(scene.run);
  const Played played = scene.finish();
  CHECK(played.report.lost.detours == 1);
  CHECK(played.report.lost.events > 0);
  CHECK(played.intervals + played.report.lost.events == told + 80);
  CHECK(played.counted == 80);
}

namespace {

/// Very many CPUs, each of which lost something for every reason.
class ManyCpus : public Recordable {
 public:
  explicit ManyCpus(unsigned cpus) : cpus_(cpus) {}
  void fill(Snapshot& snapshot) const override {
    constexpr std::uint64_t kLong = UINT64_MAX / 2;
    snapshot.lost = ReportLost{};
    snapshot.elapsed_ns = kLong;
    snapshot.cpus.resize(cpus_);
    for (unsigned i = 0; i < cpus_; ++i) {
      CpuSnapshot& cpu = snapshot.cpus[i];
      cpu.cpu = i;
      cpu.observed_ns = cpu.iterations = cpu.blind_ns = cpu.steal_ns = kLong;
      for (const char* reason : kCpuLossReasons) add_loss(i, reason, kLong, snapshot.lost);
    }
  }
  void record_to(PipelineSink* /*sink*/) override {}

 private:
  unsigned cpus_;
};

}  // namespace

TEST_CASE("two thousand CPUs with every reason of loss are recorded", "[recording]") {
  const TemporaryDirectory directory;
  const SourceTable sources;
  ManyCpus many(2'000);
  Recorder recorder(sources, StatusView(), Description());
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(many);
  write_blocks(recorder, file.value());
  Snapshot snapshot;
  many.fill(snapshot);
  recorder.finish(snapshot);
  write_blocks(recorder, file.value());
  const Played played = play(directory.path("run"));
  CHECK(played.report.cpus.size() == 2'000);
}

TEST_CASE("a block ends with a checkpoint, or does not", "[recording]") {
  std::array<char, 1024> room{};
  RecordWriter writer;
  writer.begin(room, 1);
  const auto ends = [&] { return ends_with_checkpoint({room.data(), writer.size()}, 1); };
  CHECK_FALSE(ends());
  writer.checkpoint("{}");
  CHECK(ends());
  writer.begins(0, 5);
  CHECK_FALSE(ends());
}
