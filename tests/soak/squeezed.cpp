// SPDX-License-Identifier: Apache-2.0
// A day in a minute: everything behind the rings, from the loop's ring to the text of a scrape, fed with the events of
// 24 hours as fast as it takes them. Fails if memory grows after the first minute of that day, if anything is lost or
// not counted, or if a counter goes back.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../bench/scenes.h"
#include "account/causes.h"
#include "account/detour_feed.h"
#include "account/loop_cpu.h"
#include "base/units.h"
#include "noised/api/metrics.h"
#include "probe/detour_ring.h"
#include "system/clock.h"
#include "system/names.h"

using namespace noised;
using namespace noised::account;
using namespace noised::daemon;
using namespace noised::probe;
using namespace noised::system;

static std::size_t live_allocations = 0;  // there is one thread

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++live_allocations;
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  --live_allocations;
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kDrainNs = 25'000'000;
constexpr std::uint64_t kScrapeNs = 15 * kSecond;
constexpr std::uint64_t kTicksPerNs = 2;
constexpr std::uint64_t kLongestGapNs = 2'000'000;  // about a thousand detours a second, as a 1 kHz tick makes them

[[noreturn]] void wrong(const std::string& what) {
  fmt::print(stderr, "soak_squeezed: {}\n", what);
  std::exit(1);
}

std::uint64_t resident() {  // KiB, by the page tables: VmRSS is told late (tests/live/processes.h)
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Rss:")) return std::strtoull(line.c_str() + 4, nullptr, 10);
  }
  wrong("/proc/self/smaps_rollup has no Rss");
}

// Live allocations are exact: one that is lost in a whole day is seen. Resident memory is not that: the numbers of a
// scrape get longer, and a text that is 13 bytes longer may touch one more page of memory that malloc took long ago.
struct Memory {
  std::uint64_t resident_kib = 0;
  std::size_t allocations = 0;
  std::size_t taken = 0;  // bytes that malloc has from the kernel
  std::size_t text = 0;   // bytes of the last scrape

  static Memory now(std::size_t text) {
    const struct mallinfo2 info = mallinfo2();
    return {resident(), live_allocations, info.arena + info.hblkhd, text};
  }
  void must_not_exceed(const Memory& before) const {
    if (allocations > before.allocations) wrong("live allocations grew");
    if (taken > before.taken) wrong("malloc took more from the kernel");
    const std::size_t longer = text > before.text ? text - before.text : 0;
    const std::size_t pages = longer == 0 ? 0 : kTexts * (longer / kPage + 1);
    if (resident_kib > before.resident_kib + pages * kPage / 1024) wrong("resident memory grew");
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kTexts = 2;  // a text is in the serializer's stream, and is copied out of it
};

// The counters of one scrape, against those of the scrape before.
class Counters {
 public:
  void compare(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t space = line.rfind(' ');
      if (line.starts_with('#') || space == std::string::npos || !is_counter(line)) continue;
      const double value = std::strtod(line.c_str() + space, nullptr);
      double& before = values_[line.substr(0, space)];
      if (value < before) wrong(fmt::format("{} went back from {}", line, before));
      before = value;
    }
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  static bool is_counter(const std::string& line) {
    const std::string name = line.substr(0, line.find_first_of("{ "));
    return name.ends_with("_total") || name.ends_with("_bucket") || name.ends_with("_count") || name.ends_with("_sum");
  }
  std::map<std::string, double> values_;
};

// One watched CPU's way through the daemon, as Pipeline goes it, without the kernel.
class Day {
 public:
  explicit Day(const bench::Stream& stream)
      : stream_(stream),
        names_(sources_, Kallsyms::parse("")),
        ring_(1U << 16U),
        watched_({.cpu = 1, .threshold_ns = 200}, sources_) {
    popped_.reserve(ring_.capacity());
    watched_.begin(1);
    clock_.add({0, 0, 10});
  }

  /// The next drain, of everything that happened until `until_ns`.
  void drain(std::uint64_t until_ns) {
    clock_.add({until_ns * kTicksPerNs, until_ns, 10});
    std::uint64_t records = 0;
    std::uint64_t ended_ns = 0;
    while (next_end_ns() <= until_ns) {
      const Detour& detour = stream_.detours[at_detour_];
      ring_.push({(base_ns_ + detour.start_ns) * kTicksPerNs, (base_ns_ + detour.end_ns) * kTicksPerNs});
      for (; at_record_ < stream_.records.size() && end_of(stream_.records[at_record_]) <= detour.end_ns;
           ++at_record_) {
        add(stream_.records[at_record_]);
        ++records;
      }
      ended_ns = base_ns_ + detour.end_ns;
      advance();
    }
    causes_.settle(until_ns);
    intervals_ += records;
    attribute();
    if (ended_ns > observed_ns_) observed_ns_ = ended_ns;
  }

  std::string scrape(Metrics& metrics) {
    snapshot_.cpus.resize(1);
    CpuSnapshot& cpu = snapshot_.cpus[0];
    cpu.cpu = 1;
    cpu.observed_ns = observed_ns_;
    cpu.threshold_ns = 200;
    watched_.statistics().copy_to(cpu.statistics);
    return metrics.text(snapshot_, {sources_}, run_);
  }

