// SPDX-License-Identifier: Apache-2.0
#include "page/collector.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <tuple>
#include <utility>

namespace noised::page {

TimeBins::TimeBins(std::size_t lanes, std::size_t columns, std::size_t most_bins)
    : lanes_(lanes), columns_(columns), most_bins_(most_bins) {
  assert(lanes > 0 && columns > 0 && most_bins > 1);  // two times may lie on both sides of any border
}

void TimeBins::double_width() {
  const std::uint64_t old_first = first_;
  const std::size_t old_bins = bins();
  const std::size_t row = lanes_ * columns_;
  width_ns_ *= 2;
  first_ /= 2;
  std::vector<std::uint64_t> merged(((old_first + old_bins - 1) / 2 - first_ + 1) * row, 0);
  for (std::size_t bin = 0; bin < old_bins; ++bin) {
    const std::size_t to = (old_first + bin) / 2 - first_;
    for (std::size_t i = 0; i < row; ++i) merged[to * row + i] += cells_[bin * row + i];
  }
  cells_ = std::move(merged);
}

void TimeBins::cover(std::uint64_t first_ns, std::uint64_t last_ns) {
  if (cells_.empty()) {
    while (last_ns / width_ns_ - first_ns / width_ns_ >= most_bins_) width_ns_ *= 2;
    first_ = first_ns / width_ns_;
    cells_.resize(lanes_ * columns_, 0);
  }
  for (;;) {
    const std::uint64_t first = std::min(first_, first_ns / width_ns_);
    const std::uint64_t last = std::max(first_ + bins() - 1, last_ns / width_ns_);
    if (last - first < most_bins_) break;
    double_width();
  }
  const std::size_t row = lanes_ * columns_;
  const std::uint64_t first = std::min(first_, first_ns / width_ns_);
  cells_.insert(cells_.begin(), (first_ - first) * row, 0);
  first_ = first;
  cells_.resize(std::max<std::size_t>(bins(), last_ns / width_ns_ - first_ + 1) * row, 0);
}

void TimeBins::add(std::size_t lane, std::size_t column, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (end_ns <= start_ns) return;
  cover(start_ns, end_ns - 1);
  const std::uint64_t last = (end_ns - 1) / width_ns_;
  while (start_ns / width_ns_ < last) {
    const std::uint64_t index = start_ns / width_ns_;
    const std::uint64_t next_ns = (index + 1) * width_ns_;
    cell(index, lane, column) += next_ns - start_ns;
    start_ns = next_ns;
  }
  cell(last, lane, column) += end_ns - start_ns;
}

void TimeBins::count(std::size_t lane, std::size_t column, std::uint64_t at_ns) {
  cover(at_ns, at_ns);
  ++cell(at_ns / width_ns_, lane, column);
}

namespace {

bool longer(const LongDetour& a, const LongDetour& b) {
  return std::tie(b.view.duration_ns, a.view.start_ns, a.view.cpu) <
         std::tie(a.view.duration_ns, b.view.start_ns, b.view.cpu);
}

}  // namespace

void LongestDetours::add(LongDetour detour) {
  kept_.push_back(std::move(detour));
  std::push_heap(kept_.begin(), kept_.end(), longer);
  if (kept_.size() <= most_) return;
  std::pop_heap(kept_.begin(), kept_.end(), longer);
  kept_.pop_back();
}

std::vector<LongDetour> LongestDetours::sorted() const {
  std::vector<LongDetour> sorted = kept_;
  std::sort(sorted.begin(), sorted.end(), longer);
  return sorted;
}

namespace {

std::size_t cpu_count(const recording::Playback& playback) {
  return std::max<std::size_t>(playback.description().base.cpus.size(), 1);
}

// With thousands of CPUs two bins each are more than that: still a bound.
std::size_t bins_of_a_cpu(std::size_t cpus) {
  return std::clamp<std::size_t>(Collector::kMostCpuBins / cpus, 2, Collector::kMostBins);
}

}  // namespace

Collector::Collector(const recording::Playback& playback)
    : playback_(playback),
      placing_(playback.sources()),
      all_(1, kColumnCount, kMostBins),
      by_cpu_(cpu_count(playback), kColumnCount, bins_of_a_cpu(cpu_count(playback))),
      seen_(cpu_count(playback)) {}

void Collector::see(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  const bool nothing_yet = std::none_of(seen_.begin(), seen_.end(), [](const Seen& seen) { return seen.begun; });
  first_ns_ = nothing_yet ? start_ns : std::min(first_ns_, start_ns);
  last_ns_ = nothing_yet ? end_ns : std::max(last_ns_, end_ns);
  Seen& seen = seen_[cpu];
  if (!seen.begun) seen = {true, false, start_ns, end_ns, 0};
  if (std::exchange(seen.apart, false)) note_missing(cpu, seen.last_ns, start_ns);
  seen.last_ns = std::max(seen.last_ns, end_ns);
}

void Collector::note_missing(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (end_ns <= start_ns) return;
  seen_[cpu].missing_ns += end_ns - start_ns;
  all_.add(0, kMissingColumn, start_ns, end_ns);
  by_cpu_.add(cpu, kMissingColumn, start_ns, end_ns);
}

void Collector::detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) {
  const Detour& detour = ledger.detour;
  see(cpu, detour.start_ns, detour.end_ns);
  std::array<std::uint64_t, kCategoryCount> sums{};
  for (const Piece& piece : placing_.place(ledger)) {
    const auto column = static_cast<std::size_t>(piece.category);
    sums[column] += piece.end_ns - piece.start_ns;
    all_.add(0, column, piece.start_ns, piece.end_ns);
    by_cpu_.add(cpu, column, piece.start_ns, piece.end_ns);
  }
  all_.count(0, kDetourColumn, detour.start_ns);
  by_cpu_.count(cpu, kDetourColumn, detour.start_ns);
  if (detour.in_doubt) {
    all_.count(0, kIncompleteColumn, detour.start_ns);
    by_cpu_.count(cpu, kIncompleteColumn, detour.start_ns);
  }
  if (!longest_.wants(detour.end_ns - detour.start_ns)) return;
  const auto most = std::max_element(sums.begin(), sums.end()) - sums.begin();
  longest_.add({to_view(playback_, cpu, ledger, details), static_cast<Category>(most)});
}

