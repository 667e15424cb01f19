// SPDX-License-Identifier: Apache-2.0
// The noise law against the numbers of the paper (Tsafrir et al. 2005, section 2), and where doubles run out of digits.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "analysis/projection/barrier.h"

using namespace noised;
using namespace noised::analysis;
using Catch::Approx;

TEST_CASE("the paper's worked numbers", "[projection]") {
  // Section 2.4: a grain of 1 ms, of which one in a hundred takes 1.5 ms.
  CHECK(bimodal_slowdown(1.0, 1.5, linear_law(1e-2, 10)) == Approx(1.05).epsilon(1e-12));
  CHECK(std::abs(delay_probability(1e-2, 100) - 0.63) < 0.005);
  CHECK(std::abs(bimodal_slowdown(1.0, 1.5, delay_probability(1e-2, 100)) - 1.32) < 0.005);
  // Section 2.2: a thousand nodes, delayed once in a hundred phases.
  CHECK(delay_probability(1e-5, 1'000) == Approx(1e-2).epsilon(0.01));
  for (const double nodes : {300.0, 1e3, 9e3}) CHECK(delay_probability(1e-5, nodes) <= 0.1);
}

TEST_CASE("the linear law is at most 5% too large up to p = 1/(10 n), and not much further", "[projection]") {
  for (double nodes = 1; nodes <= 1e9; nodes *= 3) {
    for (double share = 1e-9; share <= 1; share *= 2) {
      const double error = linear_law_error(share / (10 * nodes), nodes);
      CHECK(error >= -1e-9);
      CHECK(error <= 0.05);
    }
    CHECK(linear_law_error(1 / (10 * nodes), nodes) <= 0.05);
    if (nodes > 10) CHECK(linear_law_error(1.5 / (10 * nodes), nodes) > 0.05);
    const double p = 1 / (7 * nodes);
    CHECK(linear_law(p, nodes) - delay_probability(p, nodes) < 0.01 + 0.0003);  // section 2.1; 1/7.07, rounded
  }
}

TEST_CASE("the law holds to the last digits for any p and n", "[projection]") {
  for (double p = 1e-15; p < 1; p *= 7) {
    CHECK(delay_probability(p, 1) == Approx(p).epsilon(1e-14));
    for (double nodes = 1; nodes <= 1e9; nodes *= 10) {
      const long double rest = std::exp(static_cast<long double>(nodes) * std::log1p(-static_cast<long double>(p)));
      CHECK(delay_probability(p, nodes) == Approx(static_cast<double>(1 - rest)).epsilon(1e-9).margin(1e-18));
    }
  }
  CHECK(delay_probability(1e-12, 1e9) == Approx(1e-3 - 5e-7 + 1.667e-10).epsilon(1e-9));
  CHECK(delay_probability(0, 1e9) == 0);
  CHECK(delay_probability(1, 1) == 1);
  CHECK(linear_law_error(0, 1e9) == 0);
  CHECK(linear_law_error(0.5, 1) == Approx(0).margin(1e-15));
  CHECK(linear_law_error(1e-12, 1e5) == Approx(0.5e-7).epsilon(1e-3));
  // Where the two ways to compute it meet.
  CHECK(linear_law_error(0.999e-9, 1e3) == Approx(linear_law_error(1.001e-9, 1e3)).epsilon(0.01));
}
