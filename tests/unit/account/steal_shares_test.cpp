// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "account/steal_shares.h"

using namespace noised;
using namespace noised::account;

TEST_CASE("steal: each account has as much of it as of the time for which any task had the CPU") {
  StealShares shares(3);
  shares.ran_for(1, shares.ran(1'000, 4'000));
  shares.ran_for(2, shares.ran(7'000, 8'000));
  shares.ran(9'000, 9'500);  // nobody's who is asked for
  CHECK(shares.share_of(1, 900) == 600);
  CHECK(shares.share_of(2, 900) == 200);
  CHECK(shares.share_of(0, 900) == 0);
  shares.clear();
  shares.ran_for(2, shares.ran(10'000, 11'000));
  CHECK(shares.share_of(1, 900) == 0);
  CHECK(shares.share_of(2, 900) == 900);
}

TEST_CASE("steal: while nobody had the CPU, nothing is anybody's") {
  StealShares shares(2);
  CHECK(shares.share_of(1, 10'000'000) == 0);
  shares.ran_for(1, shares.ran(1'000, 1'000));
  CHECK(shares.share_of(1, 10'000'000) == 0);
}

TEST_CASE("steal: an account that begins has nothing of what was before") {
  StealShares shares(2);
  shares.ran_for(1, shares.ran(1'000, 2'000));
  shares.begin(1);
  CHECK(shares.share_of(1, 100) == 0);
  shares.ran_for(1, shares.ran(2'000, 3'000));
  CHECK(shares.share_of(1, 100) == 50);
}

TEST_CASE("steal: the largest numbers are divided without overflow") {
  StealShares shares(1);
  shares.ran_for(0, shares.ran(0, UINT64_MAX));
  CHECK(shares.share_of(0, UINT64_MAX) == UINT64_MAX);
}

// Runs of two accounts and of kernel threads, one after the other, read at any time: a run that goes on then is told
// with its end only after those that followed it.
TEST_CASE("steal: no nanosecond of a run is told twice, and none is left out") {
  struct Run {
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::size_t account;
  };
  std::mt19937 random(11);
  const auto below = [&](std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random); };
  for (int round = 0; round < 200; ++round) {
    std::vector<Run> runs;
    std::vector<std::uint64_t> expected_ns(3);
    std::uint64_t now_ns = 1;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t start_ns = now_ns + below(30);
      now_ns = start_ns + 1 + below(below(5) == 0 ? 3'000 : 100);
      const std::size_t account = below(3);
      runs.push_back({start_ns, now_ns, account});
      expected_ns[account] += now_ns - start_ns;
    }
    StealShares shares(3);
    std::vector<std::uint64_t> told_ns(3);
    const auto tell = [&](std::size_t account, std::uint64_t ns) { told_ns[account] += ns; };
    std::size_t next = 0;
    for (std::uint64_t read_ns = 1; next < runs.size(); read_ns += 1 + below(400)) {
      std::size_t over = next;
      while (over < runs.size() && runs[over].end_ns <= read_ns) ++over;
      for (std::size_t i = next; i < over; ++i) {  // account 0 is of kernel threads, whose runs come first
        if (runs[i].account == 0) tell(0, shares.ran(runs[i].start_ns, runs[i].end_ns));
      }
      for (std::size_t i = next; i < over; ++i) {
        if (runs[i].account != 0) tell(runs[i].account, shares.ran(runs[i].start_ns, runs[i].end_ns));
      }
      next = over;
      if (next == runs.size() || runs[next].start_ns >= read_ns || runs[next].account == 0) continue;
      tell(runs[next].account, shares.runs(runs[next].start_ns, read_ns));
    }
    CHECK(told_ns == expected_ns);
  }
}
