// SPDX-License-Identifier: Apache-2.0
// page_recording FILE CPUS INTERVALS [phases]: a recording as large as wanted, of random noise that is the same every
// time, with names that mean harm, a CPU that is not observed all the time, and incomplete detours; measured in phases
// of fixed work if that is asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "account/loop_cpu.h"
#include "recording/block.h"
#include "recording/description.h"
#include "recording/recording_file.h"
#include "recording/records.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;

namespace {

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>";
constexpr std::uint64_t kBootNs = 1'000'000'000'000;
constexpr std::uint64_t kGrainNs = 100'000;
constexpr std::uint64_t kIterations = 10'000;

void must(const Status& done) {
  if (done) return;
  fmt::print(stderr, "page_recording: {}\n", done.error().line());
  std::exit(1);
}

BlockWriter create(const std::string& path) {
  auto file = create_recording(path);
  if (!file) must(file.error());
  return std::move(file).value();
}

class Writer {
 public:
  Writer(const std::string& path, std::size_t cpus, bool phases)
      : file_(create(path)), last_ns_(cpus, kBootNs), blind_ns_(cpus, 0), left_ns_(phases ? cpus : 0, kGrainNs) {
    if (phases) {
      description_.grain_ns = kGrainNs;
      description_.work = kIterations;
      description_.policy = kHostile;
    }
    description_.start = "2026-01-01T00:00:00Z";
    description_.boot_parameters = kHostile;
    description_.processor = "A&B <i>processor</i>";
    StatusView& status = description_.base.status;
    status.host = kHostile;
    status.kernel = "6.1 \xe2\x80\xa8";
    status.unsupported = {std::string("nothing of ") + kHostile};
    status.clock = {"tsc", 25, {}, {}};
    for (std::size_t i = 0; i < cpus; ++i) {
      watched_.push_back(std::make_unique<LoopCpu>(WatchOptions{.cpu = cpu_number(i), .threshold_ns = 200}, sources_));
      CpuCounts& counts = description_.base.cpus.emplace_back();
      counts.cpu = cpu_number(i);
      counts.threshold_ns = 200;
    }
    must(file_.add(BlockKind::description, to_json(description_)));
    records_.begin(room_, cpus);
    name_sources();
    for (std::size_t i = 0; i < cpus; ++i) {
      records_.begins(i, kBootNs + i);
      begin_series(i);
    }
  }

  void write(std::uint64_t intervals) {
    const std::uint64_t rest_at = intervals * 2 / 5;
    for (bool rested = false; intervals_ < intervals;) {
      for (std::size_t cpu = 0; cpu < last_ns_.size(); ++cpu) write_detour(cpu);
      if (rested || intervals_ < rest_at) continue;
      rested = true;
      rest(last_ns_.size() - 1);
    }
    checkpoint();
    must(file_.add(BlockKind::events, {room_.data(), records_.size()}));
    must(file_.finish());
  }

 private:
  // Not numbered from 0, as watched CPUs seldom are.
  static unsigned cpu_number(std::size_t place) { return static_cast<unsigned>(place) + 2; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_() % (high - low + 1); }

