// SPDX-License-Identifier: Apache-2.0
// Limits as users write them: in a file, or by options.
#include "noisectl/commands/check.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "noisectl/commands/commands.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::client;

namespace {

std::string refused_limits(const std::string& text) {
  const auto limits = parse_limits(text, "l.toml");
  REQUIRE_FALSE(limits);
  CHECK(limits.error().code == ExitCode::usage);
  CHECK_FALSE(limits.error().remedy.empty());
  CHECK(limits.error().line().find('\n') == std::string::npos);
  return limits.error().line();
}

std::string refused_options(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"noisectl", "check"});
  const auto line = parse_command_line(static_cast<int>(arguments.size()), arguments.data());
  REQUIRE_FALSE(line);
  CHECK(line.error().code == ExitCode::usage);
  return line.error().line();
}

CheckOptions checked_options(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"noisectl", "check"});
  auto line = parse_command_line(static_cast<int>(arguments.size()), arguments.data());
  if (!line) FAIL(line.error().line());
  return dynamic_cast<CommandOf<CheckOptions>&>(*std::get<std::unique_ptr<Command>>(line.value())).options;
}

}  // namespace

TEST_CASE("limits are read from a file, each by its key", "[check]") {
  const auto read = parse_limits(
      "max_detour = '20us'\nmax_share = '0.1%'\ncpus = '1-3,7'\nsources = ['task:a=b*=5us', \"irq:*=0.05%\"]\n", "f");
  REQUIRE(read);
  const analysis::NoiseLimits& limits = read.value();
  CHECK(limits.max_detour_ns == 20'000U);
  CHECK(limits.max_share == 1'000'000U);
  CHECK(limits.cpus == std::vector<unsigned>{1, 2, 3, 7});
  REQUIRE(limits.sources.size() == 2);
  CHECK(limits.sources[0].pattern == "task:a=b*");
  CHECK(limits.sources[0].max_ns == 5'000U);
  CHECK_FALSE(limits.sources[0].share);
  CHECK(limits.sources[1].share == 500'000U);
  CHECK_FALSE(parse_limits("", "f").value().any());
}

TEST_CASE("a mistake in a file of limits is told with its line and what to write", "[check]") {
  CHECK(refused_limits("max_detour = '20us'\nmax_detuor = '1us'\n").starts_with("l.toml:2: unknown key 'max_detuor'"));
  CHECK(refused_limits("max_detour = 20\n").starts_with("l.toml:1: max_detour has the wrong type"));
  CHECK(refused_limits("\nmax_share = '0.1'\n").starts_with("l.toml:2: max_share: share '0.1' has no unit"));
  CHECK(refused_limits("cpus = '3-1'\n").starts_with("l.toml:1: cpus: "));
  CHECK(refused_limits("sources = 'task:a=1us'\n").starts_with("l.toml:1: sources has the wrong type"));
  CHECK(
      refused_limits("sources = [\n'task:a=1us',\n'task:b']\n").starts_with("l.toml:3: sources: 'task:b' is no limit"));
  CHECK(refused_limits("max_detour = \n").starts_with("l.toml:1: "));
  CHECK(refused_limits("[check]\nmax_detour = '1us'\n").starts_with("l.toml:1: unknown key 'check'"));
}

TEST_CASE("options go before what the file says, and there must be a limit", "[check]") {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path("limits");
  std::ofstream(file) << "max_detour = '20us'\nmax_share = '1%'\nsources = ['task:a=1us', 'task:b=1us']\n";
  const CheckOptions options = checked_options(
      {"--limits", file.c_str(), "--max-detour", "5us", "--source", "irq:*=2us", "--for", "3s", "--cpus", "2"});
  CHECK(options.limits.max_detour_ns == 5'000U);
  CHECK(options.limits.max_share == 10'000'000U);
  REQUIRE(options.limits.sources.size() == 1);
  CHECK(options.limits.sources[0].pattern == "irq:*");
  CHECK(options.limits.cpus == std::vector<unsigned>{2});
  CHECK(options.duration_ns == 3'000'000'000U);
  CHECK(checked_options({"--limits", file.c_str()}).limits.sources.size() == 2);
  CHECK(checked_options({"--source", "irq:*=2us", "--source", "task:a=1%"}).limits.sources.size() == 2);

  CHECK(refused_options({}) == "check: there is no limit: give --max-detour, --max-share, --source or --limits");
  CHECK(refused_options({"--max-detour", "5"}).starts_with("--max-detour: time '5' has no unit"));
  CHECK(refused_options({"--max-share", "101x"}).starts_with("--max-share: share '101x' has an unknown unit"));
  CHECK(refused_options({"--source", "a"}).starts_with("--source: 'a' is no limit of a source"));
  CHECK(refused_options({"--max-detour", "5us", "--for", "0s"}).starts_with("--for 0"));
  CHECK(refused_options({"--limits", "/nonexistent"}).find("/nonexistent") != std::string::npos);
}
