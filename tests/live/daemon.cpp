// SPDX-License-Identifier: Apache-2.0
// Starting it, and following it while noise is made.
#include "daemon.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "base/cpus.h"
#include "measurement.h"

namespace noised::live {

Daemon::Daemon(const std::string& more) : cpu_(probed_cpu()), quiet_(cpu_), socket_(directory_.path("socket")) {
  std::ofstream(directory_.path("noised.conf"))
      << "[probe]\nthreshold = \"" << (is_emulated() ? "2us" : "1us") << "\"\n"
      << more;
  process_.emplace(Arguments{kNoised, "--config", directory_.path("noised.conf"), "--socket", socket_, "--cpus",
                             std::to_string(cpu_), "--log-level", "error"});
  REQUIRE(eventually([this] { return run(command({"status"})).exit_code == 0; }));
}

Arguments Daemon::command(const Arguments& arguments) const {
  Arguments all{kNoisectl, "--socket", socket_};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

client::Observation Daemon::observe(const std::string& mode, std::uint64_t duration_ns) const {
  selftest::GeneratorOptions options;
  options.cpu = cpu_;
  options.duration_ns = duration_ns;
  if (is_emulated()) options.slower = 4;  // or the stream could not show everything
  for (const unsigned cpu : online_cpus().value()) {
    if (cpu != cpu_) options.others.push_back(cpu);
  }
  Result<client::HttpClient> http = client::HttpClient::create(socket_);
  REQUIRE(http.ok());
  Result<client::Observation> seen = client::observe(http.value(), *selftest::find_mode(mode), options, -1);
  if (!seen) FAIL(seen.error().line());
  return std::move(seen.value());
}

}  // namespace noised::live
