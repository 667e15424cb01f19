// SPDX-License-Identifier: Apache-2.0
// The command line, by CLI11, with its exceptions turned into values.
#include "noisectl/options.h"

#include <sys/un.h>

#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>

#include "base/parse.h"
#include "noisectl/nodes.h"
#include "probe/grain.h"

namespace noised::client {
namespace {

// Faster updates cost the daemon more than they show: a screen is read a few times a second.
constexpr std::uint64_t kShortestInterval = 100'000'000;

// Of a page, on which a projection is one section of many. noisectl project wants to be told.
constexpr const char* kUsualGrain = "1ms";

// Times as the user wrote them; read after the command line is known to be good.
struct Times {
  std::string duration;
  std::string interval;
  std::string min;
  std::string size;
  std::string range;
  std::string grain;
  std::string projected_grain;
  std::string footprint;
  std::string nodes = "1,10,...,1000000";
};

/// A whole number from 0 or 1 up. CLI11 wraps -1 around to the largest number of the type: it is above every limit.
template <typename Number>
CLI::Validator number_from(Number least) {
  constexpr Number kMost = std::numeric_limits<Number>::max() / 2;
  return CLI::Range(least, kMost).description("");  // the help does not repeat the range of a type
}

CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& path) { return std::string(path.empty() ? "it is empty" : ""); }, "");
}

/// What the daemon is to run while it is recorded.
void describe_phases(CLI::App* sub, Options& options, Times& times) {
  CLI::Option* grain =
      sub->add_option("--grain", times.grain, "have the daemon run phases of fixed work this long meanwhile, 1us to 1s")
          ->check(not_empty())
          ->type_name("TIME");
  sub->add_option("--footprint", times.footprint, "memory that they walk through: 0, L1, L2 or a size (0)")
      ->check(not_empty())
      ->needs(grain)
      ->type_name("SIZE");
  sub->add_option("--policy", options.policy, "their scheduling policy: other or fifo (the daemon's own)")
      ->check(CLI::IsMember({"other", "fifo"}).description(""))
      ->needs(grain)
      ->type_name("POLICY");
}

void describe_report(CLI::App* report, Options& options, Times& times) {
  static const std::map<std::string, ReportBy> kBy{{"ledger", ReportBy::ledger},
                                                   {"sources", ReportBy::sources},
                                                   {"combinations", ReportBy::combinations},
                                                   {"events", ReportBy::events}};
  report->add_flag("--json", options.json, "print JSON");
  report->add_flag("--csv", options.csv, "print comma-separated values, of the sources unless --by says other")
      ->excludes("--json");
  report->add_option("--html", options.html, "create a page with tables and charts")
      ->check(not_empty())
      ->excludes("--json")
      ->excludes("--csv")
      ->type_name("FILE");
  report
      ->add_option("--by", options.by,
                   "one table: sources, combinations, events; ledger: everything, with --csv by CPU")
      ->excludes("--json")
      ->excludes("--html")
      ->transform(CLI::CheckedTransformer(kBy).description(""))
      ->type_name("WHAT");
  report->add_option("--duration", times.duration, "--html of a daemon: measure so long (10s)")
      ->needs("--html")
      ->type_name("TIME");
  report->add_option("--grain", times.projected_grain, "--html: time that a job computes between two barriers (1ms)")
      ->needs("--html")
      ->check(not_empty())
      ->type_name("TIME");
}

void describe_export(CLI::App* sub, Options& options) {
  static const std::map<std::string, ExportFormat> kFormats{{"perfetto", ExportFormat::perfetto},
                                                            {"paraver", ExportFormat::paraver},
                                                            {"ctf", ExportFormat::ctf},
                                                            {"csv", ExportFormat::csv}};
  sub->add_option("--format", options.format, "perfetto, paraver, ctf or csv")
      ->required()
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->type_name("FORMAT");
  sub->add_option("-o,--output", options.output, "what to create")->required()->check(not_empty())->type_name("OUT");
  sub->add_option("FILE", options.input, "the recording")->check(not_empty());
}

void describe_baseline(CLI::App* baseline, Options& options, Times& times) {
  baseline->require_subcommand(1);
  CLI::App* save = baseline->add_subcommand("save", "keep what the machine is like in a file");
  save->callback([&options] { options.command = Command::baseline_save; });
  save->add_option("FILE", options.output, "the file to create")->required()->check(not_empty());
  save->add_option("--duration", times.duration, "of a daemon: measure so long (30s)")->type_name("TIME");
  CLI::App* diff = baseline->add_subcommand("diff", "what is not as it was, and ends with 3 if anything is");
  diff->callback([&options] { options.command = Command::baseline_diff; });
  diff->add_option("FILE", options.input, "what was saved")->required()->check(not_empty());
  diff->add_option("--duration", times.duration, "of a daemon: measure so long (as long as what was saved)")
      ->type_name("TIME");
  diff->add_flag("--json", options.json, "print JSON");
}

