// SPDX-License-Identifier: Apache-2.0
// A raw capture (vm/raw.h), and the real pipeline that is given it drain by drain: the rings of a kernel that ran
// elsewhere, its loops, and the clocks that were read beside them.
#pragma once

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "account/report_builder.h"
#include "base/files.h"
#include "pipeline/pipeline.h"
#include "unit/base/temporary_directory.h"
#include "unit/base/tree.h"
#include "vm/raw.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::probe;
using namespace noised::system;

struct RawCpu {
  raw::CpuBatch counts;
  std::vector<raw::Gap> gaps;
  std::vector<noised_run_record> records;  // each as long as its size says
};

struct RawBatch {
  raw::Batch counts;
  std::vector<noised_origin> origins;
  std::vector<RawCpu> cpus;
};

struct RawCapture {
  raw::Head head;
  std::vector<RawBatch> batches;
};

inline std::string path_of(const std::string& name) { return in_tree("tests/data/raw/" + name); }

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool empty() const { return left_.empty(); }
  void take(void* to, std::size_t size) {
    if (size > left_.size()) throw std::out_of_range("a capture ends too early");
    std::memcpy(to, left_.data(), size);
    left_.remove_prefix(size);
  }
  template <typename T>
  T take() {
    T value{};
    take(&value, sizeof(value));
    return value;
  }
  template <typename T>
  std::vector<T> take_all(std::size_t count) {
    std::vector<T> values(count);
    for (T& value : values) value = take<T>();
    return values;
  }

 private:
  std::string_view left_;
};

inline std::vector<noised_run_record> take_records(Bytes& bytes, std::size_t size) {
  std::vector<noised_run_record> records;
  while (size != 0) {
    noised_run_record& record = records.emplace_back();
    record.task.record = bytes.take<noised_record>();
    const std::size_t whole = record.task.record.size;
    if (whole != sizeof(noised_record) && whole != sizeof(noised_task_record) && whole != sizeof(record))
      throw std::out_of_range("a record of no size that there is");
    bytes.take(reinterpret_cast<std::byte*>(&record) + sizeof(noised_record), whole - sizeof(noised_record));
    // Captures from before records told where a task is: no pid was used again in those seconds.
    if (whole == sizeof(record) && record.task.record.id >> 32U == 0) record.task.record.id *= (1ULL << 32U) + 1;
    if (whole > size) throw std::out_of_range("a record ends in the next part of a capture");
    size -= whole;
  }
  return records;
}

inline RawCapture read_capture(const std::string& kernel) {
  const auto packed = read_file(path_of(kernel + ".raw"));
  REQUIRE(packed);
  const std::string& frame = packed.value();
  std::string whole(ZSTD_getFrameContentSize(frame.data(), frame.size()), '\0');
  REQUIRE(ZSTD_decompress(whole.data(), whole.size(), frame.data(), frame.size()) == whole.size());
  Bytes bytes(whole);
  RawCapture capture;
  capture.head = bytes.take<raw::Head>();
  REQUIRE(capture.head.magic == raw::kMagic);
  while (!bytes.empty()) {
    RawBatch& batch = capture.batches.emplace_back();
    batch.counts = bytes.take<raw::Batch>();
    batch.origins = bytes.take_all<noised_origin>(batch.counts.origins);
    for (std::size_t place = 0; place < capture.head.cpu_count; ++place) {
      RawCpu& cpu = batch.cpus.emplace_back();
      cpu.counts = bytes.take<raw::CpuBatch>();
      cpu.gaps = bytes.take_all<raw::Gap>(cpu.counts.gaps);
      cpu.records = take_records(bytes, cpu.counts.record_bytes);
    }
  }
  REQUIRE(capture.batches.size() > 50);
  return capture;
}

