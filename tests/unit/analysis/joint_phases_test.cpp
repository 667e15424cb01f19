// SPDX-License-Identifier: Apache-2.0
// Phases that begin on all CPUs of a node at once, against D(t) = W^-1(W(t) + G) - t at the middle of each nanosecond.
// Detours start and end at whole nanoseconds, so an excess is linear within each of them, and so is the largest of
// several: the sum over the middles is the exact integral, and all of a nanosecond is beyond a whole threshold or none.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "analysis/projection/barrier.h"
#include "analysis/projection/joint_phases.h"
#include "model/types.h"

using namespace noised;
using namespace noised::analysis;
using Catch::Approx;

namespace {

struct NodeStretch {
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::vector<Detour> detours;  // by start; they may overlap, and the first one may start before the stretch
};
using NodeCpu = std::vector<NodeStretch>;

/// Away for a third of the time or more; seen all the time from near 0 on, or with gaps of up to 120 ns.
NodeCpu random_node_cpu(std::mt19937_64& random, std::uint64_t total_ns, bool gaps) {
  NodeCpu cpu;
  std::uint64_t now_ns = random() % 100;
  while (now_ns < total_ns) {
    const std::uint64_t last_ns = gaps ? std::min(total_ns, now_ns + 1 + random() % total_ns) : total_ns;
    NodeStretch& stretch = cpu.emplace_back(NodeStretch{now_ns, last_ns, {}});
    const std::uint64_t apart = 50 + random() % 500;
    std::uint64_t at_ns = random() % 2 == 0 ? now_ns - std::min<std::uint64_t>(now_ns, 20) : now_ns + random() % apart;
    while (at_ns < last_ns) {
      const std::uint64_t end_ns = std::min(last_ns, at_ns + 1 + random() % 300);
      stretch.detours.push_back({at_ns, end_ns});
      at_ns = random() % 8 == 0 ? at_ns + random() % 40 : end_ns + random() % apart;
    }
    now_ns = last_ns + random() % 3 * 60;
  }
  return cpu;
}

std::vector<NodeCpu> random_node(std::mt19937_64& random, std::size_t cpus, std::uint64_t total_ns, bool gaps) {
  std::vector<NodeCpu> node(cpus);
  for (NodeCpu& cpu : node) cpu = random_node_cpu(random, total_ns, gaps);
  return node;
}

/// By the nanosecond: whether a CPU is observed in it, and twice the excess of the phase that begins in its middle.
struct NodeBegin {
  bool observed = true;
  std::optional<std::uint64_t> twice_ns = 0;
};

/// In half nanoseconds, of which each is all work or none. The later a phase begins, the later it ends.
void walk_stretch(const NodeStretch& stretch, std::uint64_t grain_ns, std::vector<NodeBegin>& begins) {
  const std::size_t halves = 2 * (stretch.last_ns - stretch.first_ns);
  std::vector<std::uint64_t> work(halves + 1, 1);
  work[0] = 0;
  for (const Detour& detour : stretch.detours) {
    for (std::uint64_t ns = std::max(detour.start_ns, stretch.first_ns); ns < detour.end_ns; ++ns) {
      const std::size_t half = 2 * (ns - stretch.first_ns);
      work[half + 1] = work[half + 2] = 0;
    }
  }
  for (std::size_t half = 1; half <= halves; ++half) work[half] += work[half - 1];
  std::size_t end = 0;
  for (std::size_t start = 1; start < halves; start += 2) {
    while (end <= halves && work[end] < work[start] + 2 * grain_ns) ++end;
    NodeBegin& begin = begins[stretch.first_ns + start / 2];
    begin.observed = true;
    if (end <= halves) begin.twice_ns = end - start - 2 * grain_ns;
  }
}

/// The slowest of all CPUs.
std::vector<NodeBegin> walk_node(const std::vector<NodeCpu>& node, std::uint64_t grain_ns, std::uint64_t total_ns) {
  std::vector<NodeBegin> slowest(total_ns);
  for (const NodeCpu& cpu : node) {
    std::vector<NodeBegin> own(total_ns, NodeBegin{false, std::nullopt});
    for (const NodeStretch& stretch : cpu) walk_stretch(stretch, grain_ns, own);
    for (std::size_t ns = 0; ns < total_ns; ++ns) {
      slowest[ns].observed &= own[ns].observed;
      slowest[ns].twice_ns = slowest[ns].twice_ns && own[ns].twice_ns
                                 ? std::optional(std::max(*slowest[ns].twice_ns, *own[ns].twice_ns))
                                 : std::nullopt;
    }
  }
  return slowest;
}

std::uint64_t observed_of(const std::vector<NodeBegin>& begins) {
  const auto observed = [](const NodeBegin& each) { return each.observed; };
  return static_cast<std::uint64_t>(std::count_if(begins.begin(), begins.end(), observed));
}

/// For how long phases begin with an excess of at least so much, the lower bound of a bucket; exact.
double time_from(const DelayTail& tail, std::uint64_t excess_ns) {
  const std::size_t number = Excess::number(excess_ns);
  return number < tail.size() ? tail.at(number).outside.low_ns + tail.at(number).inside.low_ns : 0;
}

double sum_of(const DelayTail& tail) {
  double sum = 0;
  for (std::size_t i = 0; i < tail.size(); ++i)
    sum += (tail.at(i).outside.mean_ns + tail.at(i).inside.mean_ns) * (Excess::low_ns(i + 1) - Excess::low_ns(i));
  return sum;
}

/// Of all ages of one block.
Excess block_of(const ExcessBlocks& blocks, std::size_t number) {
  Excess all;
  for (std::size_t age = 0; age < blocks.ages(); ++age) {
    if (!blocks.blocks(age).empty()) all.merge(blocks.blocks(age)[number]);
  }
  return all;
}

DelayTail tail_of(const ExcessBlocks& blocks) {
  Excess all;
  for (std::size_t i = 0; i < ExcessBlocks::kBlocks; ++i) all.merge(block_of(blocks, i));
  return {all, nullptr};
}

/// Block by block of the time that was observed of all CPUs.
void check_against_walk(const ExcessBlocks& blocks, const std::vector<NodeBegin>& begins) {
  const std::uint64_t length = observed_of(begins) / ExcessBlocks::kBlocks + 1;
  std::vector<std::vector<std::uint64_t>> walked(ExcessBlocks::kBlocks);
  std::uint64_t position = 0;
  for (const NodeBegin& each : begins) {
    if (each.twice_ns) walked[position / length].push_back(*each.twice_ns);
    position += each.observed ? 1 : 0;
  }
  for (std::size_t i = 0; i < walked.size(); ++i) {
    INFO("block " << i);
    const DelayTail tail(block_of(blocks, i), nullptr);
    double sum = 0;
    for (const std::uint64_t each : walked[i]) sum += static_cast<double>(each) / 2;
    CHECK(sum_of(tail) == Approx(sum).epsilon(1e-12));
    for (const std::uint64_t least : {0U, 1U, 2U, 7U, 20U, 31U, 40U, 64U, 100U, 128U, 200U, 256U, 400U, 512U, 960U}) {
      const auto beyond = [least](std::uint64_t twice_ns) { return twice_ns >= 2 * least; };
      const auto count = std::count_if(walked[i].begin(), walked[i].end(), beyond);
      INFO(least << " ns");
      CHECK(time_from(tail, least) == Approx(static_cast<double>(count)).epsilon(1e-12));
    }
  }
}

/// Sums are of whole and half numbers: a double has them exactly, in whatever order.
bool same_excess(const ExcessBlocks& one, const ExcessBlocks& other) {
  for (std::size_t i = 0; i < ExcessBlocks::kBlocks; ++i) {
    const Excess left = block_of(one, i);
    const Excess right = block_of(other, i);
    for (std::size_t number = 0; number < std::max(left.size(), right.size()); ++number) {
      const Excess::Bucket a = left.at(number);
      const Excess::Bucket b = right.at(number);
      if (a.weight_ns != b.weight_ns || a.ramps != b.ramps || a.level_sum != b.level_sum || a.ramp_sum != b.ramp_sum ||
          a.ramp_squares != b.ramp_squares)
        return false;
    }
  }
  return one.starts_ns() == other.starts_ns();
}

using NodeCall = std::function<void(JointPhases&)>;

std::vector<NodeCall> calls_of(const NodeCpu& stretches, std::size_t cpu) {
  std::vector<NodeCall> calls;
  for (const NodeStretch& stretch : stretches) {
    calls.emplace_back([=, first_ns = stretch.first_ns](JointPhases& phases) { phases.begin(cpu, first_ns); });
    for (const Detour& each : stretch.detours)
      calls.emplace_back([=](JointPhases& phases) { phases.detour(cpu, each.start_ns, each.end_ns); });
    calls.emplace_back([=, last_ns = stretch.last_ns](JointPhases& phases) { phases.end(cpu, last_ns); });
  }
  return calls;
}

std::vector<std::uint64_t> lengths_of(const std::vector<NodeCpu>& node) {
  std::vector<std::uint64_t> lengths;
  for (const NodeCpu& cpu : node) {
    lengths.push_back(0);
    for (const NodeStretch& stretch : cpu) lengths.back() += stretch.last_ns - stretch.first_ns;
  }
  return lengths;
}

ExcessBlocks alone_of(const NodeCpu& cpu, std::uint64_t grain_ns) {
  SlidingPhases phases(grain_ns, lengths_of({cpu}).front());
  for (const NodeStretch& stretch : cpu) {
    phases.begin(stretch.first_ns);
    for (const Detour& each : stretch.detours) phases.detour(each.start_ns, each.end_ns);
    phases.end(stretch.last_ns);
  }
  return phases.excess();
}

/// One CPU after the other.
ExcessBlocks joint_of(const std::vector<NodeCpu>& node, std::uint64_t grain_ns, std::uint64_t observed_ns) {
  JointPhases phases(grain_ns, lengths_of(node), observed_ns);
  for (std::size_t cpu = 0; cpu < node.size(); ++cpu) {
    for (const NodeCall& call : calls_of(node[cpu], cpu)) call(phases);
    CHECK(same_excess(phases.cpu(cpu), alone_of(node[cpu], grain_ns)));
  }
  CHECK(phases.complete());
  CHECK(phases.all().observed_ns() >= phases.all().starts_ns());
  return phases.all();
}

}  // namespace