void describe_watch(CLI::App* watch, Options& options, Times& times) {
  watch->add_option("--pid", options.pids, "these processes, with all their threads")
      ->check(number_from<std::uint32_t>(1))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("P,..");
  watch->add_option("--cgroup", options.cgroup, "the tasks of this control group, such as a job's")
      ->check(not_empty())
      ->type_name("PATH");
  watch->add_option("--comm", options.comm, "the tasks of this name")->check(not_empty())->type_name("NAME");
  watch->add_option("--duration", times.duration, "end after this time")->type_name("TIME");
  watch->add_option("--interval", times.interval, "time between two reports of the daemon (1s)")->type_name("TIME");
  watch->add_flag("--follow", options.follow, "print each of them, in a line, as it comes");
  watch->add_flag("--phases", options.phases, "what was taken from each phase that the command marks (noised/mark.h)");
  watch->add_option("--marks", options.marks, "the same of tasks that run with NOISED_MARKS=DIR")
      ->check(not_empty())
      ->type_name("DIR");
  watch->add_flag("--json", options.json, "print JSON");
  watch->add_option("-o,--output", options.output, "create this file, in place of printing")
      ->check(not_empty())
      ->type_name("FILE");
  watch->footer("With -- COMMAND... behind the options, runs that command and watches it until it has ended.");
}

void describe(CLI::App& app, Options& options, Times& times) {
  app.set_version_flag("--version", "noisectl " NOISED_VERSION);
  app.add_option("--socket", options.socket, "the daemon's socket")->capture_default_str();
  app.add_option("--replay", options.replay, "show a recording in place of what a daemon measures")
      ->check(not_empty())
      ->type_name("FILE");
  app.require_subcommand(1);
  app.fallthrough();
  const auto command = [&](const char* name, const char* help, Command which) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->callback([&options, which] { options.command = which; });
    return sub;
  };
  const auto json = [&](CLI::App* sub) { sub->add_flag("--json", options.json, "print JSON"); };

  CLI::App* top = command("top", "live view of who takes the CPUs away", Command::top);
  top->add_option("--duration", times.duration, "end after this time")->type_name("TIME");
  top->add_option("--interval", times.interval, "time between two updates (1s)")->type_name("TIME");
  top->add_option("--speed", options.speed, "of a recording: so many times as fast as it happened (1)")
      ->needs(app.get_option("--replay"))
      ->type_name("N");

  describe_report(command("report", "everything since the daemon started", Command::report), options, times);

  CLI::App* detours = command("detours", "the latest detours, one a line", Command::detours);
  detours->add_flag("--follow", options.follow, "go on as they happen");
  detours->add_option("--min", times.min, "only those at least this long")->type_name("TIME");
  detours->add_option("--count", options.count, "end after so many")
      ->check(number_from<std::uint64_t>(1))
      ->type_name("N");
  json(detours);

  CLI::App* histogram = command("histogram", "how long detours and their sources last", Command::histogram);
  histogram->add_option("--range", times.range, "who makes up this range, such as 100us-110us")
      ->check(not_empty())
      ->type_name("TIME-TIME");
  histogram->add_option("--cpu", options.cpu, "only this CPU")->check(number_from<unsigned>(0))->type_name("N");
  json(histogram);

  json(command("status", "the daemon's own state, and what it cannot see", Command::status));

  CLI::App* record = command("record", "keep everything that is measured from now on in a file", Command::record);
  record->add_option("-o,--output", options.output, "the file to create")
      ->required()
      ->check(not_empty())
      ->type_name("FILE");
  record->add_option("--duration", times.duration, "end after this time")->type_name("TIME");
  record->add_option("--size", times.size, "end when the file is as large, such as 100MiB")->type_name("SIZE");
  describe_phases(record, options, times);

  const auto measured = [&](CLI::App* sub) {
    sub->add_option("--duration", times.duration, "of a daemon: measure so long (10s)")->type_name("TIME");
    return sub;
  };
  describe_export(measured(command("export", "a recording for other tools", Command::export_trace)), options);
  json(measured(command("density", "how long detours are, as the loop saw them and as the kernel's events say",
                        Command::density)));
  CLI::App* project = measured(command("project", "what this noise costs a job on many nodes", Command::project));
  project->add_option("--grain", times.projected_grain, "time that the job computes between two barriers")
      ->required()
      ->type_name("TIME");
  project->add_option("--nodes", times.nodes, "sizes of the job, such as 1,10,...,1000000")
      ->capture_default_str()
      ->type_name("LIST");
  json(project);
  json(measured(command("advise",
                        "what to set against the noise, what it would give, and what is set already; changes "
                        "nothing",
                        Command::advise)));
  describe_baseline(app.add_subcommand("baseline", "what has changed on this machine"), options, times);
  const auto series = [&](const char* name, const char* help, Command which) {
    CLI::App* sub = measured(command(name, help, which));
    sub->add_option("--cpu", options.cpu, "of this CPU")->check(number_from<unsigned>(0))->type_name("N");
    return sub;
  };
  CLI::App* ftq = series("ftq", "work done in each quantum of time, as FTQ prints it", Command::ftq);
  CLI::Option* compare = ftq->add_flag("--compare", options.compare, "what it says against the ledger, instead");
  ftq->add_flag("--json", options.json, "print JSON")->needs(compare);
  series("fwq", "time taken by each portion of work, as FWQ prints it", Command::fwq);
  series("selfish", "each detour, as selfish (netgauge) prints it", Command::selfish);
  series("latencytest", "interruptions over 1us, and what the scheduler did", Command::latencytest);

  CLI::App* phases = measured(
      command("phases", "how long phases of fixed work take, and what each source costs them", Command::phases));
  json(phases);
  describe_phases(phases, options, times);
  phases->add_option("--compare", options.compare_with, "another recording, of another policy, say: shown beside it")
      ->check(not_empty())
      ->excludes("--json")
      ->type_name("FILE");

  describe_watch(command("watch", "what the kernel and other tasks take from an application", Command::watch), options,
                 times);

  json(command("reload", "the daemon reads its configuration again (root only)", Command::reload));

  CLI::App* selftest = command("selftest", "makes known noise on a probed CPU, and checks what the daemon shows of it",
                               Command::selftest);
  selftest->add_option("--only", options.only, "only these kinds of noise")->delimiter(',')->type_name("MODE,..");
  selftest->add_option("--duration", times.duration, "spend this time (30s)")->type_name("TIME");
  selftest->add_option("--cpu", options.cpu, "disturb this CPU only")->check(number_from<unsigned>(0))->type_name("N");
  json(selftest);
}

