// SPDX-License-Identifier: Apache-2.0
// How many intervals a second one core attributes and counts, from a synthetic stream.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "account/detour_feed.h"
#include "account/loop_cpu.h"
#include "scenes.h"
#include "system/names.h"

using namespace noised;
using namespace noised::account;
using namespace noised::system;

namespace {

constexpr std::size_t kRingBytes = std::size_t{2} << 20U;  // trace.buffer_size, by default
constexpr std::uint64_t kToleranceNs = 50;
constexpr std::uint64_t kThresholdNs = 200;
constexpr int kDrains = 300;

// What noised does with the records of one drain, from the ring on; a full ring each time, the most that one can hold.
class Consumer {
 public:
  explicit Consumer(const bench::Stream& stream)
      : stream_(stream), names_(sources_, Kallsyms::parse("")), watched_(options(), sources_) {
    for (const noised_task_record& record : stream.records) ids_.push_back(names_.resolve(record.record, record.comm));
    watched_.begin(0);
  }

  /// The pure part: match, attribute, count.
  void attribute(std::uint64_t shift_ns) {
    std::size_t at = 0;
    for (const noised_task_record& record : stream_.records) add(record.record, ids_[at++], shift_ns);
    for (const Detour& detour : stream_.detours) {
      watched_.add(Detour{detour.start_ns + shift_ns, detour.end_ns + shift_ns, false}, kToleranceNs);
    }
  }

  /// The same, with the lookup of every name before it and the feed of single detours after it.
  void resolve_attribute_feed(std::uint64_t shift_ns) {
    for (const noised_task_record& record : stream_.records) {
      add(record.record, names_.resolve(record.record, record.comm), shift_ns);
    }
    for (const Detour& detour : stream_.detours) {
      const DetourLedger& ledger =
          watched_.add(Detour{detour.start_ns + shift_ns, detour.end_ns + shift_ns, false}, kToleranceNs);
      to_feed(0, ledger, sources_, {}, feed_.stage());
    }
    feed_.commit();
  }

  /// What was counted is what was put in: a benchmark of wrong results says nothing.
  [[nodiscard]] bool counted_all(std::uint64_t drains) const {
    std::uint64_t intervals = 0;
    watched_.statistics().for_each_source([&](const SourceStatistics& source) {
      if (source.kind < Kind::hypervisor) intervals += source.moments.count();
    });
    return refused_ == 0 && watched_.matcher().orphans() == 0 && intervals == drains * stream_.records.size() &&
           watched_.statistics().totals().detours == drains * stream_.detours.size();
  }

 private:
  static WatchOptions options() {
    WatchOptions options;
    options.threshold_ns = kThresholdNs;
    return options;
  }

  void add(const noised_record& record, SourceId source, std::uint64_t shift_ns) {
    const std::uint64_t start_ns = record.start_ns + shift_ns;
    const Interval interval{start_ns, start_ns + record.duration_ns, source, static_cast<Kind>(record.kind),
                            record.flags};
    if (!watched_.add(interval)) ++refused_;
  }

  const bench::Stream& stream_;
  SourceTable sources_;
  Names names_;
  LoopCpu watched_;
  DetourFeed feed_;
  std::vector<SourceId> ids_;
  std::uint64_t refused_ = 0;
};

// Intervals a second in the median drain, which the host has not interrupted for long.
double rate(const bench::Stream& stream, void (Consumer::*consume)(std::uint64_t)) {
  using Clock = std::chrono::steady_clock;
  Consumer consumer(stream);
  std::vector<double> seconds;
  for (std::uint64_t drain = 0; drain < kDrains; ++drain) {
    const auto begin = Clock::now();
    (consumer.*consume)(drain * stream.length_ns);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  if (!consumer.counted_all(kDrains)) {
    fmt::print(stderr, "bench_pipeline: the pipeline did not count what it was given\n");
    std::exit(1);
  }
  std::sort(seconds.begin(), seconds.end());
  return static_cast<double>(stream.records.size()) / seconds[seconds.size() / 2];
}

}  // namespace

// Usage: bench_pipeline CPU. Prints intervals a second on that CPU, and the shape of the stream.
int main(int argc, char** argv) {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  if (argc == 2) CPU_SET(std::strtoul(argv[1], nullptr, 10), &cpu);
  if (argc != 2 || sched_setaffinity(0, sizeof(cpu), &cpu) != 0) {
    fmt::print(stderr, "bench_pipeline: give the number of an online CPU\n");
    return 2;
  }
  const bench::Stream stream = bench::SceneWriter().write(kRingBytes);
  fmt::print(R"({{"attributed":{:.0f},"with_names_and_feed":{:.0f},"intervals":{},"detours":{}}})"
             "\n",
             rate(stream, &Consumer::attribute), rate(stream, &Consumer::resolve_attribute_feed), stream.records.size(),
             stream.detours.size());
  return 0;
}
