// SPDX-License-Identifier: Apache-2.0
// What recording costs the pipeline, and whether the file has everything: a synthetic stream, fed in drains to a
// recorder whose blocks a thread writes to a file. What is in the file and what it says is lost must be what was fed.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "account/loop_cpu.h"
#include "base/clocks.h"
#include "recording/player.h"
#include "recording/recorder.h"
#include "recording/recording_file.h"
#include "scenes.h"
#include "system/names.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;
using namespace noised::system;

namespace {

constexpr std::uint64_t kToleranceNs = 25;
constexpr std::uint64_t kDrainNs = 25'000'000;  // trace.drain_interval, by default
constexpr std::uint64_t kRate = 1'000'000;      // intervals a second
constexpr unsigned kDrains = 160;               // paced, 4 s

void must(bool done, const std::string& what) {
  if (done) return;
  fmt::print(stderr, "bench_record: {}\n", what);
  std::exit(1);
}

std::uint64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// One CPU as the pipeline would have it: intervals are matched with detours, and told to the sink.
class Source : public Recordable {
 public:
  explicit Source(const bench::Stream& stream)
      : stream_(stream), names_(sources_, Kallsyms::parse("")), watched_({.cpu = 1, .threshold_ns = 200}, sources_) {
    for (const noised_task_record& record : stream.records) ids_.push_back(names_.resolve(record.record, record.comm));
  }

  void fill(Snapshot& snapshot) const override {
    snapshot.elapsed_ns = base_ns_;
    snapshot.lost = ReportLost{};
    snapshot.cpus.resize(1);
    snapshot.cpus[0].cpu = 1;
    snapshot.cpus[0].observed_ns = base_ns_;
  }
  void record_to(PipelineSink* sink) override {
    sink_ = sink;
    if (sink == nullptr) return;
    sink->begins(0, 1);
    for (const Interval& interval : watched_.matcher().waiting()) sink->waits(0, interval);
  }

  /// Feeds whole detours until there were so many intervals, then ends the drain.
  void drain(Recorder& recorder, std::uint64_t intervals) {
    for (const std::uint64_t end = intervals_ + intervals; intervals_ < end;) {
      feed(stream_.detours[next_detour_]);
      if (++next_detour_ < stream_.detours.size()) continue;
      next_detour_ = next_record_ = 0;
      base_ns_ += stream_.length_ns;
    }
    const std::uint64_t began_ns = thread_cpu_ns();
    recorder.after_drain(*this);
    drains_ns_ += thread_cpu_ns() - began_ns;
  }

  [[nodiscard]] const SourceTable& sources() const { return sources_; }
  [[nodiscard]] std::uint64_t intervals() const { return intervals_; }
  [[nodiscard]] std::uint64_t detours() const { return detours_; }
  /// CPU time of Recorder::after_drain, which makes the checkpoints.
  [[nodiscard]] std::uint64_t drains_ns() const { return drains_ns_; }

 private:
  void feed(Detour detour) {
    for (; next_record_ < stream_.records.size(); ++next_record_) {
      const noised_record& record = stream_.records[next_record_].record;
      if (record.start_ns + record.duration_ns > detour.end_ns) break;
      const std::uint64_t start_ns = base_ns_ + record.start_ns;
      const Interval interval{start_ns,
                              start_ns + record.duration_ns,
                              ids_[next_record_],
                              static_cast<Kind>(record.kind),
                              record.flags,
                              record.id,
                              0};
      must(watched_.add(interval), "an interval has no room");
      ++intervals_;
      if (sink_ != nullptr) sink_->interval(0, interval);
    }
    detour.start_ns += base_ns_;
    detour.end_ns += base_ns_;
    const DetourLedger& ledger = watched_.add(detour, kToleranceNs);
    ++detours_;
    if (sink_ != nullptr) sink_->detour(0, ledger, kToleranceNs, shown_);
  }

  const bench::Stream& stream_;
  SourceTable sources_;
  Names names_;
  LoopCpu watched_;
  std::vector<SourceId> ids_;
  FeedDetour shown_;  // without details
  PipelineSink* sink_ = nullptr;
  std::size_t next_record_ = 0;
  std::size_t next_detour_ = 0;
  std::uint64_t base_ns_ = 0;
  std::uint64_t intervals_ = 0;
  std::uint64_t detours_ = 0;
  std::uint64_t drains_ns_ = 0;
};

/// Takes the recorder's blocks to a file, as a daemon's RecordingFile does, and pauses after each.
class Writer {
 public:
  Writer(Recorder& recorder, BlockWriter file, useconds_t pause_us)
      : recorder_(recorder), file_(std::move(file)), pause_us_(pause_us), thread_([this] { run(); }) {}

  void join() { thread_.join(); }
  [[nodiscard]] std::uint64_t cpu_ns() const { return cpu_ns_; }
  [[nodiscard]] std::uint64_t bytes() const { return file_.size(); }

 private:
  void run() {
    for (bool ended = false; !ended;) {
      ended = recorder_.ended();
      while (const auto block = recorder_.front()) {
        const Status written = block->kind == BlockKind::end ? file_.finish() : file_.add(block->kind, block->bytes);
        must(written.ok(), "the recording cannot be written");
        recorder_.pop();
        if (pause_us_ != 0 && !recorder_.ended()) ::usleep(pause_us_);
      }
      if (!ended) ::usleep(10'000);
    }
    cpu_ns_ = thread_cpu_ns();
  }

  Recorder& recorder_;
  BlockWriter file_;
  useconds_t pause_us_;
  std::uint64_t cpu_ns_ = 0;
  std::thread thread_;
};

class Counter : public PlayerVisitor {
 public:
  void interval(std::size_t /*cpu*/, const Interval& /*interval*/) override { ++intervals; }
  void detour(std::size_t /*cpu*/, const DetourLedger& /*ledger*/, std::string_view /*details*/) override { ++detours; }