class RawLoop final : public MeasuringLoop {
 public:
  RawLoop(unsigned cpu, std::size_t capacity) : cpu_(cpu), ring_(capacity) {}
  void play(const RawCpu& from) {
    progress_.iterations.store(from.counts.iterations);
    progress_.first_ticks.store(from.counts.first_ticks);
    progress_.last_ticks.store(from.counts.last_ticks);
    progress_.storing_ticks.store(from.counts.storing_ticks);
    away_ = from.counts.is_away != 0;
    for (const raw::Gap& gap : from.gaps)
      (void)ring_.push({gap.start_ticks, gap.end_ticks, static_cast<GapKind>(gap.kind)});
  }
  void end() { running_ = false; }

  [[nodiscard]] unsigned cpu() const override { return cpu_; }
  [[nodiscard]] DetourRing& ring() override { return ring_; }
  [[nodiscard]] const LoopProgress& progress() const override { return progress_; }
  [[nodiscard]] bool is_away() const override { return away_; }
  [[nodiscard]] bool is_aside() const override { return false; }
  [[nodiscard]] bool is_running() const override { return running_; }
  [[nodiscard]] std::optional<std::uint64_t> switches() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint64_t> smi_count() const override { return std::nullopt; }

 private:
  unsigned cpu_;
  DetourRing ring_;
  LoopProgress progress_;
  bool away_ = false;
  bool running_ = true;
};

// The kernel of a capture, and the clocks that were read beside it.
class RawKernel final : public KernelEvents {
 public:
  explicit RawKernel(const raw::Head& head) : head_(head), states_(head.cpu_count), taken_(head.cpu_count) {}
  void play(const RawBatch& batch) {
    batch_ = &batch;
    asked_ = false;
    origins_taken_ = false;
    std::ranges::fill(taken_, std::uint8_t{0});
    for (std::size_t place = 0; place < states_.size(); ++place) {
      const raw::CpuBatch& counts = batch.cpus[place].counts;
      states_[place].watched = static_cast<noised_u16>(counts.watched);
      states_[place].probe_pid = counts.probe_pid;
      states_[place].current_pid = counts.current_pid;
      states_[place].current_task = counts.current_pid;
      states_[place].task_start_ns = counts.task_start_ns;
    }
  }
  // A drain begins with the first look at the clock; all others come after what it reads.
  [[nodiscard]] std::uint64_t now_ns() {
    return std::exchange(asked_, true) ? batch_->counts.ended_ns : batch_->counts.began_ns;
  }
  [[nodiscard]] ClockSample sample() const { return sample_of(batch_->counts.clock); }
  static ClockSample sample_of(const raw::Clock& clock) { return {clock.ticks, clock.ns, clock.half_width_ticks}; }

  [[nodiscard]] noised_cpu& state(unsigned cpu) override { return states_[place_of(cpu)]; }
  [[nodiscard]] std::span<volatile std::uint8_t> groups() override { return {}; }
  std::size_t drain(std::size_t index, std::size_t limit, const RecordSink& sink) override {
    if (std::exchange(taken_[index], std::uint8_t{1}) != 0) return 0;
    const std::vector<noised_run_record>& records = batch_->cpus[index].records;
    REQUIRE(records.size() <= limit);
    for (const noised_run_record& record : records) hand_over(&record, record.task.record.size, sink);
    return records.size();
  }
  [[nodiscard]] bool drain_origins(const OriginSink& sink) override {
    if (std::exchange(origins_taken_, true)) return true;
    for (const noised_origin& origin : batch_->origins) sink(origin);
    return batch_->counts.origins_complete != 0;
  }
  [[nodiscard]] double take_fullness() override { return 0; }
  [[nodiscard]] LostCounters lost(unsigned cpu) const override {
    const raw::CpuBatch& counts = batch_->cpus[place_of(cpu)].counts;
    return {counts.lost_full, counts.lost_nmi, counts.lost_depth, counts.lost_unpaired, counts.lost_unseen};
  }
  [[nodiscard]] std::uint64_t lost_origins() const override { return batch_->counts.lost_origins; }
  [[nodiscard]] bool attached(std::string_view /*tracepoint*/) const override { return true; }
  [[nodiscard]] MissedRuns missed_runs() const override { return {batch_->counts.missed_runs, 0}; }
  [[nodiscard]] std::vector<ProgramView> programs() const override { return {}; }

