// SPDX-License-Identifier: Apache-2.0
// How fast a recording plays on one core, and how much memory that takes: a short one, and one sixteen times as long.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "account/loop_cpu.h"
#include "base/clocks.h"
#include "recording/block.h"
#include "recording/player.h"
#include "recording/records.h"
#include "scenes.h"
#include "system/names.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;
using namespace noised::system;

namespace {

constexpr std::uint64_t kToleranceNs = 25;
constexpr unsigned kShort = 4;  // times the stream: about a million intervals
constexpr unsigned kLong = 64;

void must(bool done, const std::string& what) {
  if (done) return;
  fmt::print(stderr, "bench_replay: {}\n", what);
  std::exit(1);
}

/// Writes the stream again and again, one CPU after the other in time, as the daemon would record it.
class Writer {
 public:
  Writer(const bench::Stream& stream, std::string path, int descriptor)
      : stream_(stream), names_(sources_, Kallsyms::parse("")), watched_({.cpu = 1, .threshold_ns = 200}, sources_) {
    auto file = BlockWriter::begin(Descriptor(descriptor), std::move(path));
    must(file.ok(), "the recording cannot be begun");
    file_.emplace(std::move(file).value());
    Description description;
    description.start = "2026-01-01T00:00:00Z";
    description.base.cpus.resize(1);
    description.base.cpus[0].cpu = 1;
    add(BlockKind::description, to_json(description));
    records_.begin(room_, 1);
  }

  std::uint64_t write(unsigned times) {
    for (unsigned i = 0; i < times; ++i) write_once();
    add(BlockKind::events, {room_.data(), records_.size()});
    must(file_->finish().ok(), "the recording cannot be finished");
    return intervals_;
  }
  [[nodiscard]] std::uint64_t size() const { return file_->size(); }

 private:
  void add(BlockKind kind, std::string_view bytes) {
    must(file_->add(kind, bytes).ok(), "the recording cannot be written");
  }
  void have_room() {
    if (records_.left() > 2 * RecordWriter::kLongestRecord) return;
    add(BlockKind::events, {room_.data(), records_.size()});
    records_.begin(room_, 1);
  }

  void write_once() {
    std::size_t at = 0;
    for (Detour detour : stream_.detours) {
      for (; at < stream_.records.size() && end_of(stream_.records[at]) <= detour.end_ns; ++at)
        write(stream_.records[at]);
      detour.start_ns += base_ns_;
      detour.end_ns += base_ns_;
      write(detour);
    }
    base_ns_ += stream_.length_ns;
  }
  static std::uint64_t end_of(const noised_task_record& task) { return task.record.start_ns + task.record.duration_ns; }

  void write(const noised_task_record& task) {
    const noised_record& record = task.record;
    const SourceId id = names_.resolve(record, task.comm);
    for (; written_ < sources_.size(); ++written_) {
      const Source& source = sources_.at(static_cast<SourceId>(written_));
      records_.source(source.kind, source.category, source.name);
    }
    const std::uint64_t start_ns = base_ns_ + record.start_ns;
    const Interval interval{
        start_ns, start_ns + record.duration_ns, id, static_cast<Kind>(record.kind), record.flags, record.id, 0};
    have_room();
    records_.interval(0, interval);
    must(watched_.add(interval), "an interval has no room");
    ++intervals_;
  }
  void write(const Detour& detour) {
    const DetourLedger& ledger = watched_.add(detour, kToleranceNs);
    have_room();
    records_.detour(0, {detour.start_ns, detour.end_ns, kToleranceNs, ledger, ledger.detour.in_doubt}, {});
  }

  const bench::Stream& stream_;
  SourceTable sources_;
  Names names_;
  LoopCpu watched_;
  std::optional<BlockWriter> file_;
  std::vector<char> room_ = std::vector<char>(std::size_t{1} << 20U);
  RecordWriter records_;
  std::size_t written_ = 0;
  std::uint64_t base_ns_ = 0;
  std::uint64_t intervals_ = 0;
};

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Played {
  std::uint64_t intervals = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ns = 0;
  std::uint64_t resident = 0;
};

Played play(const bench::Stream& stream, unsigned times) {
  Played played;
  std::string path = "/tmp/noised-bench-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  must(descriptor >= 0, "no temporary file");
  {
    Writer writer(stream, path, descriptor);
    played.intervals = writer.write(times);
    played.bytes = writer.size();
  }
  const std::uint64_t began_ns = monotonic_ns();
  auto player = Player::open(path);
  must(player.ok(), "the recording cannot be opened");
  while (player.value().step()) {
  }
  played.ns = monotonic_ns() - began_ns;
  played.resident = resident_bytes();
  must(player.value().damage().empty(), player.value().damage());
  std::uint64_t counted = 0;
  for (const ReportSource& source : player.value().report().sources) {
    if (source.kind != "overhead") counted += source.count;
  }
  must(counted == played.intervals, "not every interval was played");
  ::unlink(path.c_str());
  return played;
}

}  // namespace

// Prints as JSON.
int main() {
  const bench::Stream stream = bench::SceneWriter().write(std::size_t{16} << 20U);
  const Played some = play(stream, kShort);
  const Played many = play(stream, kLong);
  fmt::print(
      "{{\"intervals\": {}, \"intervals_per_second\": {:.0f}, \"bytes_per_interval\": {:.2f}, "
      "\"short_resident_bytes\": {}, \"long_resident_bytes\": {}}}\n",
      many.intervals, static_cast<double>(many.intervals) * 1e9 / static_cast<double>(many.ns),
      static_cast<double>(many.bytes) / static_cast<double>(many.intervals), some.resident, many.resident);
}
