// SPDX-License-Identifier: Apache-2.0
// What a daemon tells Prometheus, by name.
#pragma once

#include <map>
#include <string>

namespace noised::live {

/// By name and labels, as in the text of a scrape.
using Samples = std::map<std::string, double>;

/// Scrapes the daemon at this socket; fails the test where it does not answer.
Samples scrape(const std::string& socket);
/// Whether this sample may only rise.
bool is_counter(const std::string& name);
/// Fails the test where a counter has gone back, or has gone, but for the series of tasks where names have left.
void check_counters(const Samples& before, const Samples& now);
/// The sum of a family's samples.
double family_sum(const Samples& samples, const std::string& family);

}  // namespace noised::live
