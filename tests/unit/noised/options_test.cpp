// SPDX-License-Identifier: Apache-2.0
// The command line: flags over file over defaults, and one line for every mistake.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "noised/options.h"
#include "noised/settings.h"
#include "unit/base/temporary_directory.h"

namespace noised {

using namespace noised::daemon;

namespace {

struct CommandLine {
  [[nodiscard]] Result<Options> parse(std::vector<const char*> arguments) const {
    arguments.insert(arguments.begin(), "noised");
    return parse_options(static_cast<int>(arguments.size()), arguments.data(), default_config);
  }
  [[nodiscard]] std::string refusal(std::vector<const char*> arguments) const {
    const auto options = parse(std::move(arguments));
    REQUIRE_FALSE(options);
    CHECK(options.error().code == ExitCode::usage);
    CHECK_FALSE(options.error().remedy.empty());
    CHECK(options.error().line().find('\n') == std::string::npos);
    return options.error().line();
  }

  test::TemporaryDirectory directory;
  std::string default_config = directory.path("noised.conf");
};

}  // namespace

TEST_CASE("without flags or a file, the defaults hold") {
  const CommandLine line;
  const auto options = line.parse({});
  REQUIRE(options);
  CHECK(options.value().config == Config{});
  CHECK(options.value().config_file.empty());
  CHECK_FALSE(options.value().duration_ns);
  CHECK_FALSE(options.value().report);
  CHECK_FALSE(options.value().btf);
  CHECK_FALSE(options.value().output);
}

TEST_CASE("the default file is read when it exists, another when it is named") {
  const CommandLine line;
  line.directory.write("noised.conf", "[probe]\ncpus = '7'\n");
  line.directory.write("other.conf", "[probe]\ncpus = '8'\n");
  CHECK(line.parse({}).value().config.cpus == "7");
  CHECK(line.parse({}).value().config_file == line.default_config);
  const std::string other = line.directory.path("other.conf");
  CHECK(line.parse({"--config", other.c_str()}).value().config.cpus == "8");
  CHECK(line.refusal({"--config", "/nonexistent/f"}).starts_with("cannot open /nonexistent/f: No such file"));
  line.directory.write("noised.conf", "[probe]\ncpu = '7'\n");
  CHECK(line.refusal({}).starts_with(line.default_config + ":2: unknown key 'cpu' in [probe]"));
}

TEST_CASE("a flag overrides its key") {
  const CommandLine line;
  line.directory.write("noised.conf",
                       "[probe]\ncpus = '7'\nthreshold = '1us'\npriority = 2\n[service]\nsocket = '/a'\n");
  const auto options = line.parse({"--cpus", "1-2", "--policy=fifo", "--priority", "5", "--socket", "/b", "--log-level",
                                   "error", "--btf", "/boot/btf", "--duration", "1.5s", "--report", "json"});
  REQUIRE(options);
  const Config& config = options.value().config;
  CHECK(config.cpus == "1-2");
  CHECK(config.threshold_ns == 1000);
  CHECK(config.policy == Policy::fifo);
  CHECK(config.priority == 5);
  CHECK(config.socket == "/b");
  CHECK(config.log_level == LogLevel::error);
  CHECK(options.value().btf == "/boot/btf");
  CHECK(options.value().duration_ns == 1'500'000'000);
  CHECK(options.value().report == ReportFormat::json);
  CHECK(line.parse({"--grain", "1ms", "--footprint", "L1"}).value().config.grain_ns == 1'000'000);
  CHECK_FALSE(line.parse({"--grain", "1ms", "--work", "10000"}));
  CHECK(line.parse({"--threshold", "3us"}).value().config.threshold_ns == 3000);
  CHECK(line.parse({"--duration", "1s", "--report", "text"}).value().report == ReportFormat::text);
}

TEST_CASE("a bad flag is one line with its name and a remedy") {
  const CommandLine line;
  CHECK(line.refusal({"--cpus", ""}).starts_with("--cpus: CPU list '' is empty: name CPUs"));
  CHECK(line.refusal({"--cpus="}).starts_with("--cpus"));
  CHECK(line.refusal({"--cpus", "1-"}).starts_with("--cpus: CPU list '1-'"));
  CHECK(line.refusal({"--cpus", "-1"}).starts_with("--cpus"));
  CHECK(line.refusal({"--threshold", "0"}).starts_with("--threshold: threshold '0' would make every turn"));
  CHECK(line.refusal({"--threshold", "5"}).starts_with("--threshold: time '5' has no unit"));
  CHECK(line.refusal({"--policy", "x"}).starts_with("--policy: unknown policy 'x'"));
  CHECK(line.refusal({"--priority", "1x"}).starts_with("--priority: priority '1x' is not between 1 and 99"));
  CHECK(line.refusal({"--log-level", "x"}).starts_with("--log-level: unknown log level 'x'"));
  CHECK(line.refusal({"--duration", "0s"}).starts_with("--duration: measuring for no time"));
  CHECK(line.refusal({"--duration", "x"}).starts_with("--duration: time 'x'"));
  CHECK(line.refusal({"--duration", "1s", "--report", "xml"}).starts_with("--report: unknown format 'xml'"));
  CHECK(line.refusal({"--report", "json"}) ==
        "--report: needs --duration: say how long to measure, such as --duration 10s");
  CHECK(line.refusal({"--socket", std::string(200, 's').c_str()}).find("has 200 bytes") != std::string::npos);
  CHECK(line.refusal({"--config", "a\nb"}).starts_with("argument 'a?b' has a control character"));
  CHECK(line.refusal({"--bogus"}) == "unknown argument '--bogus': noised --help lists what can be given");
  CHECK(line.refusal({"--treshold", "1us"}) == "unknown argument '--treshold': did you mean '--threshold'?");
  CHECK(line.refusal({"stray"}).find("stray") != std::string::npos);
  CHECK(line.refusal({"--cpus"}).find("--cpus") != std::string::npos);
  CHECK(line.refusal({"--cpus", "1", "--cpus", "2"}).find("--cpus") != std::string::npos);
}

TEST_CASE("the keys that noised.conf says have flags have them, and no others") {
  const CommandLine line;
  const std::string words = *line.parse({"--words"}).value().output;
  for (const Setting& setting : settings()) {
    std::string flag = "--" + std::string(setting.key);
    std::ranges::replace(flag, '_', '-');
    if (setting.section == "service" && setting.key == "listen") flag = "--web.listen-address";
    if (setting.section == "log" && setting.key == "level") flag = "--log-level";
    INFO(flag);
    const bool said =
        setting.section == "probe" || setting.key == "socket" || setting.key == "listen" || setting.key == "level";
    CHECK((words.find(flag + '\n') != std::string::npos) == said);
  }
}

TEST_CASE("help and version are output, and need no configuration") {
  const CommandLine line;
  line.directory.write("noised.conf", "broken");
  const auto help = line.parse({"--help"});
  REQUIRE(help);
  for (const char* part : {"--config", "--check-config", "--cpus", "--threshold", "--policy", "--priority", "--socket",
                           "--btf", "--duration", "--report", "--log-level", "--version", "Example",
                           "noised --cpus 1 --duration 10s --report text"}) {
    INFO(part);
    CHECK(help.value().output->find(part) != std::string::npos);
  }
  CHECK(line.parse({"--version"}).value().output == "noised " NOISED_VERSION "\n");
}

TEST_CASE("checking the configuration says which file is good, or what is not") {
  const CommandLine line;
  CHECK(line.parse({"--check-config"}).value().output == "no " + line.default_config + ", built-in defaults: good\n");
  line.directory.write("noised.conf", "[probe]\ncpus = '4000'\n");
  CHECK(line.parse({"--check-config"}).value().output == line.default_config + ": good\n");
  line.directory.write("noised.conf", "[probe]\ncpus = 4\n");
  CHECK(line.refusal({"--check-config"}).starts_with(line.default_config + ":2: cpus has the wrong type"));
  line.directory.write("noised.conf", "");
  CHECK(line.refusal({"--check-config", "--threshold", "0"}).starts_with("--threshold"));
  line.directory.write("noised.conf", "[service]\nsocket_group = 'no such group'\n");
  CHECK(line.refusal({"--check-config"}).starts_with("socket_group: there is no group 'no such group': create it"));
}

}  // namespace noised