 private:
  [[nodiscard]] std::size_t place_of(unsigned cpu) const {
    return static_cast<std::size_t>(std::ranges::find(head_.cpus, cpu) - head_.cpus.begin());
  }

  const raw::Head& head_;
  std::vector<noised_cpu> states_;
  const RawBatch* batch_ = nullptr;
  std::vector<std::uint8_t> taken_;  // of each ring: this batch of it
  bool origins_taken_ = false;
  bool asked_ = false;
};

struct Shown {
  Report report;
  std::uint64_t uncertainty_ns = 0;
  std::map<unsigned, std::vector<DetourView>> detours;  // by CPU
};

// As /proc/interrupts, with all that is counted in one row.
inline void write_interrupts(const std::string& path, const RawCapture& capture, const RawBatch& batch) {
  std::ofstream file(path);
  for (std::size_t place = 0; place < batch.cpus.size(); ++place) file << " CPU" << capture.head.cpus[place];
  file << "\nALL:";
  for (const RawCpu& cpu : batch.cpus) file << ' ' << cpu.counts.interrupts;
  file << "   all that is seen too\n";
}

inline std::size_t most_gaps(const RawCapture& capture) {
  std::size_t most = 0;
  for (const RawBatch& batch : capture.batches) {
    for (const RawCpu& cpu : batch.cpus) most = std::max(most, cpu.gaps.size());
  }
  return most;
}

inline Shown play(const RawCapture& capture) {
  const raw::Head& head = capture.head;
  TemporaryDirectory directory;
  RawKernel kernel(head);
  std::deque<RawLoop> loops;
  std::vector<MeasuringLoop*> measuring;
  const std::size_t most = most_gaps(capture);
  for (std::size_t place = 0; place < head.cpu_count; ++place)
    measuring.push_back(&loops.emplace_back(head.cpus[place], std::bit_ceil(most + 1)));
  ClockMap clock;
  for (const raw::Clock& sample : head.clocks) clock.add(RawKernel::sample_of(sample));
  write_interrupts(directory.path("interrupts"), capture, capture.batches.front());
  auto interrupts = InterruptCounts::open({{"ALL", head.counted_vectors}}, directory.path("interrupts"));
  REQUIRE(interrupts);
  SourceTable sources;
  Names names(sources, Kallsyms::parse(""), directory.path(""));
  PipelineOptions options;
  options.threshold_ns = head.threshold_ns;
  options.outside = head.on_hypervisor != 0 ? Kind::hypervisor : Kind::hardware;
  options.interrupts = &interrupts.value();
  options.feed_size = most * head.cpu_count + 1;
  options.clocks = {[&] { return kernel.now_ns(); }, [&] { return kernel.sample(); }};
  kernel.play(capture.batches.front());
  Pipeline pipeline(kernel, measuring, clock, sources, names, options);

  Shown shown;
  std::uint64_t next = 0;
  for (std::size_t number = 0; number < capture.batches.size(); ++number) {
    const RawBatch& batch = capture.batches[number];
    kernel.play(batch);
    for (std::size_t place = 0; place < loops.size(); ++place) loops[place].play(batch.cpus[place]);
    write_interrupts(directory.path("interrupts"), capture, batch);
    // The loops ended between the last two.
    const std::size_t left = capture.batches.size() - number;
    if (left == 2) pipeline.want_sight();
    if (left == 1) {
      for (RawLoop& loop : loops) loop.end();
      pipeline.finish();
    } else {
      pipeline.drain();
    }
    const DetourFeed::Batch detours = pipeline.feed().read(next, most * head.cpu_count + 1);
    next = detours.next;
    REQUIRE(detours.lost == 0);
    for (const FeedDetour& each : detours.detours) shown.detours[each.cpu].push_back(to_view(each, sources));
  }
  Snapshot snapshot;
  pipeline.fill(snapshot);
  shown.report = build_report(snapshot, sources, RunDescription{"guest", head.kernel.data(), "", {}});
  shown.uncertainty_ns = clock.uncertainty_ns();
  return shown;
}

}  // namespace noised::test
