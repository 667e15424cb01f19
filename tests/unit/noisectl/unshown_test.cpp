// SPDX-License-Identifier: Apache-2.0
// What may be missing of a CPU in a stream of several.
#include "noisectl/commands/selftest.h"
#include "noisectl/commands/selftest_session.h"

#include <catch2/catch_test_macros.hpp>

using namespace noised;
using client::Unshown;
using selftest::Span;

namespace {

bool is(const Span& span, std::uint64_t start_ns, std::uint64_t end_ns) {
  return span.start_ns == start_ns && span.end_ns == end_ns;
}

}  // namespace

TEST_CASE("a drain shows one CPU after the other: what is missing of a CPU lies between two of its own", "[noisectl]") {
  std::vector<Span> spans;
  Unshown of_first(1, spans);
  // A drain: CPU 1 up to 100, CPU 2 up to 110, CPU 3 up to 120. Of the next one, the oldest are missing: all of CPU 1,
  // from 130 to 220, for CPU 3 is as far as 225.
  of_first.shown(1, 90, 100);
  of_first.shown(2, 90, 110);
  of_first.shown(3, 90, 120);
  of_first.missing();
  for (std::uint64_t i = 0; i < Unshown::kPiece; ++i) of_first.shown(i < 20 ? 2 : 3, 130 + i, 140 + i);
  of_first.shown(3, 220, 225);
  of_first.shown(1, 230, 240);
  REQUIRE(spans.size() == 1);
  CHECK(is(spans[0], 100, 230));
}

TEST_CASE("where in its piece a detour is missing is not told: all of the piece is in doubt", "[noisectl]") {
  std::vector<Span> spans;
  Unshown unshown(1, spans);
  unshown.shown(1, 0, 10);
  unshown.missing();
  for (std::uint64_t i = 1; i <= Unshown::kPiece; ++i) unshown.shown(1, 100 * i, 100 * i + 10);
  CHECK(is(spans.at(0), 10, UINT64_MAX));
  unshown.shown(1, 100'000, 100'010);
  CHECK(is(spans.at(0), 10, 100'000));
  unshown.shown(1, 200'000, 200'010);
  unshown.missing();
  unshown.missing();  // one span
  unshown.shown(1, 300'000, 300'010);
  REQUIRE(spans.size() == 2);
  CHECK(is(spans[1], 200'010, UINT64_MAX));  // to the end of the stream
}

TEST_CASE("a source that this kernel does not show is compared by what shows it, and by the count of that",
          "[noisectl]") {
  selftest::Truth truth;
  truth.sources = {{"csd", "flush_tlb_func"}};
  truth.fallback = {{"vector", "call_function"}};
  truth.kernel = selftest::KernelCount{"/proc/interrupts TLB", 4};
  truth.fallback_kernel = selftest::KernelCount{"/proc/interrupts CAL", 7};
  StatusView status;
  status.programs = {{"csd_function_entry", "csd", "tp_btf"}, {"call_function_entry", "vector", "tp_btf"}};
  SECTION("shown") {
    client::adapt_to(status, truth);
    CHECK(truth.sources.front().kind == "csd");
    CHECK(truth.kernel->count == 4);
  }
  SECTION("not shown") {
    status.programs.front().attached.clear();
    client::adapt_to(status, truth);
    CHECK(truth.sources.front().kind == "vector");
    CHECK(truth.kernel->count == 7);
  }
  SECTION("neither") {
    status.programs.clear();
    client::adapt_to(status, truth);
    CHECK(truth.unsupported == "the daemon does not see the kind csd here");
  }
}
