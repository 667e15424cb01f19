// SPDX-License-Identifier: Apache-2.0
// Steal time of a CPU that /proc/stat does not list at first.
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "pipeline/steal_counts.h"
#include "unit/base/temporary_directory.h"
#include "unit/pipeline/quiet_kernel.h"

using namespace noised;
using namespace noised::pipeline;

TEST_CASE("what was stolen from a CPU before it was there, or before the start, is not counted", "[pipeline]") {
  const test::TemporaryDirectory directory;
  const auto write = [&](const char* text) { directory.write("stat", text); };
  write("cpu0 1 2 3 4 5 6 7 5\n");
  auto clock = system::StealClock::open(directory.path("stat"));
  REQUIRE(clock);
  test::QuietKernel kernel;
  const std::vector<unsigned> cpus = {0, 2};
  StealCounts counts(kernel, &clock.value(), cpus, 0);
  std::vector<std::uint64_t> stolen(2);
  const auto look = [&] {
    counts.want();
    counts.look(1, [&](std::size_t place, std::uint64_t ns, std::uint64_t /*step_ns*/) { stolen[place] += ns; });
  };
  look();
  CHECK(stolen == std::vector<std::uint64_t>{0, 0});
  write("cpu0 1 2 3 4 5 6 7 6\ncpu2 1 2 3 4 5 6 7 900\n");
  look();
  CHECK(stolen == std::vector<std::uint64_t>{10'000'000, 0});
  write("cpu0 1 2 3 4 5 6 7 6\ncpu2 1 2 3 4 5 6 7 903\n");
  look();
  CHECK(stolen == std::vector<std::uint64_t>{10'000'000, 30'000'000});
  // It goes and comes back.
  write("cpu0 1 2 3 4 5 6 7 6\n");
  look();
  write("cpu0 1 2 3 4 5 6 7 6\ncpu2 1 2 3 4 5 6 7 904\n");
  look();
  CHECK(stolen == std::vector<std::uint64_t>{10'000'000, 40'000'000});
}
