// SPDX-License-Identifier: Apache-2.0
// Kernels whose ring buffers may sleep where nothing may.
#include <catch2/catch_test_macros.hpp>

#include "kernel/features.h"

using namespace noised;
using namespace noised::kernel;

TEST_CASE("real-time kernels before the fix are refused, all others are not", "[trace]") {
  constexpr const char* kRealTime = "#1 SMP PREEMPT_RT Debian 6.1.1-1";
  for (const char* bad :
       {"5.10.0-30-rt-amd64", "6.1.0-40-rt-amd64", "6.6.82-rt", "6.7.0", "6.11.4+deb13-rt-amd64", "6", ""}) {
    INFO(bad);
    CHECK_FALSE(check_ringbuf(bad, kRealTime).ok());
    CHECK(check_ringbuf(bad, "#1 SMP PREEMPT_DYNAMIC Debian").ok());
  }
  for (const char* good : {"6.6.83-rt1", "6.6.100", "6.11.5", "6.12.95+deb12-rt-amd64", "7.2.0"}) {
    INFO(good);
    CHECK(check_ringbuf(good, kRealTime).ok());
  }
  const Status refused = check_ringbuf("6.1.0-40-rt-amd64", kRealTime);
  CHECK(refused.error().line().find("--force-ringbuf") != std::string::npos);
}