  std::uint64_t intervals = 0;
  std::uint64_t detours = 0;
};

struct Scene {
  const char* name;
  bool record;          ///< or only attribute, for comparison
  bool paced;           ///< kRate, or as fast as possible
  useconds_t pause_us;  ///< of the writer, after each block
};

struct Outcome {
  std::uint64_t fed = 0;
  std::uint64_t kept = 0;
  std::uint64_t lost = 0;
  double per_second = 0;
  double feeder_ns = 0;     ///< CPU time of the feeding thread for an interval
  double drain_ns = 0;      ///< the part of it that is Recorder::after_drain
  double writer_share = 0;  ///< of one CPU
  std::uint64_t late = 0;   ///< drains that began more than a drain interval too late
};

// What is in the file, against what was fed.
void compare(const std::string& path, const Source& source, Outcome& outcome) {
  auto player = Player::open(path);
  must(player.ok(), "the recording cannot be opened");
  Counter counter;
  while (player.value().step(&counter)) {
  }
  must(player.value().damage().empty(), player.value().damage());
  const Report report = player.value().report();
  outcome.kept = counter.intervals;
  outcome.lost = report.lost.events;
  must(counter.intervals + report.lost.events == source.intervals(), "intervals: kept and lost are not what was fed");
  must(counter.detours + report.lost.detours == source.detours(), "detours: kept and lost are not what was fed");
}

void feed(const Scene& scene, Source& source, Recorder& recorder, Outcome& outcome) {
  constexpr std::uint64_t kADrain = kRate * kDrainNs / 1'000'000'000;
  const std::uint64_t began_ns = monotonic_ns();
  for (unsigned i = 0; i < kDrains; ++i) {
    source.drain(recorder, kADrain);
    const std::uint64_t due_ns = began_ns + (i + 1) * kDrainNs;
    if (!scene.paced) continue;
    const std::uint64_t now_ns = monotonic_ns();
    if (now_ns > due_ns + kDrainNs) ++outcome.late;
    if (now_ns < due_ns) ::usleep(static_cast<useconds_t>((due_ns - now_ns) / 1'000));
  }
  outcome.fed = source.intervals();
  outcome.per_second = static_cast<double>(source.intervals()) * 1e9 / static_cast<double>(monotonic_ns() - began_ns);
}

Outcome run(const bench::Stream& stream, const Scene& scene) {
  Outcome outcome;
  Source source(stream);
  StatusView status;
  Recorder recorder(source.sources(), status, Description());
  std::string path = "/tmp/noised-bench-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  must(descriptor >= 0, "no temporary file");
  auto file = BlockWriter::begin(Descriptor(descriptor), path);
  must(file.ok(), "the recording cannot be begun");
  std::optional<Writer> writer;
  if (scene.record) {
    must(recorder.open(), "the recorder cannot be opened");
    recorder.after_drain(source);
    writer.emplace(recorder, std::move(file).value(), scene.pause_us);
  }
  const std::uint64_t began_ns = monotonic_ns();
  const std::uint64_t cpu_began_ns = thread_cpu_ns();
  feed(scene, source, recorder, outcome);
  outcome.feeder_ns = static_cast<double>(thread_cpu_ns() - cpu_began_ns) / static_cast<double>(outcome.fed);
  outcome.drain_ns = static_cast<double>(source.drains_ns()) / static_cast<double>(outcome.fed);
  if (writer) {
    Snapshot snapshot;
    source.fill(snapshot);
    recorder.finish(snapshot);
    writer->join();
    outcome.writer_share = static_cast<double>(writer->cpu_ns()) / static_cast<double>(monotonic_ns() - began_ns);
    compare(path, source, outcome);
  }
  ::unlink(path.c_str());
  return outcome;
}

void print(const Scene& scene, const Outcome& outcome) {
  fmt::print(
      "{{\"name\": \"{}\", \"intervals_per_second\": {:.0f}, \"fed\": {}, \"kept\": {}, \"lost\": {}, "
      "\"feeder_ns\": {:.1f}, \"drain_ns\": {:.2f}, \"writer_share\": {:.4f}, \"late_drains\": {}}}",
      scene.name, outcome.per_second, outcome.fed, outcome.kept, outcome.lost, outcome.feeder_ns, outcome.drain_ns,
      outcome.writer_share, outcome.late);
}

}  // namespace

// Prints as JSON.
int main() {
  // Detours come as close as at a million intervals a second.
  const bench::Stream stream = bench::SceneWriter(20'000).write(std::size_t{4} << 20U);
  constexpr Scene kScenes[] = {{"not_recorded", false, true, 0},
                               {"paced", true, true, 0},
                               {"unpaced", true, false, 0},
                               {"slow_reader", true, true, 300'000}};
  fmt::print("[");
  for (const Scene& scene : kScenes) {
    if (&scene != kScenes) fmt::print(", ");
    print(scene, run(stream, scene));
  }
  fmt::print("]\n");
}