void Collector::gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  see(cpu, start_ns, end_ns);
  note_missing(cpu, start_ns, end_ns);
}

void Collector::begins(std::size_t cpu, std::uint64_t first_ns) {
  Seen& seen = seen_[cpu];
  seen.apart = seen.begun;
  const std::uint64_t from_ns = playback_.recorded_from(cpu, first_ns);
  // A new part says again when the loop began: then what it is the first to tell is where it begins.
  if (!seen.begun || from_ns > seen.last_ns) see(cpu, from_ns, from_ns);
}

void Collector::sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t /*iterations*/) {
  see(cpu, end_ns, end_ns);
}

void Collector::finish(const Report& report) {
  if (first_ns_ == last_ns_) return;
  all_.cover(first_ns_, last_ns_ - 1);
  by_cpu_.cover(first_ns_, last_ns_ - 1);
  for (std::size_t cpu = 0; cpu < playback_.description().base.cpus.size(); ++cpu) {
    const Seen& seen = seen_[cpu];
    note_missing(cpu, first_ns_, seen.begun ? seen.first_ns : last_ns_);
    const std::uint64_t known_ns = seen.missing_ns + report.cpus[cpu].observed_ns;
    const std::uint64_t span_ns = last_ns_ - first_ns_;
    if (!seen.begun || known_ns >= span_ns) continue;
    note_missing(cpu, std::max(seen.last_ns, last_ns_ - std::min(span_ns - known_ns, last_ns_)), last_ns_);
  }
}

}  // namespace noised::page
