// SPDX-License-Identifier: Apache-2.0
// Quanta against counting single nanoseconds, and agreement against sums written out.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "analysis/fixed_work/quanta.h"

using namespace noised;
using namespace noised::analysis;
using Catch::Approx;

namespace {

/// A CPU whose every nanosecond is known: in a detour, in an interval, or neither.
struct Timeline {
  std::vector<char> in_detour;
  std::vector<char> in_interval;
  std::vector<Interval> intervals;  // in order of their end
  std::vector<Detour> detours;
  std::vector<std::uint64_t> samples;
};

Timeline random_timeline(std::mt19937_64& random) {
  Timeline line;
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  std::uint64_t at = 10;
  line.samples.push_back(at);
  for (int i = 0; i < 60; ++i) {
    at += between(1, 40);
    const Detour detour{at, at + between(5, 60), false};
    for (std::uint64_t inside = detour.start_ns + between(0, 4); inside + 3 < detour.end_ns; inside += between(0, 9)) {
      const std::uint64_t end = std::min(detour.end_ns, inside + between(1, 20));
      const std::uint64_t nested = between(inside, end);
      line.intervals.push_back({nested, between(nested, end), 0, Kind::softirq, 0, 0, 0});
      line.intervals.push_back({inside, end, 0, Kind::irq, 0, 0, 0});
      inside = end;
    }
    line.detours.push_back(detour);
    at = detour.end_ns;
    if (between(0, 2) == 0) line.samples.push_back(at + between(0, 1));
    at += 2;
  }
  line.samples.push_back(at + 5);
  line.in_detour.resize(at + 10);
  line.in_interval.resize(at + 10);
  for (const Detour& each : line.detours) std::fill(&line.in_detour[each.start_ns], &line.in_detour[each.end_ns], 1);
  for (const Interval& each : line.intervals) {
    std::fill(&line.in_interval[each.start_ns], &line.in_interval[each.end_ns], 1);
  }
  return line;
}

/// As a recording tells it: all intervals of a drain, then its detours and samples as they came.
std::vector<Quantum> quanta_of(const Timeline& line, std::size_t drain) {
  std::vector<Quantum> quanta;
  QuantumSeries series;
  std::size_t interval = 0;
  std::size_t sample = 0;
  for (std::size_t detour = 0; detour < line.detours.size() + 1; ++detour) {
    const std::size_t ahead = std::min(line.detours.size(), (detour / drain + 1) * drain);
    const std::uint64_t until = ahead == line.detours.size() ? UINT64_MAX : line.detours[ahead].start_ns;
    while (interval < line.intervals.size() && line.intervals[interval].end_ns <= until) {
      series.add(line.intervals[interval++]);
    }
    const std::uint64_t next = detour < line.detours.size() ? line.detours[detour].start_ns : UINT64_MAX;
    for (; sample < line.samples.size() && line.samples[sample] <= next; ++sample) {
      const auto quantum = series.sample(line.samples[sample], sample);
      if (quantum) quanta.push_back(*quantum);
    }
    if (detour < line.detours.size()) series.add(line.detours[detour]);
  }
  return quanta;
}

}  // namespace

TEST_CASE("each quantum has the nanoseconds of its detours and intervals, once", "[analysis]") {
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 300; ++round) {
    const Timeline line = random_timeline(random);
    const auto quanta = quanta_of(line, 1 + static_cast<std::size_t>(round) % 7);
    REQUIRE(quanta.size() == line.samples.size() - 1);
    for (std::size_t i = 0; i < quanta.size(); ++i) {
      const Quantum& quantum = quanta[i];
      CHECK(quantum.start_ns == line.samples[i]);
      CHECK(quantum.end_ns == line.samples[i + 1]);
      CHECK(quantum.iterations == i + 1);
      const auto first = static_cast<std::ptrdiff_t>(quantum.start_ns);
      const auto last = static_cast<std::ptrdiff_t>(quantum.end_ns);
      const auto count = [&](const std::vector<char>& of) {
        return static_cast<std::uint64_t>(std::count(of.begin() + first, of.begin() + last, 1));
      };
      REQUIRE(quantum.detour_ns == count(line.in_detour));
      REQUIRE(quantum.interval_ns == count(line.in_interval));
    }
  }
}

