// SPDX-License-Identifier: Apache-2.0
// The configuration file: strict, with FILE:LINE and a remedy; the one we ship says the built-in defaults.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "base/files.h"
#include "noised/config.h"
#include "noised/settings.h"
#include "unit/base/temporary_directory.h"
#include "unit/base/tree.h"

namespace noised {

using namespace noised::daemon;
using namespace noised::probe;

namespace {

std::string refusal(const std::string& text) {
  const auto config = parse_config(text, "f.conf");
  REQUIRE_FALSE(config);
  CHECK(config.error().code == ExitCode::usage);
  CHECK_FALSE(config.error().remedy.empty());
  CHECK(config.error().line().find('\n') == std::string::npos);
  return config.error().line();
}

}  // namespace

TEST_CASE("the shipped noised.conf is the built-in defaults, and has every key") {
  const auto config = read_config(test::in_tree("noised.conf"));
  if (!config) FAIL(config.error().line());
  CHECK(config.value() == Config{});
  const std::string text = read_file(test::in_tree("noised.conf")).value();
  for (const Setting& setting : settings()) {
    INFO(setting.key);
    const auto section = text.find("[" + std::string(setting.section) + "]");
    REQUIRE(section != std::string::npos);
    CHECK(text.find("\n" + std::string(setting.key) + " = ", section) != std::string::npos);
  }
}

TEST_CASE("where no CPU is isolated, tasks are watched instead, unless something else was asked for") {
  const auto instead = [](const std::string& text) {
    return watching_instead(parse_config(text, "f.conf").value(), "0-2");
  };
  for (const char* const text : {"", "[probe]\ncpus = 'isolated'\nthreshold = '1us'\n"}) {
    INFO(text);
    const auto watching = instead(text);
    REQUIRE(watching);
    CHECK(watching->mode == Mode::watch);
    CHECK(watching->cpus == "0-2");
    CHECK(watching->threshold_ns == parse_config(text, "f.conf").value().threshold_ns);
  }
  CHECK(instead("[service]\nhousekeeping_cpus = '0'\n")->housekeeping_cpus == "0");
  CHECK(instead("[probe]\nmode = 'auto'\n")->cpus == "0-2");
  CHECK(instead("[probe]\nmode = 'auto'\nwatched_cpus = '1'\n")->cpus == "1");
  for (const char* const text : {"[probe]\ncpus = '1'\n", "[probe]\ncpus = 'nohz_full'\n", "[probe]\nmode = 'watch'\n",
                                 "[probe]\nmode = 'auto'\nwatched_cpus = 'none'\n", "[probe]\nquantum = '1ms'\n",
                                 "[probe]\ngrain = '1ms'\n", "[probe]\nduty_cycle = '50%'\n"}) {
    INFO(text);
    CHECK_FALSE(instead(text));
  }
}

TEST_CASE("every key is read") {
  const auto read = parse_config(
      "[probe]\ncpus = '1-3'\nthreshold = '1us'\npolicy = 'fifo'\npriority = 99\nduty_cycle = '25%'\n"
      "quantum = '1ms'\nwatched_cpus = '5'\n[trace]\nbuffer_size = '64KiB'\ndrain_interval = '1s'\ndetail = 'full'\n"
      "[service]\nsocket = '/tmp/s'\nsocket_group = 'root'\nlisten = '[::1]:9'\nhousekeeping_cpus = '0,4'\n"
      "nice = -5\nrealtime = 50\nrealtime_budget = '10%'\nmetric_names = 'tasks'\nsocket_names = 'all'\nseries_cap = "
      "64\n"
      "[log]\nlevel = 'debug'\n[categories]\n'task:a b' = 'io'\n",
      "f.conf");
  REQUIRE(read);
  const Config& config = read.value();
  CHECK(config.cpus == "1-3");
  CHECK(config.watched_cpus == "5");
  CHECK(config.threshold_ns == 1000);
  CHECK(config.policy == Policy::fifo);
  CHECK(config.priority == 99);
  CHECK(config.duty_percent == 25);
  CHECK(config.quantum_ns == 1'000'000);
  CHECK(parse_config("[probe]\nwork = 10000\n", "f.conf").value().work == 12'288);  // whole batches
  const Config phases = parse_config("[probe]\ngrain = '1us'\nfootprint = '65'\n", "f.conf").value();
  CHECK(phases.grain_ns == 1'000);
  CHECK(phases.footprint == FootprintChoice{0, 128});  // whole lines
  CHECK(parse_config("[probe]\nfootprint = 'L2'\n", "f.conf").value().footprint == FootprintChoice{2, 0});
  CHECK(config.buffer_bytes == 65536);
  CHECK(config.drain_interval_ns == 1'000'000'000);
  CHECK(config.detail == Detail::full);
  CHECK(config.socket == "/tmp/s");
  CHECK(config.socket_group == "root");
  CHECK(config.listen == "[::1]:9");
  CHECK(config.housekeeping_cpus == "0,4");
  CHECK(config.nice == -5);
  CHECK(config.realtime == 50);
  CHECK(config.realtime_budget_percent == 10);
  CHECK(config.metric_names == MetricNames::tasks);
  CHECK(config.socket_names == SocketNames::all);
  CHECK(config.series_cap == 64);
  CHECK(config.categories == std::map<std::string, Category, std::less<>>{{"task:a b", Category::io}});
  CHECK(config.log_level == LogLevel::debug);
}

TEST_CASE("where tasks are watched there is no loop to be told anything") {
  const Config config = parse_config("[probe]\nmode = 'watch'\ncpus = 'all'\n", "f.conf").value();
  CHECK(config.mode == Mode::watch);
  CHECK(config.cpus == "all");
  CHECK(parse_config("[probe]\nmode = 'probe'\n", "f.conf").value() == Config{});
  CHECK(refusal("[probe]\nmode = 'guess'\n") ==
        "f.conf:2: unknown mode 'guess': write probe (a loop on each CPU), watch (what the tasks there suffer) or "
        "auto (both)");
  CHECK(refusal("[probe]\nmode = 'watch'\nquantum = '1ms'\n") ==
        "f.conf:2: quantum: mode watch has no loop: leave it out, or choose mode probe");
  CHECK(refusal("[probe]\nduty_cycle = '50%'\nmode = 'watch'\n") ==
        "f.conf:3: duty_cycle: mode watch has no loop: leave it out, or choose mode probe");
  // The daemon keeps off the CPUs that it watches where it can, and may share them where it is told to.
  CHECK(parse_config("[probe]\nmode = 'watch'\ncpus = '0-1'\n[service]\nhousekeeping_cpus = '1'\n", "f.conf"));
}

TEST_CASE("a loop that steps aside may rest, but takes no series") {
  const Config config =
      parse_config("[probe]\nmode = 'auto'\nquiet_time = '5ms'\nduty_cycle = '50%'\n", "f.conf").value();
  CHECK(config.mode == Mode::turns);
  CHECK(config.quiet_ns == 5'000'000);
  CHECK(refusal("[probe]\nmode = 'auto'\ngrain = '1ms'\n") ==
        "f.conf:2: grain: the loop of mode auto leaves holes in it: leave it out, or choose mode probe");
  CHECK(refusal("[probe]\nmode = 'auto'\nwork = 100000\n").starts_with("f.conf:2: work: "));
  CHECK(refusal("[probe]\nquiet_time = '999us'\n") ==
        "f.conf:2: quiet_time '999us' is not between 1ms and 1h: write such as 1s");
  CHECK(refusal("[probe]\nquiet_time = '61m'\n").starts_with("f.conf:2: quiet_time '61m'"));
  // As with a loop that stays, the daemon's own threads are elsewhere.
  CHECK(refusal("[probe]\nmode = 'auto'\ncpus = '0-1'\n[service]\nhousekeeping_cpus = '1'\n")
            .starts_with("f.conf:5: housekeeping_cpus: "));
}

TEST_CASE("what a file leaves out keeps its default") {
  CHECK(parse_config("", "f.conf").value() == Config{});
  CHECK(parse_config("[probe]\n# nothing\n", "f.conf").value() == Config{});
  Config expected;
  expected.threshold_ns = 500;
  CHECK(parse_config("[probe]\nthreshold = \"500ns\"\n", "f.conf").value() == expected);
}

TEST_CASE("an unknown name is refused with its line") {
  CHECK(refusal("\n[prob]\n") ==
        "f.conf:2: unknown section 'prob': the sections are probe, trace, service, log, categories");
  CHECK(refusal("[probe]\n\ntreshold = '1us'\n") ==
        "f.conf:3: unknown key 'treshold' in [probe]: its keys are cpus, mode, quiet_time, watched_cpus, threshold, "
        "policy, "
        "priority, duty_cycle, "
        "quantum, work, grain, footprint");
  CHECK(refusal("cpus = '1'\n") ==
        "f.conf:1: outside every section: key 'cpus': the sections are probe, trace, service, log, categories");
  CHECK(refusal("\nprobe = 1\n") == "f.conf:2: 'probe' is not a section: write [probe] on a line of its own");
  CHECK(refusal("[[probe]]\n").starts_with("f.conf:1: 'probe' is not a section"));
}

TEST_CASE("a wrong type is refused with its line") {
  CHECK(refusal("[probe]\nthreshold = 200\n") == "f.conf:2: threshold has the wrong type: write text in double quotes");
  CHECK(refusal("[probe]\npriority = '1'\n") ==
        "f.conf:2: priority has the wrong type: write a whole number without quotes");
  CHECK(refusal("[probe]\npriority = 1.0\n").starts_with("f.conf:2: priority has the wrong type"));
  CHECK(refusal("[probe]\ncpus = [1, 2]\n").starts_with("f.conf:2: cpus has the wrong type"));
}

TEST_CASE("a value out of its range is refused with its line") {
  struct Case {
    const char* text;
    const char* what;
  };
  const Case cases[] = {
      {"[probe]\nthreshold = '0'", "f.conf:2: threshold '0' would make every turn of the loop a detour: write"},
      {"[probe]\nthreshold = '0ns'", "f.conf:2: threshold '0ns' would make"},
      {"[probe]\nthreshold = '200'", "f.conf:2: time '200' has no unit: write a number with ns"},
      {"[probe]\ncpus = ''", "f.conf:2: CPU list '' is empty: name CPUs"},
      {"[probe]\ncpus = 'isolate'", "f.conf:2: CPU list 'isolate'"},
      {"[probe]\npolicy = 'rr'", "f.conf:2: unknown policy 'rr': write other or fifo"},
      {"[probe]\npriority = 0", "f.conf:2: priority '0' is not between 1 and 99"},
      {"[probe]\npriority = 100", "f.conf:2: priority '100' is not between 1 and 99"},
      {"[probe]\npriority = -9223372036854775808", "f.conf:2: priority '-9223372036854775808' is not"},
      {"[probe]\nduty_cycle = '0%'", "f.conf:2: duty_cycle '0%' is not between 1% and 100%: write whole percent"},
      {"[probe]\nduty_cycle = '101%'", "f.conf:2: duty_cycle '101%' is not"},
      {"[probe]\nduty_cycle = '25'", "f.conf:2: duty_cycle '25' is not"},
      {"[probe]\nduty_cycle = '25%%'", "f.conf:2: duty_cycle '25%%' is not"},
      {"[probe]\nquantum = '99us'", "f.conf:2: quantum '99us' is not between 100us and 1s"},
      {"[probe]\nquantum = '1001ms'", "f.conf:2: quantum '1001ms' is not"},
      {"[probe]\nduty_cycle = '25%'\nquantum = '10ms'", "f.conf:3: quantum: too few fit between two rests"},
      {"[probe]\nwork = 9999", "f.conf:2: work '9999' is not between 10000 and 1000000000"},
      {"[probe]\nwork = -1", "f.conf:2: work '-1' is not"},
      {"[probe]\nquantum = '1ms'\nwork = 10000", "f.conf:2: quantum and work: the loop takes samples by time or by"},
      {"[probe]\ngrain = '999ns'", "f.conf:2: grain '999ns' is not between 1us and 1s: write such as 1ms"},
      {"[probe]\ngrain = '1001ms'", "f.conf:2: grain '1001ms' is not"},
      {"[probe]\ngrain = '1'", "f.conf:2: time '1' has no unit"},
      {"[probe]\ngrain = '1ms'\nwork = 10000", "f.conf:2: grain: phases take the place of the loop, and of its"},
      {"[probe]\nquantum = '1ms'\ngrain = '1ms'", "f.conf:3: grain: phases take the place of the loop"},
      {"[probe]\nduty_cycle = '25%'\ngrain = '10ms'", "f.conf:3: grain: too few fit between two rests"},
      {"[probe]\nfootprint = 'L3'", "f.conf:2: footprint 'L3' is not 0, L1, L2 or a size from 64 to 1GiB: write"},
      {"[probe]\nfootprint = '63'", "f.conf:2: footprint '63' is not"},
      {"[probe]\nfootprint = '2GiB'", "f.conf:2: footprint '2GiB' is not"},
      {"[probe]\nfootprint = 0", "f.conf:2: footprint has the wrong type"},
      {"[probe]\nduty_cycle = 25", "f.conf:2: duty_cycle has the wrong type"},
      {"[trace]\nbuffer_size = '32KiB'", "f.conf:2: buffer_size '32KiB' is not a power of two between"},
      {"[trace]\nbuffer_size = '2GiB'", "f.conf:2: buffer_size '2GiB' is not"},
      {"[trace]\nbuffer_size = '3MiB'", "f.conf:2: buffer_size '3MiB' is not"},
      {"[trace]\nbuffer_size = '2MB'", "f.conf:2: size '2MB' has an unknown unit"},
      {"[trace]\ndrain_interval = '999us'", "f.conf:2: drain_interval '999us' is not between 1ms and 1s"},
      {"[trace]\ndrain_interval = '1001ms'", "f.conf:2: drain_interval '1001ms' is not"},
      {"[trace]\ndetail = 'most'", "f.conf:2: unknown detail 'most': write normal or full"},
      {"[service]\nsocket = ''", "f.conf:2: the socket path is empty"},
      {"[service]\nnice = -21", "f.conf:2: nice '-21' is not between -20 and 0: write a whole number such as -10"},
      {"[service]\nnice = 1", "f.conf:2: nice '1' is not"},
      {"[service]\nrealtime = 100",
       "f.conf:2: realtime '100' is not between 0 and 99: write a whole number such as 50"},
      {"[service]\nrealtime_budget = '0%'", "f.conf:2: realtime_budget '0%' is not between 1% and 100%: write whole"},
      {"[service]\nlisten = 'localhost:1'", "f.conf:2: 'localhost:1' is not an address to listen on: write such as"},
      {"[service]\nlisten = '127.0.0.1:0'", "f.conf:2: '127.0.0.1:0' is not"},
      {"[service]\nlisten = '127.0.0.1:65536'", "f.conf:2: '127.0.0.1:65536' is not"},
      {"[service]\nlisten = '::1:80'", "f.conf:2: '::1:80' is not"},
      {"[service]\nlisten = '[]:80'", "f.conf:2: '[]:80' is not"},
      {"[service]\nmetric_names = 'all'", "f.conf:2: unknown metric_names 'all': write services or tasks"},
      {"[service]\nsocket_names = 'none'", "f.conf:2: unknown socket_names 'none': write own or all"},
      {"[service]\nseries_cap = 63", "f.conf:2: series_cap '63' is not between 64 and 1000000: write"},
      {"[categories]\n'crond' = 'io'", "f.conf:2: 'crond' is not a source: write KIND:NAME"},
      {"[categories]\n'overhead:x' = 'io'", "f.conf:2: 'overhead:x' is not a source"},
      {"[categories]\n'task:x' = 'overhead'", "f.conf:2: the category of 'task:x' is not one: write"},
      {"[categories]\n'task:x' = 1", "f.conf:2: the category of 'task:x' is not one: write"},
      {"[probe]\ncpus = '1-3'\n[service]\nhousekeeping_cpus = '0,2-4'",
       "f.conf:4: housekeeping_cpus: CPUs 2-3 are probed as well: the daemon would disturb"},
      {"[service]\nhousekeeping_cpus = '1-'", "f.conf:2: CPU list '1-'"},
      {"[log]\nlevel = 'loud'", "f.conf:2: unknown log level 'loud': write debug, info, warning or error"},
  };
  for (const Case& bad : cases) {
    INFO(bad.text);
    CHECK(refusal(bad.text).starts_with(bad.what));
  }
  CHECK(refusal("[service]\nsocket = '/" + std::string(107, 'x') + "'").find("has 108 bytes: Linux allows 107") !=
        std::string::npos);
  CHECK(parse_config("[service]\nsocket = '/" + std::string(106, 'x') + "'", "f.conf"));
}

TEST_CASE("every key that differs is named") {
  const std::map<std::string, std::string> other = {{"probe.cpus", "'7'"},
                                                    {"probe.mode", "'watch'"},
                                                    {"probe.quiet_time", "'7s'"},
                                                    {"probe.watched_cpus", "'7'"},
                                                    {"probe.threshold", "'7us'"},
                                                    {"probe.policy", "'fifo'"},
                                                    {"probe.priority", "7"},
                                                    {"probe.duty_cycle", "'7%'"},
                                                    {"probe.quantum", "'7ms'"},
                                                    {"probe.work", "70000"},
                                                    {"probe.grain", "'7ms'"},
                                                    {"probe.footprint", "'7KiB'"},
                                                    {"trace.buffer_size", "'8MiB'"},
                                                    {"trace.drain_interval", "'7ms'"},
                                                    {"trace.detail", "'full'"},
                                                    {"service.socket", "'/7'"},
                                                    {"service.socket_group", "'root'"},
                                                    {"service.listen", "''"},
                                                    {"service.housekeeping_cpus", "'6'"},
                                                    {"service.nice", "-7"},
                                                    {"service.realtime", "7"},
                                                    {"service.realtime_budget", "'7%'"},
                                                    {"service.metric_names", "'tasks'"},
                                                    {"service.socket_names", "'all'"},
                                                    {"service.series_cap", "77"},
                                                    {"log.level", "'error'"}};
  for (const Setting& setting : settings()) {
    const std::string key = std::string(setting.section) + "." + std::string(setting.key);
    INFO(key);
    REQUIRE(other.contains(key));
    const auto changed =
        parse_config(fmt::format("[{}]\n{} = {}\n", setting.section, setting.key, other.at(key)), "f.conf");
    REQUIRE(changed);
    CHECK(differences(Config(), changed.value()) == key);
  }
}

TEST_CASE("what is not TOML is refused with its line") {
  CHECK(refusal("[probe]\ncpus = 1-3\n").starts_with("f.conf:2: "));
  CHECK(refusal("[probe]\ncpus = '1'\ncpus = '2'\n").starts_with("f.conf:3: "));
  CHECK(refusal("[probe\n").starts_with("f.conf:1: "));
  CHECK(refusal("[probe]\ncpus = '1\n2'\n").starts_with("f.conf:2: "));
  CHECK(refusal("[probe]\ncpus = \"\xff\"\n").starts_with("f.conf:"));
}

TEST_CASE("a file that cannot be read is a usage error") {
  const test::TemporaryDirectory directory;
  const auto config = read_config(directory.path("none.conf"));
  REQUIRE_FALSE(config);
  CHECK(config.error().code == ExitCode::usage);
  CHECK(config.error().line() == "cannot open " + directory.path("none.conf") +
                                     ": No such file or directory: name a readable configuration file with --config");
}

}  // namespace noised
