// SPDX-License-Identifier: Apache-2.0
// Scraping.
#include "scrape.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <sstream>

#include "unit/noised/http_client.h"

namespace noised::live {

Samples scrape(const std::string& socket) {
  test::RawClient client(socket);
  client.send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::istringstream lines(client.read_all(10'000));
  Samples samples;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    if (line.starts_with("noised_") && space != std::string::npos) {
      samples[line.substr(0, space)] = std::strtod(line.c_str() + space, nullptr);
    }
  }
  REQUIRE(samples.size() > 20);
  return samples;
}

bool is_counter(const std::string& name) {
  const std::string family = name.substr(0, name.find('{'));
  return family.ends_with("_total") || family.ends_with("_bucket") || family.ends_with("_count") ||
         family.ends_with("_sum");
}

void check_counters(const Samples& before, const Samples& now) {
  const char* const departed = "noised_sources_departed_total";
  const bool some_left = before.contains(departed) && now.at(departed) > before.at(departed);
  for (const auto& [name, value] : before) {
    INFO(name << " from " << value);
    if (!is_counter(name)) continue;
    const bool may_be_gone = some_left && name.find("kind=\"task\"") != std::string::npos;
    REQUIRE((now.contains(name) || may_be_gone));
    if (now.contains(name)) REQUIRE(now.at(name) >= value);
  }
}

double family_sum(const Samples& samples, const std::string& family) {
  double total = 0;
  for (const auto& [name, value] : samples) {
    if (name.substr(0, name.find('{')) == family) total += value;
  }
  return total;
}

}  // namespace noised::live