  void name_sources() {
    ids_ = {sources_.intern(Kind::vector, "local_timer"), sources_.intern(Kind::softirq, "TIMER"),
            sources_.intern(Kind::softirq, "RCU"),        sources_.intern(Kind::irq, "eth0"),
            sources_.intern(Kind::csd, "flush_tlb_func"), sources_.intern(Kind::task, kHostile),
            sources_.intern(Kind::task, "<!-- <script>"), sources_.intern(Kind::page_fault, "user")};
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const Source& source = sources_.at(static_cast<SourceId>(i));
      records_.source(source.kind, source.category, source.name);
    }
  }
  void have_room() {
    if (records_.left() > 8 * RecordWriter::kLongestRecord) return;
    must(file_.add(BlockKind::events, {room_.data(), records_.size()}));
    records_.begin(room_, last_ns_.size());
  }
  void write_interval(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
    const SourceId id = ids_[std::min(between(0, ids_.size() - 1), between(0, ids_.size() - 1))];
    const Interval interval{start_ns, end_ns, id, sources_.at(id).kind, 0, 0, 0};
    records_.interval(cpu, interval);
    (void)watched_[cpu]->add(interval);
    ++intervals_;
  }
  void begin_series(std::size_t cpu) {
    if (left_ns_.empty()) return;
    records_.sample(cpu, last_ns_[cpu] + 1, 0);
    left_ns_[cpu] = kGrainNs;
  }
  // The work until the next detour, which makes the work after it slower.
  void work(std::size_t cpu, std::uint64_t until_ns) {
    if (left_ns_.empty()) return;
    std::uint64_t at_ns = last_ns_[cpu];
    for (std::uint64_t& left_ns = left_ns_[cpu]; at_ns + left_ns < until_ns; left_ns = kGrainNs + between(0, 800)) {
      at_ns += left_ns;
      have_room();
      records_.sample(cpu, at_ns, kIterations);
    }
    left_ns_[cpu] -= std::min(left_ns_[cpu] - 1, until_ns - at_ns);
    left_ns_[cpu] += 1'500;
  }
  // One interval after the other, each half time with one nested in it; one detour in a thousand is long.
  void write_detour(std::size_t cpu) {
    have_room();
    const std::uint64_t start_ns = last_ns_[cpu] + between(20'000, 300'000) * (cpu % 3 + 1);
    work(cpu, start_ns);
    std::uint64_t at_ns = start_ns;
    for (std::uint64_t n = between(0, 2); n > 0; --n) {
      at_ns += between(50, 400);
      const std::uint64_t end_ns = at_ns + between(200, 6'000) * (between(0, 999) == 0 ? 500 : 1);
      if (between(0, 1) == 0) write_interval(cpu, at_ns + 50, end_ns - 50);
      write_interval(cpu, at_ns, end_ns);
      at_ns = end_ns;
    }
    const Detour detour{start_ns, at_ns + between(200, 1'500), between(0, 999) == 0};
    last_ns_[cpu] = detour.end_ns;
    const DetourLedger& ledger = watched_[cpu]->add(detour, 0);
    records_.detour(cpu, {detour.start_ns, detour.end_ns, 0, ledger, ledger.detour.in_doubt}, {});
  }
  void rest(std::size_t cpu) {
    have_room();
    blind_ns_[cpu] = (last_ns_[cpu] - kBootNs) / 4;
    records_.gap(cpu, RecordTag::rested, last_ns_[cpu], last_ns_[cpu] + blind_ns_[cpu]);
    last_ns_[cpu] += blind_ns_[cpu];
    begin_series(cpu);
  }
  void checkpoint() {
    Counts counts = description_.base;
    counts.status.uptime_ns = *std::max_element(last_ns_.begin(), last_ns_.end()) - kBootNs;
    for (std::size_t i = 0; i < last_ns_.size(); ++i) {
      counts.cpus[i].observed_ns = last_ns_[i] - kBootNs - blind_ns_[i];
      counts.cpus[i].blind_ns = blind_ns_[i];
    }
    must(file_.add(BlockKind::events, {room_.data(), records_.size()}));
    records_.begin(room_, last_ns_.size());
    records_.checkpoint(to_json(counts));
  }

  BlockWriter file_;
  std::mt19937_64 random_;  // NOLINT(cert-msc51-cpp): the same every time
  Description description_;
  SourceTable sources_;
  std::vector<SourceId> ids_;
  std::vector<std::unique_ptr<LoopCpu>> watched_;
  std::vector<std::uint64_t> last_ns_;
  std::vector<std::uint64_t> blind_ns_;
  std::vector<std::uint64_t> left_ns_;  // until the phase's work is done; empty: no phases
  std::vector<char> room_ = std::vector<char>(std::size_t{1} << 20U);
  RecordWriter records_;
  std::uint64_t intervals_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const unsigned long cpus = argc == 4 || argc == 5 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const bool phases = argc == 5 && std::string_view(argv[4]) == "phases";
  if (cpus == 0 || cpus > 1'000 || (argc == 5 && !phases)) {
    fmt::print(stderr, "usage: page_recording FILE CPUS INTERVALS [phases] (1 to 1000 CPUs)\n");
    return 2;
  }
  Writer writer(argv[1], cpus, phases);
  writer.write(std::strtoull(argv[3], nullptr, 10));
}
