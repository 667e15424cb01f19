// SPDX-License-Identifier: Apache-2.0
// What phases walk through: how large it is, and in which order.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "probe/footprint.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::probe;

TEST_CASE("the walk comes by every line once before it comes back", "[phases]") {
  for (const std::size_t count : {1U, 2U, 3U, 16U, 1000U, 4096U}) {
    std::vector<CacheLine> lines(count);
    link_lines(lines);
    std::vector<bool> seen(count);
    const CacheLine* line = lines.data();
    std::size_t near = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::ptrdiff_t at = line - lines.data();
      REQUIRE(at >= 0);
      REQUIRE(static_cast<std::size_t>(at) < count);
      REQUIRE_FALSE(seen[static_cast<std::size_t>(at)]);
      seen[static_cast<std::size_t>(at)] = true;
      const std::ptrdiff_t step = line->next - line;
      if (step >= -1 && step <= 2) ++near;  // what a prefetcher would guess
      line = line->next;
    }
    CHECK(line == lines.data());
    if (count >= 1000) CHECK(near < count / 50);
  }
}

TEST_CASE("a footprint is as large as it is told, or as a part of the cache", "[phases]") {
  CHECK(parse_footprint("0").value() == FootprintChoice{});
  CHECK(parse_footprint("64").value() == FootprintChoice{0, 64});
  CHECK(parse_footprint("24KiB").value() == FootprintChoice{0, 24'576});
  CHECK(parse_footprint("1GiB").value() == FootprintChoice{0, 1U << 30U});
  for (const char* const text : {"0", "64", "24576", "L1", "L2"}) {
    CHECK(to_string(parse_footprint(text).value()) == text);
  }
  for (const char* const text : {"", "1", "63", "1025MiB", "L0", "L3", "l1", "L", "64KB", "-64"}) {
    INFO(text);
    CHECK_FALSE(parse_footprint(text));
  }
  CHECK(Footprint::create(0).value().lines() == nullptr);
  Footprint small = Footprint::create(128).value();
  small.link();
  CHECK(small.lines()->next != small.lines());
  CHECK(small.lines()->next->next == small.lines());
}

namespace {

void write_cache(const std::string& root, unsigned cpu, unsigned index, const std::string& level,
                 const std::string& type, const std::string& size) {
  const std::filesystem::path cache =
      root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index);
  std::filesystem::create_directories(cache);
  std::ofstream(cache / "level") << level << '\n';
  std::ofstream(cache / "type") << type << '\n';
  std::ofstream(cache / "size") << size << '\n';
}

}  // namespace

TEST_CASE("the size of a cache is the kernel's word, of the smallest of the CPUs", "[phases]") {
  const test::TemporaryDirectory directory;
  const std::string root = directory.path("root");
  write_cache(root, 0, 0, "1", "Instruction", "64K");
  write_cache(root, 0, 1, "1", "Data", "48K");
  write_cache(root, 0, 2, "2", "Unified", "2048K");
  write_cache(root, 3, 0, "1", "Data", "32K");
  write_cache(root, 3, 1, "2", "Unified", "4M");
  CHECK(footprint_bytes({1, 0}, {0}, root).value() == 24 * 1024);
  CHECK(footprint_bytes({1, 0}, {0, 3}, root).value() == 16 * 1024);
  CHECK(footprint_bytes({2, 0}, {0, 3}, root).value() == 1024 * 1024);
  CHECK(footprint_bytes({0, 640}, {9}, root).value() == 640);
  const auto unknown = footprint_bytes({2, 0}, {0, 9}, root);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().line().find("cpu9") != std::string::npos);
  CHECK(unknown.error().remedy.find("give a size") != std::string::npos);
  write_cache(root, 5, 0, "1", "Data", "a lot");
  CHECK_FALSE(footprint_bytes({1, 0}, {5}, root));
}
