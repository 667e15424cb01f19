// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "noised/ticker.h"

using namespace noised;
using namespace noised::daemon;

namespace {

unsigned after(DrainPace& pace, unsigned drains, double fullness) {
  unsigned factor = 0;
  for (unsigned i = 0; i < drains; ++i) factor = pace.next(fullness);
  return factor;
}

}  // namespace

TEST_CASE("pace: drains become rare when little has happened for a while, and frequent at once") {
  DrainPace pace;
  CHECK(after(pace, DrainPace::kCalm - 1, 0) == 1);
  CHECK(pace.next(0) == DrainPace::kRarely);
  CHECK(pace.next(1) == 1);
  CHECK(after(pace, DrainPace::kCalm - 1, 0) == 1);
  CHECK(pace.next(0) == DrainPace::kRarely);
}

TEST_CASE("pace: the same rate is as much for rare drains as for frequent ones") {
  DrainPace pace;
  const double rate = 0.9 * DrainPace::kLittle;  // per configured interval
  CHECK(after(pace, DrainPace::kCalm, rate) == DrainPace::kRarely);
  CHECK(after(pace, 1000, rate * DrainPace::kRarely) == DrainPace::kRarely);
  CHECK(pace.next(1.2 * DrainPace::kRarely * rate) == 1);
  CHECK(after(pace, 1000, 1.2 * rate) == 1);
}