TEST_CASE("the joint phases of one CPU are its phases", "[projection][joint]") {
  std::mt19937_64 random(29);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 30; ++round) {
    INFO(round);
    const std::uint64_t grain = 50 + random() % 451;
    const NodeCpu cpu = random_node_cpu(random, 20'000, true);
    const ExcessBlocks joint = joint_of({cpu}, grain, 0);
    CHECK(joint.starts_ns() > 0);
    CHECK(same_excess(joint, alone_of(cpu, grain)));
  }
}

TEST_CASE("joint phases are what a walk through those of each CPU says", "[projection][joint]") {
  constexpr std::uint64_t kTotal = 20'000;
  std::mt19937_64 random(31);  // NOLINT(cert-msc51-cpp)
  for (const std::size_t cpus : {2U, 3U, 5U}) {
    std::uint64_t starts = 0;
    for (int round = 0; round < 10; ++round) {
      INFO(cpus << " CPUs, round " << round);
      const std::uint64_t grain = 50 + random() % 451;
      const std::vector<NodeCpu> node = random_node(random, cpus, kTotal, true);
      const std::vector<NodeBegin> begins = walk_node(node, grain, kTotal);
      const ExcessBlocks joint = joint_of(node, grain, observed_of(begins));
      check_against_walk(joint, begins);
      starts += joint.starts_ns();
    }
    CHECK(starts > kTotal);
  }
}

