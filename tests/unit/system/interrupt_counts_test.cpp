// SPDX-License-Identifier: Apache-2.0
// /proc/interrupts as kernels write it.
#include "system/interrupt_counts.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::system;

namespace {

const std::vector<InterruptRow> kRows = {{"LOC", 1}, {"RES", 2}, {"CAL", 12}};

constexpr const char* kTable =
    "            CPU0       CPU1       CPU3       \n"
    "   1:          9          8          7   IO-APIC   1-edge      i8042\n"
    " LOC:        100        200        300   Local timer interrupts\n"
    " RES:         10          0          1   Rescheduling interrupts\n"
    " CAL:          1          2          3   Function call interrupts\n"
    " TLB:       5000       5000       5000   TLB shootdowns\n"
    " ERR:          0\n";

std::vector<std::uint64_t> parse(std::string_view text) {
  std::vector<std::uint64_t> counts{77};
  parse_interrupts(text, kRows, counts);
  return counts;
}

}  // namespace

TEST_CASE("counts are added up by CPU number, and a CPU that is offline has none", "[trace]") {
  CHECK(parse(kTable) == std::vector<std::uint64_t>{111, 202, 0, 304});
}

TEST_CASE("what is no such table counts nothing", "[trace]") {
  CHECK(parse("").empty());
  CHECK(parse("nonsense").empty());
  CHECK(parse("CPU0 CPU99999999999999999999\nLOC: 5 6\n") == std::vector<std::uint64_t>{5});
  CHECK(parse("CPU0 CPU1\nLOC: 5\n") == std::vector<std::uint64_t>{5, 0});  // cut off
  CHECK(parse("CPU0 CPU1\nLOC: 5 x6\nRES:") == std::vector<std::uint64_t>{5, 0});
}

TEST_CASE("a table longer than any before is read whole", "[trace]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("interrupts");
  std::ofstream(path) << kTable;
  auto counts = InterruptCounts::open(kRows, path);
  REQUIRE(counts);
  CHECK(counts.value().vectors() == 15);
  CHECK(counts.value().read()[3] == 304);
  {
    std::ofstream file(path);
    file << "CPU0 CPU1\n";
    for (int i = 0; i < 20'000; ++i) file << i << ": 1 1 some device\n";
    file << "LOC: 41 42\n";
  }
  CHECK(counts.value().read() == std::vector<std::uint64_t>{41, 42});
  CHECK_FALSE(InterruptCounts::open(kRows, directory.path("missing")));
}