  /// What came in is what was counted.
  void check() const {
    std::uint64_t counted = 0;
    watched_.statistics().for_each_source([&](const SourceStatistics& source) {
      if (source.kind < Kind::hypervisor) counted += source.moments.count();
    });
    const DetourTotals& totals = watched_.statistics().totals();
    const Containment& containment = watched_.matcher().containment();
    if (ring_.lost() != 0 || refused_ != 0) wrong("records were lost");
    if (counted != intervals_ || totals.detours != detours_) wrong("not all was counted");
    if (watched_.matcher().orphans() != 0 || containment.contained != containment.eligible)
      wrong("not all is contained");
    if (totals.incomplete_detours != 0 || totals.unexplained_ns != 0) wrong("something is in doubt");
    if (totals.explained_ns + totals.overhead_ns + totals.hypervisor_ns + totals.hardware_ns != totals.detour_ns) {
      wrong("the ledger does not add up");
    }
  }
  [[nodiscard]] std::uint64_t intervals() const { return intervals_; }
  [[nodiscard]] std::uint64_t detours() const { return detours_; }

 private:
  static std::uint64_t end_of(const noised_task_record& record) {
    return record.record.start_ns + record.record.duration_ns;
  }
  [[nodiscard]] std::uint64_t next_end_ns() const { return base_ns_ + stream_.detours[at_detour_].end_ns; }

  void advance() {
    ++detours_;
    if (++at_detour_ < stream_.detours.size()) return;
    at_detour_ = at_record_ = 0;
    base_ns_ += stream_.length_ns;
  }

  void add(const noised_task_record& task) {
    const noised_record& record = task.record;
    const std::uint64_t start_ns = base_ns_ + record.start_ns;
    Interval interval{start_ns,
                      start_ns + record.duration_ns,
                      names_.resolve(record, task.comm),
                      static_cast<Kind>(record.kind),
                      record.flags,
                      record.id,
                      0};
    if (interval.kind == Kind::task) causes_.add(wakeup(record, start_ns));
    interval.cause = causes_.cause_of(interval);
    if (!watched_.add(interval)) ++refused_;
  }

  static noised_origin wakeup(const noised_record& record, std::uint64_t start_ns) {
    noised_origin origin{};
    origin.time_ns = start_ns - 50;
    origin.targets = 2;
    origin.task = static_cast<noised_u32>(record.id);
    origin.kind = NOISED_ORIGIN_WAKE;
    return origin;
  }

  void attribute() {
    popped_.clear();
    ring_.pop_all(popped_);
    for (const TickDetour& ticks : popped_) {
      const Detour detour{clock_.to_ns(ticks.start_ticks), clock_.to_ns(ticks.end_ticks), false};
      to_feed(1, watched_.add(detour, clock_.uncertainty_ns()), sources_, {}, feed_.stage());
    }
    feed_.commit();
  }

  const bench::Stream& stream_;
  SourceTable sources_;
  Names names_;
  DetourRing ring_;
  ClockMap clock_;
  LoopCpu watched_;
  CauseMatcher causes_;
  DetourFeed feed_;
  RunDescription run_;
  Snapshot snapshot_;
  std::vector<TickDetour> popped_;
  std::uint64_t base_ns_ = 0;  // the stream is played again and again: when this time began
  std::size_t at_detour_ = 0;
  std::size_t at_record_ = 0;
  std::uint64_t observed_ns_ = 0;
  std::uint64_t intervals_ = 0;
  std::uint64_t detours_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace

// Usage: soak_squeezed [TIME], such as 24h.
int main(int argc, char** argv) {
  const auto length = parse_time(argc > 1 ? argv[1] : "24h");
  if (!length || argc > 2 || length.value() < 120 * kSecond) {
    fmt::print(stderr, "soak_squeezed: give the time to squeeze, 2m or more, such as 24h\n");
    return 2;
  }
  const bench::Stream stream = bench::SceneWriter(kLongestGapNs).write(std::size_t{2} << 20U);
  Day day(stream);
  Metrics metrics(4096);
  Counters counters;
  const auto began = std::chrono::steady_clock::now();
  Memory after_a_minute;
  std::size_t text_bytes = 0;
  for (std::uint64_t now_ns = kDrainNs; now_ns <= length.value(); now_ns += kDrainNs) {
    day.drain(now_ns);
    if (now_ns % kScrapeNs == 0) {
      const std::string text = day.scrape(metrics);
      counters.compare(text);
      text_bytes = text.size();
    }
    if (now_ns == 60 * kSecond) after_a_minute = Memory::now(text_bytes);
  }
  day.check();
  const Memory at_end = Memory::now(text_bytes);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print(
      "{} h of {} detours and {} intervals in {:.1f} s: nothing lost, all counted; {} counters, none went back\n",
      length.value() / 3600 / kSecond, day.detours(), day.intervals(), took.count(), counters.size());
  for (const auto& [when, memory] : {std::pair{"after the first minute", after_a_minute}, {"at the end", at_end}}) {
    fmt::print("{}: {} live allocations, {} bytes taken from the kernel, {} KiB resident; a scrape of {} bytes\n", when,
               memory.allocations, memory.taken, memory.resident_kib, memory.text);
  }
  at_end.must_not_exceed(after_a_minute);
  return 0;
}
