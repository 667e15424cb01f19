// SPDX-License-Identifier: Apache-2.0
// Hand-over of snapshots.
#include "account/snapshot.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace noised::account {
namespace {

constexpr std::chrono::seconds kPatience{2};

}  // namespace

ReportClock clock_of(const Snapshot& snapshot, std::uint64_t uncertainty_ns) {
  ReportClock clock{"tsc", uncertainty_ns, std::nullopt, std::nullopt};
  for (const CpuSnapshot& cpu : snapshot.cpus) {
    const std::optional<double> share = cpu.containment.share();
    if (!share || (clock.containment && *clock.containment <= *share)) continue;
    clock.containment = share;
    clock.containment_cpu = cpu.cpu;
  }
  return clock;
}

void copy_statistics(const LedgerCounter& counter, SnapshotDetail detail, std::size_t recent_slots, CpuSnapshot& cpu) {
  if (detail == SnapshotDetail::all) counter.statistics().copy_to(cpu.statistics);
  if (detail == SnapshotDetail::summary) counter.statistics().copy_summary_to(cpu.statistics);
  if (detail == SnapshotDetail::all || detail == SnapshotDetail::summary) cpu.public_sums = counter.public_sums();
  if (detail == SnapshotDetail::recent) counter.recent().sum_to(cpu.recent, recent_slots);
}

bool complete_lately(const Snapshot& snapshot) {
  const auto sum = [](const ReportLost& lost) {
    return std::array{lost.events, lost.detours, lost.unpaired, lost.missed_runs};
  };
  return sum(snapshot.before.lost) == sum(snapshot.lost);
}

void to_mark(const Snapshot& snapshot, RecentMark& mark) {
  mark.elapsed_ns = snapshot.elapsed_ns;
  mark.lost = snapshot.lost;
  mark.cpus.clear();
  for (const CpuSnapshot& cpu : snapshot.cpus)
    mark.cpus.push_back({cpu.observed_ns, cpu.iterations, cpu.blind_ns, cpu.steal_ns});
}

SnapshotExchange::SnapshotExchange() : asked_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool SnapshotExchange::read(const std::function<void(const Snapshot&)>& use, SnapshotDetail detail,
                            std::size_t recent_slots) {
  recent_slots_.store(recent_slots, std::memory_order_relaxed);
  detail_.store(detail, std::memory_order_relaxed);  // seen with what follows
  const std::uint64_t ticket = asked_.fetch_add(1, std::memory_order_release) + 1;
  const std::uint64_t one = 1;
  (void)!write(asked_event_.get(), &one, sizeof(one));
  std::unique_lock lock(mutex_);
  const auto settled = [&] { return closed_ || answered_.load() >= ticket; };
  if (!answered_changed_.wait_for(lock, kPatience, settled) || answered_.load() < ticket) return false;
  use(snapshot_);
  return true;
}

void SnapshotExchange::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  answered_changed_.notify_all();
}

void SnapshotExchange::answer(const std::function<void(Snapshot&)>& fill) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  snapshot_.detail = detail_.load(std::memory_order_relaxed);
  snapshot_.recent_slots = recent_slots_.load(std::memory_order_relaxed);
  fill(snapshot_);
  answered_.store(taken_);
  answered_changed_.notify_all();
}

}  // namespace noised::account
