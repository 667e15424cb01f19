// SPDX-License-Identifier: Apache-2.0
// Driven by the daemon's lines, which come with each of its drains: no thread and no timer of its own.
#include "noisectl/watch/phase_watch.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/clocks.h"

namespace noised::client {
namespace {

// A ring is a file; the usual limit is 1024.
void allow_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, marks::MarkDirectory::kThreads + 64);
  (void)setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

Result<PhaseWatch> PhaseWatch::create(const std::string& marks) {
  if (Status counter = system::check_tsc(); !counter) return counter.error();
  Result<marks::MarkDirectory> directory =
      marks.empty() ? marks::MarkDirectory::create() : marks::MarkDirectory::open(marks);
  if (!directory) return directory.error();
  PhaseWatch watch(std::move(directory).value());
  watch.clock_.add(system::read_clock_sample());
  return watch;
}

// Containers may have a CLOCK_MONOTONIC of their own, and files may be of another boot. What is old is known less well,
// since the clocks were not compared then.
bool PhaseWatch::has_other_clock(const marks::RingReader& ring) const {
  constexpr std::uint64_t kSlackNs = 1'000'000'000;
  constexpr std::uint64_t kDrift = 1000;  // one part in so many
  const std::uint64_t start_ns = ring.in_ns() ? ring.start_time() : clock_.to_ns(ring.start_time());
  const std::uint64_t now_ns = monotonic_ns();
  const std::uint64_t age_ns = now_ns - std::min(now_ns, ring.start_ns());
  const std::uint64_t apart_ns = start_ns > ring.start_ns() ? start_ns - ring.start_ns() : ring.start_ns() - start_ns;
  return ring.start_ns() > now_ns || apart_ns > kSlackNs + age_ns / kDrift;
}

void PhaseWatch::take(const marks::RingReader& ring, const std::vector<marks::Mark>& marks, std::uint64_t lost) {
  if (has_other_clock(ring)) {
    refused_.insert(ring.tid());
    return;
  }
  timed_.clear();
  timed_.reserve(marks.size());
  for (const marks::Mark& mark : marks)
    timed_.push_back({.ns = ring.in_ns() ? mark.time : clock_.to_ns(mark.time),
                      .phase = join_.phase(ring.name(mark.phase)),
                      .end = mark.end});
  join_.add(ring.tid(), timed_, lost);
}

void PhaseWatch::take(const LossesView& losses) {
  if (!clock_.ready()) allow_files();  // the first time: the command, which inherits the limit, runs already
  clock_.add(system::read_clock_sample());
  if (!clock_.ready()) return;
  directory_.read([this](const marks::RingReader& ring, const std::vector<marks::Mark>& marks, std::uint64_t lost) {
    take(ring, marks, lost);
  });
  join_.add(losses);
}

void PhaseWatch::fill(WatchReport& report) {
  join_.finish();
  report.marks = join_.losses();
  report.marks->files = directory_.refused() + refused_.size();
  report.phases = join_.view();
}

}  // namespace noised::client
