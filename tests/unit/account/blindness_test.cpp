// SPDX-License-Identifier: Apache-2.0
// When a CPU is called blind, and when there is nothing to say.
#include "account/blindness.h"

#include <catch2/catch_test_macros.hpp>

using namespace noised;
using namespace noised::account;

namespace {

constexpr std::uint64_t kNever = 0;

// Looks at `now_ns` and judges a drain later, when so much has come.
void window(BlindnessCheck& check, std::uint64_t counted, std::uint64_t now_ns, const Sighted& sighted,
            std::uint64_t gap_end_ns = kNever) {
  check.look(counted, now_ns, sighted);
  check.judge(now_ns, gap_end_ns, sighted);
}

}  // namespace

TEST_CASE("what the kernel counted has come: nobody is blind", "[pipeline]") {
  BlindnessCheck check;
  window(check, 1'000, 1, {500, 5, 700});
  window(check, 1'100, 2, {600, 9, 900});
  CHECK(check.unseen() == 0);
  CHECK(check.judged() == 100);
}

TEST_CASE("fewer than half of the interrupts came: blind, and it is known how many", "[pipeline]") {
  BlindnessCheck check;
  window(check, 1'000, 1, {500, 0, 700});
  window(check, 1'100, 2, {549, 0, 900});
  CHECK(check.unseen() == 51);
  window(check, 1'200, 3, {599, 0, 950});  // half of them: not blind, as in the next
  CHECK(check.unseen() == 51);
  window(check, 1'300, 4, {599, 0, 960});
  CHECK(check.unseen() == 151);
}

TEST_CASE("something longer than the threshold came, and no detour: blind", "[pipeline]") {
  BlindnessCheck check;
  window(check, 1'000, 1, {500, 7, 0});
  window(check, 1'100, 2, {600, 8, 0});
  CHECK(check.unseen() == 100);
  window(check, 1'200, 3, {700, 8, 0});  // nothing was long enough for a detour
  CHECK(check.unseen() == 100);
}

TEST_CASE("what was counted before a look and came in the drain after it, is in its window", "[pipeline]") {
  BlindnessCheck check;
  window(check, 1'000, 1, {0, 0, 0});
  check.look(1'100, 2, {40, 0, 9});
  check.judge(2, kNever, {100, 0, 9});
  CHECK(check.unseen() == 0);
  // And what came then is in the next window too: it may have been counted in either.
  window(check, 1'120, 3, {100, 0, 9});
  CHECK(check.unseen() == 0);
}

TEST_CASE("a look is judged when the loop was beyond it, not before", "[pipeline]") {
  BlindnessCheck check;
  window(check, 1'000, 1, {});
  check.look(2'000, 10, {});
  check.judge(9, kNever, {});
  CHECK(check.waits());
  CHECK(check.unseen() == 0);
  check.look(5'000, 11, {});  // one at a time
  check.judge(10, kNever, {});
  CHECK_FALSE(check.waits());
  CHECK(check.unseen() == 1'000);
}

TEST_CASE("a window in which the loop did not observe is not judged, the next one is", "[pipeline]") {
  BlindnessCheck check;
  window(check, 1'000, 10, {});
  window(check, 2'000, 20, {}, 10);
  CHECK(check.judged() == 0);
  window(check, 3'000, 30, {}, 20);
  CHECK(check.judged() == 0);
  window(check, 4'000, 40, {}, 20);
  CHECK(check.unseen() == 1'000);
}

TEST_CASE("few interrupts are not judged until they are enough, and a count that goes back begins anew", "[pipeline]") {
  BlindnessCheck check;
  window(check, 100, 1, {});
  for (std::uint64_t i = 1; i < BlindnessCheck::kEnough; ++i) window(check, 100 + i, 1 + i, {});
  CHECK(check.judged() == 0);
  window(check, 100 + BlindnessCheck::kEnough, 20, {});
  CHECK(check.unseen() == BlindnessCheck::kEnough);
  window(check, 0, 30, {});
  window(check, 50, 40, {50, 0, 50});
  CHECK(check.unseen() == BlindnessCheck::kEnough);
}