Status read_time(const char* flag, const std::string& text, std::uint64_t& out) {
  if (text.empty()) return success();
  const Result<std::uint64_t> time = parse_time(text);
  if (!time) return usage_error(std::string(flag) + ": " + time.error().what, time.error().remedy);
  out = time.value();
  return success();
}

Status read_range(const std::string& text, Options& options) {
  if (text.empty()) return success();
  const std::size_t dash = text.find('-');
  const auto low = parse_time(text.substr(0, dash));
  const auto high = parse_time(dash == std::string::npos ? "" : text.substr(dash + 1));
  if (!low || !high || low.value() > high.value())
    return usage_error("--range " + text + " is no range of durations", "give such as 100us-110us");
  options.range = DurationRange{low.value(), high.value()};
  return success();
}

Status read_grain(const std::string& text, std::uint64_t& out) {
  const auto grain = parse_grain(text);
  if (!grain) return usage_error("--grain: " + grain.error().what, grain.error().remedy);
  if (grain.value() == 0) return usage_error("--grain: phases of no time do no work", "write such as 1ms");
  out = grain.value();
  return success();
}

Status read_phases(const Times& times, Options& options) {
  if (times.grain.empty()) return success();
  if (Status read = read_grain(times.grain, options.grain_ns); !read) return read;
  if (times.footprint.empty()) return success();
  const auto footprint = parse_footprint(times.footprint);
  if (!footprint) return usage_error("--footprint: " + footprint.error().what, footprint.error().remedy);
  options.footprint = footprint.value();
  return success();
}

Status read_times(const Times& times, Options& options) {
  if (Status read = read_phases(times, options); !read) return read;
  if (Status read = read_time("--min", times.min, options.min_ns); !read) return read;
  if (Status read = read_time("--interval", times.interval, options.interval_ns); !read) return read;
  if (options.interval_ns < kShortestInterval)
    return usage_error("--interval " + times.interval + " is too short", "give 100ms or more");
  if (!times.size.empty()) {
    const Result<std::uint64_t> size = parse_size(times.size);
    if (!size) return usage_error("--size: " + size.error().what, size.error().remedy);
    if (size.value() == 0) return usage_error("--size: a file without a byte has no recording", "give such as 100MiB");
    options.size_bytes = size.value();
  }
  if (Status read = read_range(times.range, options); !read) return read;
  if (options.command == Command::project || !options.html.empty()) {
    const bool usual = options.command == Command::report && times.projected_grain.empty();
    if (Status read = read_grain(usual ? kUsualGrain : times.projected_grain, options.projected_grain_ns); !read)
      return read;
    auto nodes = parse_nodes(times.nodes);
    if (!nodes) return nodes.error();
    options.nodes = std::move(nodes).value();
  }
  if (times.duration.empty()) return success();
  return read_time("--duration", times.duration, options.duration_ns.emplace());
}

