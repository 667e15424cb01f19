// SPDX-License-Identifier: Apache-2.0
// The client's command line: what is understood, and the one-line errors for what is not.
#include <cctype>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/commands/baseline.h"
#include "noisectl/commands/commands.h"
#include "noisectl/commands/detours.h"
#include "noisectl/commands/export.h"
#include "noisectl/commands/histogram.h"
#include "noisectl/commands/project.h"
#include "noisectl/commands/record.h"
#include "noisectl/commands/replay_noise.h"
#include "noisectl/commands/report.h"
#include "noisectl/top/screen.h"
#include "noisectl/watch/watch_printer.h"

using namespace noised;
using namespace noised::analysis;
using namespace noised::probe;
using client::BaselineOptions;
using client::DetoursOptions;
using client::ExportOptions;
using client::HistogramOptions;
using client::ProjectOptions;
using client::RecordOptions;
using client::ReplayNoiseOptions;
using client::ReportOptions;
using client::TaskWatchOptions;
using client::TopOptions;

namespace {

Result<client::CommandLine> parse(const std::vector<const char*>& arguments) {
  std::vector<const char*> argv{"noisectl"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return client::parse_command_line(static_cast<int>(argv.size()), argv.data());
}

std::unique_ptr<client::Command> command(const std::vector<const char*>& arguments) {
  Result<client::CommandLine> parsed = parse(arguments);
  REQUIRE(parsed.ok());
  REQUIRE(std::holds_alternative<std::unique_ptr<client::Command>>(parsed.value()));
  return std::get<std::unique_ptr<client::Command>>(std::move(parsed).value());
}

std::string name(const std::vector<const char*>& arguments) { return command(arguments)->name(); }

template <typename Options>
Options options(const std::vector<const char*>& arguments) {
  const auto parsed = command(arguments);
  const auto* const of = dynamic_cast<const client::CommandOf<Options>*>(parsed.get());
  REQUIRE(of != nullptr);
  return of->options;
}

}  // namespace

TEST_CASE("each command is known by its name", "[noisectl]") {
  CHECK(name({"top"}) == "top");
  CHECK(name({"report"}) == "report");
  CHECK(name({"detours"}) == "detours");
  CHECK(name({"histogram"}) == "histogram");
  CHECK(name({"status"}) == "status");
}

TEST_CASE("without flags the defaults hold", "[noisectl]") {
  const DetoursOptions defaults = options<DetoursOptions>({"detours"});
  CHECK(defaults.socket == "/run/noised/noised.sock");
  CHECK_FALSE(defaults.json);
  CHECK_FALSE(defaults.follow);
  CHECK(defaults.min_ns == 0);
  CHECK_FALSE(defaults.count.has_value());
  CHECK_FALSE(options<HistogramOptions>({"histogram"}).cpu.has_value());
  CHECK_FALSE(options<TopOptions>({"top"}).duration_ns.has_value());
  CHECK(options<TopOptions>({"top"}).interval_ns == 1'000'000'000);
  CHECK(options<TaskWatchOptions>({"watch"}).interval_ns == 1'000'000'000);
}

TEST_CASE("flags set what they say", "[noisectl]") {
  const DetoursOptions detours = options<DetoursOptions>(
      {"--socket", "/tmp/s", "detours", "--follow", "--min", "1.5us", "--json", "--count", "7"});
  CHECK(detours.socket == "/tmp/s");
  CHECK(detours.follow);
  CHECK(detours.json);
  CHECK(detours.min_ns == 1500);
  CHECK(detours.count == 7);
  CHECK(options<ReportOptions>({"report", "--socket", "/tmp/s"}).socket == "/tmp/s");
  CHECK(options<HistogramOptions>({"histogram", "--cpu", "3"}).cpu == 3);
  CHECK(options<TopOptions>({"--replay", "run", "top"}).speed == 1);
  CHECK(options<TopOptions>({"--replay", "run", "top", "--speed", "2.5"}).speed == 2.5);
  const TopOptions top = options<TopOptions>({"top", "--duration", "2s", "--interval", "250ms"});
  CHECK(top.duration_ns == 2'000'000'000);
  CHECK(top.interval_ns == 250'000'000);
}

TEST_CASE("commands of recordings take their flags", "[noisectl]") {
  const HistogramOptions range = options<HistogramOptions>({"--replay", "r", "histogram", "--range", "100us-110us"});
  REQUIRE(range.range);
  CHECK(range.range->low_ns == 100'000);
  CHECK(range.range->high_ns == 110'000);
  const ExportOptions exported = options<ExportOptions>({"export", "--format", "ctf", "-o", "out", "in"});
  CHECK(exported.format == client::ExportFormat::ctf);
  CHECK(exported.output == "out");
  CHECK(exported.input == "in");
  const ReplayNoiseOptions replayed = options<ReplayNoiseOptions>(
      {"replay-noise", "in", "--cpus", "1-2", "--source", "task:a", "--source", "irq:b", "--duration", "2s"});
  CHECK(replayed.recording == "in");
  CHECK(replayed.cpus == std::vector<unsigned>{1, 2});
  CHECK(replayed.sources == std::vector<std::string>{"task:a", "irq:b"});
  CHECK(replayed.duration_ns == 2'000'000'000);
  CHECK(replayed.priority == 1);
  CHECK(options<DetoursOptions>({"detours"}).clock == views::ShownClock::boot);
  CHECK(options<DetoursOptions>({"detours", "--clock", "wall"}).clock == views::ShownClock::wall);
  CHECK(options<ReportOptions>({"report", "--last"}).last);
  CHECK(options<ReportOptions>({"report", "--last", "--json"}).last);
  CHECK_FALSE(options<ReportOptions>({"report"}).last);
  CHECK_FALSE(options<ReportOptions>({"report", "--last", "10s"}).last);
  CHECK(options<ReportOptions>({"report", "--last", "10s"}).last_ns == 10'000'000'000);
  CHECK(options<ReportOptions>({"report", "--by", "events", "--csv"}).by == client::ReportBy::events);
  CHECK(options<ReportOptions>({"report", "--html", "page"}).html == "page");
  CHECK(options<ReportOptions>({"report", "--html", "page"}).projected_grain_ns == 1'000'000);
  CHECK(options<ReportOptions>({"report", "--html", "page"}).nodes.size() == 7);
  CHECK(options<ReportOptions>({"report", "--html", "page", "--grain", "20us"}).projected_grain_ns == 20'000);
  CHECK(options<ReportOptions>({"report", "--html", "page", "--grain", "20us"}).phases.grain_ns == 0);
  CHECK(name({"--replay", "r", "ftq", "--compare", "--json", "--cpu", "3"}) == "ftq");
  CHECK(name({"fwq"}) == "fwq");
  CHECK(name({"selfish"}) == "selfish");
  CHECK(name({"latencytest"}) == "latencytest");
  CHECK(name({"phases", "--json"}) == "phases");
  CHECK(name({"density", "--duration", "1s"}) == "density");
  CHECK(options<RecordOptions>({"record", "-o", "f"}).phases.grain_ns == 0);
  const client::PhaseChoice phases =
      options<RecordOptions>({"record", "-o", "f", "--grain", "1ms", "--footprint", "L1", "--policy", "fifo"}).phases;
  CHECK(phases.grain_ns == 1'000'000);
  CHECK(phases.footprint == FootprintChoice{1, 0});
  CHECK(phases.policy == "fifo");
  CHECK(name({"advise", "--json"}) == "advise");
  const BaselineOptions saved = options<BaselineOptions>({"baseline", "save", "file", "--duration", "20s"});
  CHECK(saved.save);
  CHECK(saved.file == "file");
  CHECK(saved.duration_ns == 20'000'000'000);
  const BaselineOptions compared = options<BaselineOptions>({"--replay", "r", "baseline", "diff", "file", "--json"});
  CHECK(compared.file == "file");
  CHECK_FALSE(compared.save);
  CHECK(compared.replay == "r");
  CHECK(compared.json);
}

TEST_CASE("a projection takes what is a delay, as parts of the grain", "[noisectl]") {
  const auto delays = [](const char* list) {
    return options<ProjectOptions>({"project", "--grain", "1ms", "--delay", list}).delays;
  };
  CHECK(options<ProjectOptions>({"project", "--grain", "1ms"}).delays == std::vector<double>{0.01, 0.1, 0.5});
  CHECK(delays("0%") == std::vector<double>{0});
  CHECK(delays("50%,0.25%,50%") == std::vector<double>{0.0025, 0.5});
  CHECK(delays("200%") == std::vector<double>{2});
  for (const char* const wrong : {"", "1", "%", "1%%", "-1%", "x%", "1%,", ",1%", "nan%", "inf%", "200000%", "1 %",
                                  "1%,2%,3%,4%,5%,6%,7%,8%,9%,10%,11%,12%,13%,14%,15%,16%,17%"}) {
    INFO(wrong);
    const auto parsed = parse({"project", "--grain", "1ms", "--delay", wrong});
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == ExitCode::usage);
    CHECK(parsed.error().line().find("1%,10%,50%") != std::string::npos);
  }
}

TEST_CASE("a projection takes a grain and sizes of a job", "[noisectl]") {
  const auto nodes = [](const char* list) {
    return options<ProjectOptions>({"project", "--grain", "1ms", "--nodes", list}).nodes;
  };
  const ProjectOptions project = options<ProjectOptions>({"--replay", "r", "project", "--grain", "250us", "--json"});
  CHECK(project.projected_grain_ns == 250'000);
  CHECK(project.nodes == std::vector<std::uint64_t>{1, 10, 100, 1'000, 10'000, 100'000, 1'000'000});
  CHECK(nodes("7") == std::vector<std::uint64_t>{7});
  CHECK(nodes("100,1,10,10") == std::vector<std::uint64_t>{1, 10, 100});
  CHECK(nodes("1,2,...,20,1000000000") == std::vector<std::uint64_t>{1, 2, 4, 8, 16, 20, 1'000'000'000});
  CHECK(nodes("4,6,...,14") == std::vector<std::uint64_t>{4, 6, 9, 14});
  CHECK(nodes("1,10,...,10") == std::vector<std::uint64_t>{1, 10});
  for (const char* const wrong :
       {"0", "-1", "x", "1.5", "1,,2", "1,", ",1", "1000000001", "1,...,100", "...,100", "1,2,...", "10,1,...,100",
        "5,5,...,100", "1000000,1000001,...,1000000000", "1 2", "1e3"}) {
    INFO(wrong);
    const Result<client::CommandLine> parsed = parse({"project", "--grain", "1ms", "--nodes", wrong});
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().what.find("--nodes") != std::string::npos);
  }
}

TEST_CASE("a watch takes one selection, or a command with its own options", "[noisectl]") {
  CHECK(name({"watch"}) == "watch");
  CHECK(options<TaskWatchOptions>({"watch"}).run.empty());
  CHECK(options<TaskWatchOptions>({"watch", "--pid", "12,13", "--pid", "14"}).pids ==
        std::vector<std::uint32_t>{12, 13, 14});
  CHECK(options<TaskWatchOptions>({"watch", "--comm", "lmp"}).comm == "lmp");
  CHECK(options<TaskWatchOptions>({"watch", "--phases", "--", "ls"}).phases);
  CHECK(options<TaskWatchOptions>({"watch", "--pid", "1", "--marks", "m"}).phases);
  CHECK(options<TaskWatchOptions>({"watch", "--pid", "1", "--marks", "m"}).marks == "m");
  CHECK_FALSE(options<TaskWatchOptions>({"watch", "--", "ls", "--phases"}).phases);
  const TaskWatchOptions group = options<TaskWatchOptions>({"watch", "--cgroup", "/slurm/job_7", "--follow", "--json",
                                                            "--duration", "2s", "--interval", "250ms", "-o", "file"});
  CHECK(group.cgroup == "/slurm/job_7");
  CHECK(group.follow);
  CHECK(group.json);
  CHECK(group.duration_ns == 2'000'000'000);
  CHECK(group.interval_ns == 250'000'000);
  CHECK(group.output == "file");
  const TaskWatchOptions run =
      options<TaskWatchOptions>({"--socket", "/tmp/s", "watch", "--json", "--", "top", "--pid", "1", "--", "-x"});
  CHECK(run.socket == "/tmp/s");
  CHECK(run.json);
  CHECK(run.pids.empty());
  CHECK(run.run == std::vector<std::string>{"top", "--pid", "1", "--", "-x"});
  CHECK(options<ExportOptions>({"export", "--format", "csv", "-o", "out", "--", "-in"}).input == "-in");
  for (const auto& two : {std::vector<const char*>{"--pid", "1", "--comm", "a"},
                          {"--comm", "a", "--cgroup", "/"},
                          {"--cgroup", "/", "--", "ls"}}) {
    std::vector<const char*> arguments{"watch"};
    arguments.insert(arguments.end(), two.begin(), two.end());
    const Result<client::CommandLine> parsed = parse(arguments);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == ExitCode::usage);
    CHECK(parsed.error().what.find(" are two selections") != std::string::npos);
  }
}

TEST_CASE("help and version are answers, not errors", "[noisectl]") {
  const auto text = [](Result<client::CommandLine> parsed) {
    REQUIRE(parsed.ok());
    return std::get<client::Answer>(parsed.value()).text;
  };
  CHECK(text(parse({"--version"})) == "noisectl " NOISED_VERSION "\n");
  CHECK(text(parse({"--help"})).find("histogram") != std::string::npos);
  CHECK(text(parse({"detours", "--help"})).find("--follow") != std::string::npos);
}

TEST_CASE("what is not understood is a usage error of one line that names it", "[noisectl]") {
  struct Case {
    std::vector<const char*> arguments;
    const char* named;
  };
  const Case cases[] = {{{}, "subcommand is required"},
                        {{"frob"}, "'frob'"},
                        {{"report", "--follow"}, "'--follow'"},
                        {{"top", "--json"}, "'--json'"},
                        {{"detours", "--count", "0"}, "--count"},
                        {{"detours", "--count", "-1"}, "--count"},
                        {{"detours", "--count", "many"}, "--count"},
                        {{"detours", "--min", "3parsec"}, "--min: "},
                        {{"project"}, "--grain"},
                        {{"project", "--grain", "999ns"}, "--grain: grain '999ns'"},
                        {{"project", "--grain", "1001ms"}, "--grain: grain '1001ms'"},
                        {{"project", "--grain", "soon"}, "--grain: "},
                        {{"histogram", "--cpu", "-1"}, "--cpu"},
                        {{"histogram", "--cpu", "1.5"}, "--cpu"},
                        {{"histogram", "--cpu", "99999999999"}, "--cpu"},
                        {{"top", "--interval", "1ms"}, "--interval 1ms"},
                        {{"top", "--interval", "0s"}, "--interval 0s"},
                        {{"top", "--speed", "2"}, "--speed"},
                        {{"--replay", "run", "top", "--speed", "0"}, "--speed"},
                        {{"--replay", "run", "top", "--speed", "-1"}, "--speed"},
                        {{"--replay", "run", "top", "--speed", "nan"}, "--speed"},
                        {{"--replay", "run", "top", "--speed", "fast"}, "--speed"},
                        {{"top", "--duration", "soon"}, "--duration: "},
                        {{"histogram", "--range", "100us"}, "--range 100us"},
                        {{"histogram", "--range", "2us-1us"}, "--range 2us-1us"},
                        {{"record", "-o", "f", "--grain", "999ns"}, "--grain: "},
                        {{"record", "-o", "f", "--grain", "0"}, "--grain: "},
                        {{"record", "-o", "f", "--grain", "1ms", "--footprint", "L3"}, "--footprint: "},
                        {{"record", "-o", "f", "--footprint", "L1"}, "--footprint"},
                        {{"record", "-o", "f", "--policy", "fifo"}, "--policy"},
                        {{"record", "-o", "f", "--grain", "1ms", "--policy", "rr"}, "--policy"},
                        {{"baseline"}, "subcommand"},
                        {{"baseline", "save"}, "FILE"},
                        {{"baseline", "diff", ""}, "FILE"},
                        {{"--replay", "r", "baseline", "diff", "f", "--duration", "1s"}, "--duration"},
                        {{"export", "-o", "out"}, "--format"},
                        {{"export", "--format", "pdf", "-o", "out"}, "--format"},
                        {{"export", "--format", "csv"}, "--output"},
                        {{"report", "--csv", "--json"}, "--csv"},
                        {{"report", "--by", "age"}, "--by"},
                        {{"report", "--last", "61s"}, "--last"},
                        {{"detours", "--clock", "utc"}, "--clock"},
                        {{"report", "--last", "0s"}, "--last"},
                        {{"report", "--last", "ten"}, "--last"},
                        {{"report", "--last", "10s", "--html", "page"}, "--last"},
                        {{"histogram", "--range", ""}, "--range"},
                        {{"report", "--duration", "1s"}, "--html"},
                        {{"report", "--grain", "1ms"}, "--html"},
                        {{"report", "--html", "p", "--grain", "1ns"}, "--grain"},
                        {{"project", "--grain", ""}, "--grain"},
                        {{"--replay", "r", "density", "--duration", "1s"}, "--duration"},
                        {{"--replay", "r", "record", "-o", "o"}, "--replay"},
                        {{"--replay", "r", "watch", "--cgroup", "/job"}, "--cgroup"},
                        {{"--replay", "r", "watch", "--follow"}, "--follow"},
                        {{"--replay", "r", "watch", "--duration", "1s"}, "--duration"},
                        {{"--replay", "r", "watch", "--marks", "m"}, "--phases"},
                        {{"--replay", "r", "watch", "--", "ls"}, "--replay"},
                        {{"watch", "--pid", "0"}, "--pid"},
                        {{"watch", "--pid", "-1"}, "--pid"},
                        {{"watch", "--pid", "1,x"}, "--pid"},
                        {{"watch", "--pid", "1", "2"}, "'2'"},
                        {{"watch", "--comm", ""}, "--comm"},
                        {{"watch", "--comm", "0123456789abcdef"}, "--comm"},
                        {{"watch", "--cgroup", ""}, "--cgroup"},
                        {{"watch", "--interval", "1ms"}, "--interval 1ms"},
                        {{"watch", "--phases"}, "--phases"},
                        {{"watch", "--phases", "--pid", "1"}, "--phases"},
                        {{"watch", "--marks", "", "--pid", "1"}, "--marks"},
                        {{"watch", "ls"}, "'ls'"},
                        {{"watch", "--"}, "no command"},
                        {{"watch", "--", ""}, "no command"},
                        {{"watch", "--frob", "--", "ls"}, "'--frob'"},
                        {{"--socket", "watch", "report", "--", "ls"}, "only watch"},
                        {{"--socket", "", "report"}, "--socket"},
                        {{"report", "--socket"}, "--socket"}};
  for (const Case& each : cases) {
    const Result<client::CommandLine> parsed = parse(each.arguments);
    INFO(each.named);
    REQUIRE_FALSE(parsed.ok());
    INFO(parsed.error().line());
    CHECK(parsed.error().code == ExitCode::usage);
    CHECK(parsed.error().what.find(each.named) != std::string::npos);
    CHECK(parsed.error().line().find('\n') == std::string::npos);
    CHECK_FALSE(parsed.error().remedy.empty());
  }
}

TEST_CASE("a socket path must fit into a socket address", "[noisectl]") {
  const std::string fits(107, 'x');
  CHECK(options<ReportOptions>({"--socket", fits.c_str(), "report"}).socket == fits);
  const std::string too_long(108, 'x');
  CHECK(parse({"--socket", too_long.c_str(), "report"}).error().code == ExitCode::usage);
}

TEST_CASE("a shell that completes is told every command and every option", "[noisectl]") {
  const auto lines = [](const std::vector<const char*>& arguments) {
    auto parsed = parse(arguments);
    REQUIRE(parsed.ok());
    std::istringstream text(std::get<client::Answer>(parsed.value()).text);
    std::set<std::string> words;
    for (std::string line; std::getline(text, line);) words.insert(line);
    return words;
  };
  const std::set<std::string> first = lines({"--words"});
  CHECK(first.contains("--version"));
  CHECK(first.contains("baseline"));
  for (const std::string& word : first) {
    if (word.starts_with('-')) continue;
    INFO(word);
    const std::set<std::string> words = lines({"--words", word.c_str()});
    CHECK(words.contains("--socket"));
    // What its help names, it completes.
    auto parsed = parse({word.c_str(), "--help"});
    REQUIRE(parsed.ok());
    const std::string help = std::get<client::Answer>(parsed.value()).text;
    std::istringstream parts(help);
    for (std::string part; parts >> part;) {
      const bool is_option = part.starts_with("--") && part.size() > 2 && std::isalpha(part[2]) != 0;
      if (!is_option) continue;
      INFO(part);
      CHECK(words.contains(part.substr(0, part.find_first_not_of("-abcdefghijklmnopqrstuvwxyz"))));
    }
  }
  CHECK(lines({"--words", "baseline"}).contains("save"));
  CHECK(lines({"--words", "baseline", "diff"}).contains("--json"));
  CHECK(lines({"--words", "nothing", "watch", "-"}).contains("--cgroup"));
}

TEST_CASE("what is written a little wrong is answered with what was meant", "[noisectl]") {
  const auto refusal = [](const std::vector<const char*>& arguments) {
    const auto parsed = parse(arguments);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == ExitCode::usage);
    return parsed.error().line();
  };
  CHECK(refusal({"repot"}) == "unknown argument 'repot': did you mean 'report'?");
  CHECK(refusal({"report", "--jsn"}) == "unknown argument '--jsn': did you mean '--json'?");
  CHECK(refusal({"baseline", "dif"}).find("did you mean 'diff'?") != std::string::npos);
  CHECK(refusal({"everything"}) == "unknown argument 'everything': see 'noisectl --help'");
}