TEST_CASE("joint phases do not depend on which CPU is ahead", "[projection][joint]") {
  constexpr std::uint64_t kTotal = 20'000;
  std::mt19937_64 random(37);  // NOLINT(cert-msc51-cpp)
  for (int round = 0; round < 20; ++round) {
    INFO(round);
    const std::uint64_t grain = 50 + random() % 451;
    const std::vector<NodeCpu> node = random_node(random, 2 + random() % 4, kTotal, true);
    const std::uint64_t observed = observed_of(walk_node(node, grain, kTotal));
    JointPhases phases(grain, lengths_of(node), observed);
    std::vector<std::vector<NodeCall>> calls;
    std::vector<std::size_t> turns;  // of which CPU the next call is
    for (std::size_t cpu = 0; cpu < node.size(); ++cpu) {
      calls.push_back(calls_of(node[cpu], cpu));
      turns.insert(turns.end(), calls.back().size(), cpu);
    }
    std::shuffle(turns.begin(), turns.end(), random);
    std::vector<std::size_t> made(node.size());
    for (const std::size_t cpu : turns) calls[cpu][made[cpu]++](phases);
    CHECK(phases.all().observed_ns() == observed);
    CHECK(same_excess(phases.all(), joint_of(node, grain, observed)));
  }
}