Status check_speed(double speed) {
  if (std::isfinite(speed) && speed > 0) return success();
  return usage_error("--speed: a recording is played forward", "give a number above 0, such as 10");
}

Status check_socket(const std::string& path) {
  if (path.empty()) return usage_error("--socket: the path is empty", "give the path of the daemon's socket");
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return usage_error("--socket: the path is longer than 107 bytes", "give a shorter one, such as a symbolic link");
  return success();
}

Status check_replayed_watch(const Options& options) {
  if (!options.run.empty())
    return usage_error("--replay: nothing runs while a recording is shown", "leave out COMMAND");
  if (!options.cgroup.empty())
    return usage_error("--cgroup: a recording does not tell who was in which", "select by --pid or --comm");
  if (options.phases) return usage_error("--phases: a recording has no marks", "leave it out");
  if (options.follow || options.duration_ns)
    return usage_error(
        options.follow ? "--follow: of a recording there is one report" : "--duration: a recording is as long as it is",
        "leave it out");
  return success();
}

Status check_replay(const Options& options) {
  if (options.replay.empty()) return success();  // --replay "" does not parse
  if (options.grain_ns != 0 && options.command == Command::phases)
    return usage_error("--grain: the phases of a recording are as they were", "leave it out");
  switch (options.command) {
    case Command::record:
    case Command::reload:
    case Command::selftest:
      return usage_error("--replay: this command needs a running daemon",
                         "a recording can be shown with every command but record, reload and selftest");
    case Command::watch:
      return check_replayed_watch(options);
    case Command::top:
      return success();
    default:
      if (!options.duration_ns) return success();
      return usage_error("--duration: a recording is as long as it is", "leave it out");
  }
}

Status check_watch(const Options& options) {
  // TASK_COMM_LEN; the kernel cuts what is longer, so it would select nothing.
  constexpr std::size_t kLongestName = 15;
  std::vector<std::string> given;
  if (!options.pids.empty()) given.emplace_back("--pid");
  if (!options.cgroup.empty()) given.emplace_back("--cgroup");
  if (!options.comm.empty()) given.emplace_back("--comm");
  if (!options.run.empty()) given.emplace_back("-- COMMAND");
  if (given.size() > 1)
    return usage_error(given[0] + " and " + given[1] + " are two selections",
                       "give one of --pid, --cgroup, --comm and -- COMMAND; none of them for all tasks");
  if (options.phases && options.run.empty() && options.marks.empty())
    return usage_error("--phases: these tasks were not told where to mark",
                       "give the NOISED_MARKS they have as --marks");
  if (options.comm.size() > kLongestName)
    return usage_error("--comm: the kernel keeps 15 bytes of a task's name",
                       "give '" + options.comm.substr(0, kLongestName) + "'");
  return success();
}

// Where noisectl's own arguments end: at the "--" before the command to watch, whose options are not ours.
int own_arguments(int argc, const char* const* argv) {
  bool watch = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--" && watch) return i;
    if (argument == "--") break;
    watch = watch || argument == "watch";
  }
  return argc;
}

Status take_command(const char* const* begin, const char* const* end, Options& options) {
  if (begin == end) return success();
  ++begin;  // the "--"
  if (options.command != Command::watch)
    return usage_error("--: only watch takes a command after it", "see 'noisectl --help'");
  if (begin == end || std::string_view(*begin).empty())
    return usage_error("--: no command comes after it", "give a program with its arguments, such as -- ./job -n 4");
  options.run.assign(begin, end);
  return success();
}

// CLI11 explains some errors over several lines; an error here is one line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  Options options;
  Times times;
  CLI::App app("Shows who takes the CPUs away, as the daemon noised sees it.", "noisectl");
  const int own = own_arguments(argc, argv);
  try {
    describe(app, options, times);
    app.parse(own, argv);
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    return CommandLine(Answer{text.str()});
  } catch (const CLI::Error& error) {
    // CLI11 asks for the command before it complains of what it took for none.
    const std::vector<std::string> unknown = app.remaining();
    return usage_error(unknown.empty() ? first_line(error.what()) : "unknown argument '" + unknown.front() + "'",
                       "see 'noisectl --help'");
  }
  if (Status taken = take_command(argv + own, argv + argc, options); !taken) return taken.error();
  if (Status read = read_times(times, options); !read) return read.error();
  options.phases = options.phases || !options.marks.empty();
  if (Status read = check_watch(options); !read) return read.error();
  if (Status read = check_socket(options.socket); !read) return read.error();
  if (Status read = check_speed(options.speed); !read) return read.error();
  if (Status replayed = check_replay(options); !replayed) return replayed.error();
  return CommandLine(std::move(options));
}

}  // namespace noised::client