TEST_CASE("a series that is interrupted has no quantum over the gap", "[analysis]") {
  QuantumSeries series;
  CHECK_FALSE(series.sample(100, 5));
  series.add(Detour{110, 120, false});
  REQUIRE(series.sample(200, 5));
  series.add(Detour{210, 220, false});
  series.interrupt();
  CHECK_FALSE(series.sample(300, 5));
  const auto after = series.sample(400, 6);
  REQUIRE(after);
  CHECK(after->detour_ns == 0);
  CHECK_FALSE(after->fragment);
  CHECK_FALSE(series.sample(450, 0));
  const auto first = series.sample(500, 1);
  REQUIRE(first);
  CHECK(first->start_ns == 450);
  CHECK(first->fragment);
  CHECK_FALSE(series.sample(600, 1)->fragment);
}

TEST_CASE("agreement is what its sums are", "[analysis]") {
  std::mt19937_64 random(3);  // NOLINT(cert-msc51-cpp): the same every time
  std::vector<double> a;
  std::vector<double> b;
  Agreement agreement;
  for (int i = 0; i < 1'000; ++i) {
    b.push_back(static_cast<double>(random() % 10'000));
    a.push_back(0.5 * b.back() + static_cast<double>(random() % 3'000));
    agreement.add(a.back(), b.back());
  }
  const auto mean = [](const std::vector<double>& of) {
    double sum = 0;
    for (const double each : of) sum += each;
    return sum / static_cast<double>(of.size());
  };
  double aa = 0;
  double bb = 0;
  double ab = 0;
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean(a)) * (a[i] - mean(a));
    bb += (b[i] - mean(b)) * (b[i] - mean(b));
    ab += (a[i] - mean(a)) * (b[i] - mean(b));
    const double off = a[i] - b[i] - (mean(a) - mean(b));
    squares += off * off;
  }
  REQUIRE(agreement.correlation());
  CHECK(*agreement.correlation() == Approx(ab / std::sqrt(aa * bb)));
  CHECK(agreement.bias() == Approx(mean(a) - mean(b)));
  CHECK(agreement.bias_deviation() == Approx(std::sqrt(squares / 999)));
}

TEST_CASE("a detour of three quanta and a half leaves its rows without work", "[analysis]") {
  FtqRows rows(1'000'000);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> got;
  const auto keep = [&](const FtqRow& row) {
    CHECK(row.unobserved == 0);
    got.emplace_back(row.start_ns, row.iterations);
  };
  rows.add({5'000'010, 6'000'010, 100}, keep);
  rows.add({6'000'010, 9'700'000, 20}, keep);  // it began at 6,200,000
  rows.add({9'700'000, 10'000'012, 30}, keep);
  rows.add({10'000'012, 11'000'003, 100}, keep);
  rows.finish(keep);
  CHECK(got ==
        std::vector<std::pair<std::uint64_t, std::uint64_t>>{
            {5'000'010, 100}, {6'000'010, 20}, {9'700'000, 0}, {9'700'000, 0}, {9'700'000, 30}, {10'000'012, 100}});
}

TEST_CASE("rows are as many as quanta passed, and have all work, whatever detours there are", "[analysis]") {
  std::mt19937_64 random(11);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 200; ++round) {
    const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
    const std::uint64_t quantum_ns = between(5'000, 3'000'000);
    // The loop's grid, by a clock that is off by up to 50 ppm.
    const double true_ns = static_cast<double>(quantum_ns) * (1 + (static_cast<double>(between(0, 100)) - 50) * 1e-6);
    const auto grid = [&](std::uint64_t end) { return static_cast<std::uint64_t>(static_cast<double>(end) * true_ns); };
    FtqRows rows(quantum_ns);
    std::uint64_t count = 0;
    std::uint64_t work = 0;
    std::uint64_t told_work = 0;
    const auto keep = [&](const FtqRow& row) {
      ++count;
      told_work += row.iterations;
    };
    std::uint64_t passed = 1000;
    std::uint64_t start = grid(passed);
    while (passed < 4'000) {
      // One of twenty quanta ends in a detour, as one of seven of these where another quantum does.
      const bool late = between(0, 19) == 0;
      const std::uint64_t end =
          late ? grid(passed + 1) + between(0, 7 * quantum_ns) : grid(passed + 1) + between(0, 30);
      rows.add({start, end, 77}, keep);
      work += 77;
      start = end;
      while (grid(passed + 1) <= end) ++passed;
    }
    rows.finish(keep);
    CHECK(told_work == work);
    INFO(quantum_ns << " ns, " << true_ns);
    CHECK(count + 1 >= passed - 1000);
    CHECK(count <= passed - 1000 + 1);
  }
}

TEST_CASE("what was not observed has no rows, and that is told", "[analysis]") {
  FtqRows rows(1'000'000);
  std::vector<FtqRow> got;
  const auto keep = [&](const FtqRow& row) { got.push_back(row); };
  rows.add({1'000'000, 2'000'000, 9}, keep);
  rows.add({7'000'000, 8'000'000, 8}, keep);
  rows.add({20'600'000, 21'000'000, 3}, keep);  // behind another gap, late
  rows.add({21'000'000, 22'000'000, 7}, keep);
  rows.finish(keep);
  REQUIRE(got.size() == 4);
  CHECK(got[0].unobserved == 0);
  CHECK(got[1].unobserved == 5);
  CHECK(got[2].unobserved == 13);
  CHECK(got[2].iterations == 3);
  CHECK(got[3].unobserved == 0);
}

TEST_CASE("times that only a damaged file can have make no endless rows", "[analysis]") {
  FtqRows rows(1'000);
  std::vector<FtqRow> got;
  const auto keep = [&](const FtqRow& row) { got.push_back(row); };
  rows.add({0, 1'000, 1}, keep);
  rows.add({1'000, std::uint64_t{1} << 60U, 2}, keep);
  rows.add({5'000, 6'000, 3}, keep);  // the clock went back
  rows.finish(keep);
  REQUIRE(got.size() == 3);
  CHECK(got[1].iterations == 2);
  CHECK(got[2].iterations == 3);
  CHECK(got[2].unobserved == (std::uint64_t{1} << 60U) / 1'000 - 1);
}

TEST_CASE("one quantum that was faster than all others makes no noise of them", "[analysis]") {
  FtqAgreement ftq;
  for (std::uint64_t i = 0; i < 1'000; ++i) ftq.calibrate({0, 1'000'000, 100'000 + i % 3, 0, 0, 0});
  ftq.calibrate({0, 1'000'000, 125'000, 0, 0, 0});
  CHECK(ftq.iteration_ns() == Approx(10).epsilon(1e-4));
}

TEST_CASE("FTQ that is told the truth agrees with it, and its bias is that of its best quantum", "[analysis]") {
  FtqAgreement ftq;
  std::vector<Quantum> quanta;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t noise = i % 10 == 0 ? 0 : i % 100 * 1'000;
    quanta.push_back({i * 1'000'000, (i + 1) * 1'000'000, (1'000'000 - noise) / 10, noise, noise / 2, noise != 0});
  }
  for (const Quantum& each : quanta) ftq.calibrate(each);
  CHECK(ftq.iteration_ns() == Approx(10));
  for (const Quantum& each : quanta) ftq.compare(each);
  CHECK(ftq.with_detours().correlation().value_or(0) == Approx(1));
  CHECK(ftq.with_detours().bias() == Approx(0).margin(1e-6));
  CHECK(ftq.with_intervals().correlation().value_or(0) == Approx(1));
  CHECK(ftq.with_intervals().bias() == Approx(ftq.with_detours().mean_reference() / 2));
  CHECK(ftq.in_quiet().count() == 50);
}

TEST_CASE("what never changes correlates with nothing", "[analysis]") {
  Agreement agreement;
  CHECK_FALSE(agreement.correlation());
  for (int i = 0; i < 3; ++i) agreement.add(1, i);
  CHECK_FALSE(agreement.correlation());
}

TEST_CASE("a series without end holds so many intervals and no more", "[analysis]") {
  QuantumSeries series;
  CHECK_FALSE(series.sample(1, 0));
  for (std::uint64_t i = 0; i < 300'000; ++i) series.add(Interval{10 * i + 2, 10 * i + 5, 0, Kind::irq, 0, 0, 0});
  CHECK_FALSE(series.sample(3'000'100, 5));  // it is not known what was in it
  CHECK(series.sample(3'000'200, 5)->interval_ns == 0);
}
