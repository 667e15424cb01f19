// SPDX-License-Identifier: Apache-2.0
// Densities as bars: with few durations, with durations far apart, and with one beside very many.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "views/density.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;

namespace {

struct Times {
  std::uint64_t duration_ns;
  int count;
};

// The lines of the bars, of detours alone.
std::vector<std::string> bars_of(const std::vector<Times>& times) {
  Distributions distributions(200);
  for (const Times& each : times) {
    DetourLedger ledger;
    ledger.detour = {0, each.duration_ns, false};
    for (int i = 0; i < each.count; ++i) distributions.add(ledger);
  }
  const std::string text = views::to_text({distributions.finish(0)}, Report());
  std::vector<std::string> lines;
  for (std::size_t at = text.find('\n', text.find("rebuilt from")) + 1; text.compare(at, 8, "distance") != 0;) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool starts_at(const std::string& line, const std::string& from) {
  return line.substr(line.find_first_not_of(' ')).starts_with(from);
}

}  // namespace

TEST_CASE("few detours have bars, all of them, and none far from them", "[views]") {
  const std::vector<std::string> four = bars_of({{1'100, 1}, {2'000, 1}, {30'000, 1}, {400'000, 1}});
  CHECK(four.size() == 23);
  for (const std::string& line : four) CHECK(line.find('#') != std::string::npos);

  const std::vector<std::string> two = bars_of({{400, 1}, {1'000'000'000, 1}});
  REQUIRE(two.size() == 55);
  CHECK(starts_at(two.front(), "237 ns"));
  CHECK(starts_at(two.back(), "1.33 s"));
  for (const std::string& line : two) CHECK(line.find('#') != std::string::npos);
}

TEST_CASE("bars begin at 1 ns, and end where durations do", "[views]") {
  const std::vector<std::string> bars = bars_of({{0, 1}, {UINT64_MAX, 1}});
  REQUIRE(bars.size() == 155);
  CHECK(starts_at(bars[0], "1.00 ns"));
  CHECK(starts_at(bars[1], "1.33 ns"));
  CHECK(starts_at(bars.back(), "49396"));
  CHECK(bars_of({}).empty());
}

TEST_CASE("what happened once is seen beside what happened very often, and nothing between", "[views]") {
  const std::vector<std::string> bars = bars_of({{1'000, 100'000}, {1'100, 100'000}, {5'000'000, 1}});
  std::size_t seen = 0;
  for (const std::string& line : bars) seen += line.find('#') != std::string::npos ? 1 : 0;
  CHECK(bars.size() > 25);
  CHECK(seen <= 5);
  const bool last = bars.back().find('#') != std::string::npos || bars[bars.size() - 2].find('#') != std::string::npos;
  CHECK(last);
}
