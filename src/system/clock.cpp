// SPDX-License-Identifier: Apache-2.0
// Sampling the two clocks, and mapping between them.
#include "system/clock.h"

#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "base/clocks.h"
#include "base/text.h"

namespace noised::system {
namespace {

using Wide = unsigned __int128;

constexpr int kTries = 16;
constexpr std::uint64_t kUsualWidthFactor = 4;
// The clock is read in whole ns, and this and that is rounded.
constexpr std::uint64_t kRoundingNs = 2;
constexpr std::uint64_t kHalfMinuteNs = 30'000'000'000;
constexpr std::uint64_t kStepNs = 10'000;
// A rate may change by 1,000 ppm: adjtimex may add 500 to it, or take them away.
constexpr std::uint64_t kSlewShare = 1'000;
// A wide bracket is taken where it is at most a twentieth of what its absence may cost: 250 ns after 5 ms. A
// housekeeping CPU that falls to a fifth of its frequency reads the clock within 100 ns.
constexpr std::uint64_t kWorthFactor = 20;

std::uint64_t scale(std::uint64_t value, std::uint64_t by, std::uint64_t of) {
  return static_cast<std::uint64_t>((Wide{value} * by + of / 2) / of);
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

ClockSample read_clock_sample() {
  ClockSample best;
  best.half_width_ticks = UINT64_MAX;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t before = read_tsc_ordered();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t after = read_tsc_ordered();
    const std::uint64_t half = (after - before + 1) / 2;
    if (half < best.half_width_ticks) best = ClockSample{before + half, ns, half};
  }
  return best;
}

void LastMinute::add(std::uint64_t at_ns, std::uint64_t value) {
  if (at_ns - began_ns_ >= kHalfMinuteNs) {  // also when the clock went back
    before_ = at_ns - began_ns_ < 2 * kHalfMinuteNs ? now_ : nothing();
    now_ = nothing();
    began_ns_ = at_ns;
  }
  now_ = better(now_, value);
}

// Over at least as long as since the newest point, so that brackets count for no more there than they do here.
ClockMap::Rate ClockMap::rate_before(std::uint64_t ticks) const {
  const Point& newest = points_.back();
  if (epoch_ + 1 >= points_.size()) return rate_;
  std::size_t first = points_.size() - 2;
  while (first > epoch_ && newest.ticks - points_[first].ticks < ticks - newest.ticks) --first;
  return {newest.ticks - points_[first].ticks, newest.ns - points_[first].ns};
}

// A clock that went back: nothing older can be told from what is newer. The rate is kept, as a segment that ends here.
bool ClockMap::begin_anew(const ClockSample& sample) {
  ++steps_;
  Rate rate = rate_;
  while (rate.ticks != 0 && (rate.ticks >= sample.ticks || rate.ns >= sample.ns)) rate = {rate.ticks / 2, rate.ns / 2};
  if (rate.ticks == 0 || rate.ns == 0) return false;
  points_.clear();
  append({sample.ticks - rate.ticks, sample.ns - rate.ns, sample.half_width_ticks}, 0);
  epoch_ = 1;
  append(sample, 0);
  return true;
}

void ClockMap::append(const ClockSample& sample, std::uint64_t missed_ns) {
  if (points_.size() == kCapacity) {
    points_.erase(points_.begin(), points_.begin() + kCapacity / 2);
    epoch_ -= std::min(epoch_, kCapacity / 2);
  }
  points_.push_back({sample.ticks, sample.ns, sample.half_width_ticks, 0});
  if (!ready()) return;
  const Point& before = points_[points_.size() - 2];
  Point& newest = points_.back();
  // Where in it the step was is not known.
  if (epoch_ + 1 == points_.size() && epoch_ != 0) {
    newest.doubt_ns = std::max(newest.ns - before.ns, scale(newest.ticks - before.ticks, rate_.ns, rate_.ticks));
    return;
  }
  if (epoch_ + 1 < points_.size()) rate_ = {newest.ticks - before.ticks, newest.ns - before.ns};
  newest.doubt_ns =
      scale(std::max(before.half_ticks, newest.half_ticks), rate_.ns, rate_.ticks) + kRoundingNs + missed_ns;
  worst_ns_.add(newest.ns, newest.doubt_ns);
}

bool ClockMap::add(const ClockSample& sample, bool for_now) {
  asked_ticks_ = sample.ticks;
  narrowest_ticks_.add(sample.ns, sample.half_width_ticks);
  const std::uint64_t steps = steps_;
  const Point newest = points_.empty() ? Point() : points_.back();
  const bool went_back = sample.ticks <= newest.ticks || sample.ns <= newest.ns;
  const bool replaces = for_now_ && !went_back;
  if (replaces) points_.pop_back();
  const bool taken = went_back && !points_.empty() ? begin_anew(sample) : extend(sample);
  if (taken) {
    for_now_ = for_now && steps_ == steps;
  } else if (replaces) {
    points_.push_back(newest);
  }
  return taken;
}

// Goes on from the newest point.
bool ClockMap::extend(const ClockSample& sample) {
  std::uint64_t missed_ns = 0;
  if (!points_.empty()) {
    const Point& newest = points_.back();
    const std::uint64_t ticks = sample.ticks - newest.ticks;
    const std::uint64_t slewed_ns = (sample.ns - newest.ns) / kSlewShare;
    const bool is_wide =
        sample.half_width_ticks > kUsualWidthFactor * std::max<std::uint64_t>(narrowest_ticks_.get(), 1);
    if (ready()) {
      if (is_wide && scale(sample.half_width_ticks, rate_.ns, rate_.ticks) * kWorthFactor > slewed_ns) return false;
      const Rate rate = rate_before(sample.ticks);
      missed_ns = distance(newest.ns + scale(ticks, rate.ns, rate.ticks), sample.ns);
      if (missed_ns > kStepNs + slewed_ns) {
        ++steps_;
        epoch_ = points_.size();
        missed_ns = 0;
      }
    }
  }
  append(sample, missed_ns);
  return true;
}

// By its start.
std::size_t ClockMap::segment(std::uint64_t ticks) const {
  const auto after = std::upper_bound(points_.begin() + 1, points_.end() - 1, ticks,
                                      [](std::uint64_t value, const Point& point) { return value < point.ticks; });
  return static_cast<std::size_t>(after - points_.begin()) - 1;
}

std::uint64_t ClockMap::to_ns(std::uint64_t ticks) const {
  assert(ready());
  const std::size_t at = segment(ticks);
  const Point& a = points_[at];
  const Point& b = points_[at + 1];
  if (ticks >= a.ticks) return a.ns + scale(ticks - a.ticks, b.ns - a.ns, b.ticks - a.ticks);
  const std::uint64_t before = scale(a.ticks - ticks, b.ns - a.ns, b.ticks - a.ticks);
  return before < a.ns ? a.ns - before : 0;
}

// Outside of the samples, by so many ticks, goes on what the rate of the segment may be off, and what may have changed
// it.
std::uint64_t ClockMap::growth_ns(std::size_t at, std::uint64_t ticks) const {
  const Point& end = points_[at + 1];
  return scale(2 * end.doubt_ns, ticks, end.ticks - points_[at].ticks) +
         scale(ticks, rate_.ns, rate_.ticks) / kSlewShare;
}

std::uint64_t ClockMap::uncertainty_ns(std::uint64_t ticks) const {
  if (!ready()) return UINT64_MAX;
  const std::size_t at = segment(ticks);
  std::uint64_t outside = 0;
  if (ticks > points_.back().ticks) outside = ticks - points_.back().ticks;
  if (ticks < points_.front().ticks) outside = points_.front().ticks - ticks;
  return points_[at + 1].doubt_ns + growth_ns(at, outside);
}

std::uint64_t ClockMap::uncertainty_ns() const {
  if (!ready()) return UINT64_MAX;
  const std::uint64_t refused = asked_ticks_ - std::min(asked_ticks_, points_.back().ticks);
  return worst_ns_.get() + growth_ns(points_.size() - 2, refused);
}

std::uint64_t ClockMap::to_ticks(std::uint64_t ns) const {
  assert(ready());
  return scale(ns, rate_.ticks, rate_.ns);
}

double ClockMap::frequency() const {
  assert(ready());
  return static_cast<double>(rate_.ticks) / static_cast<double>(rate_.ns) * 1e9;
}

Status check_tsc() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kPowerManagement = 0x80000007U;
  constexpr unsigned kInvariantTsc = 1U << 8U;
  if (__get_cpuid(kPowerManagement, &a, &b, &c, &d) == 0 || (d & kInvariantTsc) == 0) {
    return failure("this CPU's time stamp counter is not invariant (CPUID 0x80000007)",
                   "on a virtual machine, let the host pass on 'invtsc'; other clocks are too slow to see noise");
  }
  return success();
}

Result<std::optional<std::string>> check_clock_source(const std::string& directory) {
  // tsc-early: before it was calibrated again, some seconds after the start.
  constexpr std::array<std::string_view, 5> kOfTheCounter = {"tsc", "tsc-early", "kvm-clock", "xen",
                                                             "hyperv_clocksource_tsc_page"};
  const auto current = read_file(directory + "/current_clocksource");
  const auto available = read_file(directory + "/available_clocksource");
  if (!current || !available) return std::optional<std::string>("the kernel does not tell its clock source");
  std::string_view text = current.value();
  const std::string name(take_word(text));
  if (std::ranges::find(kOfTheCounter, name) != kOfTheCounter.end()) return std::optional<std::string>();
  bool is_good = false;
  text = available.value();
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) is_good |= word == "tsc";
  if (!is_good) {
    return failure("the kernel's clock source is " + name + ": it has given the time stamp counter up as unstable",
                   "see 'dmesg | grep -i tsc'; where the counter is good all the same, boot with tsc=reliable");
  }
  return std::optional<std::string>("the kernel's clock source is " + name +
                                    ", which takes a microsecond to read, twice for each interval; 'echo tsc >" +
                                    directory + "/current_clocksource' changes that");
}

ClockSourceWatch::ClockSourceWatch(const std::string& directory)
    : file_(::open((directory + "/current_clocksource").c_str(), O_RDONLY | O_CLOEXEC)) {
  std::array<char, 64> text{};
  name_ = read(text);
}

std::string_view ClockSourceWatch::read(std::array<char, 64>& text) const {
  const ssize_t length = file_ ? ::pread(file_.get(), text.data(), text.size(), 0) : 0;
  return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

bool ClockSourceWatch::changed() {
  std::array<char, 64> text{};
  const std::string_view now = read(text);
  if (now.empty() || now == name_) return false;
  name_ = now;
  return true;
}

}  // namespace noised::system