TEST_CASE("joint phases of CPUs whose detours are aligned are those of one", "[projection][joint]") {
  std::mt19937_64 random(41);  // NOLINT(cert-msc51-cpp)
  const NodeCpu cpu = random_node_cpu(random, 100'000, false);
  const std::uint64_t observed = cpu.front().last_ns - cpu.front().first_ns;
  const ExcessBlocks joint = joint_of({cpu, cpu, cpu}, 300, observed);
  CHECK(joint.starts_ns() > 0);
  CHECK(same_excess(joint, alone_of(cpu, 300)));
}

TEST_CASE("joint phases of CPUs that are independent are their product", "[projection][joint]") {
  constexpr std::uint64_t kTotal = 40'000'000;
  constexpr std::uint64_t kGrainOfTwo = 500;
  std::mt19937_64 random(43);  // NOLINT(cert-msc51-cpp)
  std::vector<NodeCpu> node(2, NodeCpu{{0, kTotal, {}}});
  DelayCurve product;
  for (NodeCpu& cpu : node) {
    for (std::uint64_t at = random() % 4'000; at + 100 < kTotal;) {
      const Detour detour{at, at + 1 + random() % 100};
      cpu.front().detours.push_back(detour);
      at = detour.end_ns + random() % 4'000;
    }
    REQUIRE(product.add(tail_of(alone_of(cpu, kGrainOfTwo))));
  }
  DelayCurve joint;
  REQUIRE(joint.add(tail_of(joint_of(node, kGrainOfTwo, kTotal))));
  // Of the mean excess of 23 ns, 2 are the overlap, which some ten thousand meetings tell to 2%; and so of the shares.
  CHECK(joint.expected_excess_ns(1) == Approx(product.expected_excess_ns(1)).epsilon(0.01));
  CHECK(joint.delayed() == Approx(product.delayed()).epsilon(0.01));
  for (const double delay : {20.0, 64.0, 100.0})
    CHECK(joint.delayed_from(delay) == Approx(product.delayed_from(delay)).epsilon(0.02));
}

TEST_CASE("joint phases of a daemon that roams over the CPUs are delayed by each of its turns", "[projection][joint]") {
  constexpr std::uint64_t kTotal = 1'000'000;
  constexpr std::uint64_t kGrainOfAll = 400;
  constexpr std::size_t kCpus = 4;
  std::mt19937_64 random(47);  // NOLINT(cert-msc51-cpp)
  std::vector<NodeCpu> node(kCpus, NodeCpu{{0, kTotal, {}}});
  // No phase meets two of its turns, and none is cut off at the end.
  for (std::uint64_t at = 1'000; at + 1'000 < kTotal;) {
    const Detour detour{at, at + 1 + random() % 300};
    node[random() % kCpus].front().detours.push_back(detour);
    at = detour.end_ns + kGrainOfAll + random() % 1'000;
  }
  const DelayTail joint = tail_of(joint_of(node, kGrainOfAll, kTotal));
  std::vector<DelayTail> tails;
  for (const NodeCpu& cpu : node) tails.push_back(tail_of(alone_of(cpu, kGrainOfAll)));
  const auto together = [&](const std::function<double(const DelayTail&)>& figure) {
    double sum = 0;
    for (const DelayTail& tail : tails) sum += figure(tail);
    return sum;
  };
  CHECK(time_from(joint, 0) == static_cast<double>(kTotal - kGrainOfAll));
  CHECK(sum_of(joint) == Approx(together(sum_of)).epsilon(1e-12));
  for (const std::uint64_t least : {1U, 10U, 31U, 64U, 128U, 256U})
    CHECK(time_from(joint, least) == together([&](const DelayTail& tail) { return time_from(tail, least); }));
  // Were they independent, some would come together.
  DelayCurve product;
  for (const DelayTail& tail : tails) REQUIRE(product.add(tail));
  CHECK(time_from(joint, 1) > 1.1 * product.delayed() * time_from(joint, 0));
}

TEST_CASE("joint phases of 256 CPUs, one with a gap, are what a walk says", "[projection][joint]") {
  constexpr std::uint64_t kTotal = 8'000;
  std::mt19937_64 random(53);  // NOLINT(cert-msc51-cpp)
  std::vector<NodeCpu> node = random_node(random, 256, kTotal, false);
  node[100] = {NodeStretch{0, 4'000, {{1'000, 1'200}}}, NodeStretch{4'100, kTotal, {{5'000, 5'300}}}};
  const std::vector<NodeBegin> begins = walk_node(node, 50, kTotal);
  const ExcessBlocks joint = joint_of(node, 50, observed_of(begins));
  CHECK(joint.starts_ns() > 1'000);
  check_against_walk(joint, begins);
}

TEST_CASE("joint phases need all CPUs, and end with the first", "[projection][joint]") {
  const std::vector<std::uint64_t> lengths{6'000, 6'000, 4'000};
  JointPhases phases(100, lengths, 4'000);
  for (const std::size_t cpu : {0U, 1U}) {
    phases.begin(cpu, 0);
    phases.detour(cpu, 200, 250);
    phases.end(cpu, 6'000);
  }
  CHECK(phases.all().observed_ns() == 0);  // as long as one has told nothing
  phases.begin(2, 1'000);
  CHECK(phases.all().starts_ns() == 0);
  phases.end(2, 5'000);
  CHECK(phases.all().starts_ns() == 3'900);
  CHECK(phases.all().observed_ns() == 4'000);
}

TEST_CASE("joint phases know how old the oldest detour is in which they begin", "[projection][joint]") {
  const std::vector<std::uint64_t> lengths(2, 100'000);
  JointPhases phases(1'000, lengths, 100'000);
  for (const std::size_t cpu : {0U, 1U}) phases.begin(cpu, 0);
  phases.detour(0, 50'000, 55'000);
  phases.detour(1, 49'000, 51'000);
  phases.detour(1, 60'000, 60'700);
  for (const std::size_t cpu : {0U, 1U}) phases.end(cpu, 100'000);
  const auto time_at = [&phases](std::size_t age) {
    return time_from(DelayTail(phases.all().of_age(age), nullptr), 0);
  };
  // Up to 51,000 it is the second CPU's detour, which is 1,024 ns old at 50,024; then the first's, 1,000 ns old.
  CHECK(time_at(1) == 1'024 + 24 + 700);
  CHECK(time_at(2) == 976 + 1'024);
  CHECK(time_at(3) == 2'048);
  CHECK(time_at(4) == 904);
  CHECK(time_at(0) == static_cast<double>(phases.all().starts_ns()) - 6'700);
  CHECK(ExcessBlocks::age_ns(2) == Approx(1'448).margin(1));
}

TEST_CASE("joint phases give up where too much waits for a CPU that tells nothing", "[projection][joint]") {
  const std::vector<std::uint64_t> lengths(2, 1'000'000);
  JointPhases phases(100, lengths, 1'000'000, 64);
  phases.begin(0, 0);
  phases.begin(1, 0);
  std::uint64_t at_ns = 0;
  for (; phases.complete(); at_ns += 1'000) phases.detour(0, at_ns, at_ns + 10);
  CHECK(at_ns < 64'000);
  phases.detour(1, 5'000, 6'000);  // too late
  phases.end(0, 1'000'000);
  phases.end(1, 1'000'000);
  CHECK_FALSE(phases.complete());
  CHECK(phases.all().starts_ns() == 0);
  // By itself each is known as before.
  for (const std::size_t cpu : {0U, 1U}) CHECK(phases.cpu(cpu).starts_ns() == 999'900);
}
