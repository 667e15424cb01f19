// SPDX-License-Identifier: Apache-2.0
// One thread follows the daemon; this one waits for the command and for signals.
#include "noisectl/commands/watch.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "base/clocks.h"
#include "base/text.h"
#include "noisectl/client/http_client.h"
#include "noisectl/client/output.h"
#include "noisectl/client/quiet.h"
#include "noisectl/commands/options.h"
#include "noisectl/replay/replay_watch.h"
#include "noisectl/watch/own_daemon.h"
#include "noisectl/watch/watch_printer.h"
#include "noisectl/watch/watch_stream.h"
#include "noisectl/watch/watched_process.h"

namespace noised::client {
namespace {

// As a value in a query; a slash may stay as it is there.
std::string percent_encoded(const std::string& text) {
  static constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string encoded;
  for (const char byte : text) {
    if (kPlain.find(byte) != std::string_view::npos) {
      encoded += byte;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return encoded;
}

}  // namespace

std::string watch_path(const TaskWatchOptions& options, const std::vector<std::uint32_t>& pids) {
  std::string path = "/v1/watch?";
  if (!pids.empty()) path += fmt::format("pids={}&", fmt::join(pids, ","));
  if (!options.comm.empty()) path += "comm=" + percent_encoded(options.comm) + "&";
  if (!options.cgroup.empty()) path += "cgroup=" + percent_encoded(options.cgroup) + "&";
  path += fmt::format("interval_ns={}", options.interval_ns);
  if (options.duration_ns) path += fmt::format("&duration_ns={}", *options.duration_ns);
  if (options.phases) path += "&losses=each";
  return path;
}

namespace {

Status watch_selection(const TaskWatchOptions& options) {
  Result<WatchPrinter> printer = WatchPrinter::create(options, stdout);
  if (!printer) return printer.error();
  const StopSignals stop;
  const auto own = daemon_where_none_watches(options.socket, stop.fd());
  if (!own) return own.error();
  Result<HttpClient> client = HttpClient::create(own.value() ? own.value()->socket() : options.socket);
  if (!client) return client.error();
  keep_off_probed(options.socket);
  const Result<StreamEnd> end =
      client.value().stream(watch_path(options, options.pids), std::chrono::milliseconds{0}, stop.fd(),
                            [&printer](std::string_view line) { return printer.value().line(line); });
  return printer.value().finish(end);
}

constexpr std::uint64_t kMillisecond = 1'000'000;
// A daemon that is there answers at once.
constexpr std::uint64_t kPatienceNs = 10'000 * kMillisecond;
// One that has seen its last task end says so in its next report; before, it works off what its rings hold: of 500
// tasks that switched as fast as they could for 2 s, more than 10 s where a CPU is emulated. Who waits is told so.
constexpr std::uint64_t kReportPatienceNs = 60'000 * kMillisecond;
constexpr std::uint64_t kSilenceNs = 3'000 * kMillisecond;

/// Polls until one of the descriptors is readable or the time is over; false then. Negative ones never are.
template <std::size_t N>
bool wait_for(std::array<pollfd, N>& descriptors, std::uint64_t until_ns) {
  for (;;) {
    const std::uint64_t now_ns = monotonic_ns();
    if (now_ns >= until_ns) return false;
    const int ready =
        poll(descriptors.data(), descriptors.size(), static_cast<int>((until_ns - now_ns) / kMillisecond) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

enum class Begin { began, refused, interrupted, late };

Begin await_begin(const WatchStream& stream, const WatchedProcess& process, const StopSignals& signals) {
  const std::uint64_t until_ns = monotonic_ns() + kPatienceNs;
  for (;;) {
    // The terminal's Ctrl-C ends the waiting process, too.
    std::array<pollfd, 3> waits{{{stream.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}, {process.fd(), POLLIN, 0}}};
    if (!wait_for(waits, until_ns)) return Begin::late;
    if (waits[1].revents != 0 || waits[2].revents != 0) return Begin::interrupted;
    stream.seen();
    if (stream.began()) return Begin::began;
    if (stream.ended()) return Begin::refused;
  }
}

// Ctrl-C and Ctrl-\ reach the command from the terminal, and it decides what they mean; the others are for it too.
ProcessEnd await_end(WatchedProcess& process, const StopSignals& signals) {
  for (;;) {
    std::array<pollfd, 2> waits{{{process.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if (waits[0].revents != 0) break;
    for (int came = signals.take(); came != 0; came = signals.take())
      if (came == SIGTERM || came == SIGHUP) process.signal(came);
  }
  const ProcessEnd end = process.wait();
  while (signals.take() != 0) {
  }  // what ended the command is no wish to end without the report
  return end;
}

// The last report comes when the daemon has seen the command end. Who interrupts again does not want to wait for it.
void await_report(const WatchStream& stream, const StopSignals& signals, std::uint64_t interval_ns) {
  const std::uint64_t ended_ns = monotonic_ns();
  std::uint64_t until_ns = ended_ns + interval_ns + kSilenceNs;
  bool told = false;
  while (!stream.ended()) {
    std::array<pollfd, 2> waits{{{stream.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
    const bool ready = wait_for(waits, until_ns);
    if (waits[1].revents != 0 || (!ready && told)) return;
    if (ready) {
      stream.seen();
      continue;
    }
    told = true;
    until_ns = ended_ns + interval_ns + kReportPatienceNs;
    fmt::print(stderr, "noisectl: the command has ended, and noised works off what it has seen; Ctrl-C: do not wait\n");
  }
}

Status not_started(const TaskWatchOptions& options, const Error& why) {
  return failure(in_quotes(options.run.front()) + " was not started: " + why.what, why.remedy);
}

std::string end_text(const ProcessEnd& end) {
  if (end.signal != 0) return fmt::format("was killed by signal {} ({})", end.signal, strsignal(end.signal));
  return fmt::format("ended with {}", end.code);
}

Status result_of(const TaskWatchOptions& options, const ProcessEnd& end, const Status& told) {
  const std::string name = in_quotes(options.run.front());
  if (!told) return failure(told.error().what, told.error().remedy + "; " + name + " " + end_text(end));
  if (end.code == 0) return success();
  return Error{end.signal != 0 ? name + " " + end_text(end) : "", "", static_cast<ExitCode>(end.code)};
}

// Runs options.run, which keeps the standard streams, and prints the report to standard error. The error has the
// command's exit code if that is not 0, without words where the command will have said itself why. If watching cannot
// begin, the command is not started.
Status run_watched_command(const TaskWatchOptions& options) {
  Result<WatchPrinter> printer = WatchPrinter::create(options, stderr);
  if (!printer) return printer.error();
  const StopSignals signals({SIGINT, SIGQUIT, SIGTERM, SIGHUP});
  if (options.phases) (void)setenv("NOISED_MARKS", printer.value().marks().c_str(), 1);
  // Before noisectl leaves the CPUs that are measured, has a second thread, and libcurl's descriptors, which last.
  Result<WatchedProcess> process = WatchedProcess::start(options.run, signals.before());
  if (!process) return not_started(options, process.error());
  const auto own = daemon_where_none_watches(options.socket, signals.fd());
  if (!own) return not_started(options, own.error());
  const std::string& socket = own.value() ? own.value()->socket() : options.socket;
  Result<HttpClient> client = HttpClient::create(socket);
  if (!client) return not_started(options, client.error());
  keep_off_probed(options.socket);
  const std::vector<std::uint32_t> pids{static_cast<std::uint32_t>(process.value().pid())};
  WatchStream stream(std::move(client).value(), watch_path(options, pids), printer.value());

  switch (await_begin(stream, process.value(), signals)) {
    case Begin::began:
      break;
    case Begin::refused:
      return not_started(options, printer.value().finish(stream.join()).error());
    case Begin::interrupted:
      return not_started(options, failure("interrupted before watching began"));
    case Begin::late:
      return not_started(options, failure("daemon at " + socket + " did not answer in time",
                                          "see its log; is its housekeeping CPU overloaded?"));
  }
  if (Status released = process.value().release(); !released) return released;
  const ProcessEnd end = await_end(process.value(), signals);
  await_report(stream, signals, options.interval_ns);
  Status told = printer.value().finish(stream.join());
  if (told && !printer.value().final())
    told = failure("daemon at " + socket + " did not tell the end", "the report ends early");
  return result_of(options, end, told);
}

Status check_selection(const TaskWatchOptions& options) {
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

class WatchCommand final : public CommandOf<TaskWatchOptions> {
 public:
  WatchCommand() : CommandOf("watch", "what the kernel and other tasks take from an application") {}

  void describe(CLI::App& sub) override {
    sub.add_option("--pid", options.pids, "these processes, with all their threads")
        ->check(number_from<std::uint32_t>(1))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("P,..");
    sub.add_option("--cgroup", options.cgroup, "the tasks of this control group, such as a job's")
        ->check(not_empty())
        ->type_name("PATH");
    sub.add_option("--comm", options.comm, "the tasks of this name")->check(not_empty())->type_name("NAME");
    add_duration(sub, duration_, "end after this time");
    sub.add_option("--interval", interval_, "time between two reports of the daemon (1s)")->type_name("TIME");
    sub.add_flag("--follow", options.follow, "print each of them, in a line, as it comes");
    sub.add_flag("--phases", options.phases, "what was taken from each phase that the command marks (noised/mark.h)");
    sub.add_option("--marks", options.marks, "the same of tasks that run with NOISED_MARKS=DIR")
        ->check(not_empty())
        ->type_name("DIR");
    add_json(sub, options.json);
    sub.add_option("-o,--output", options.output, "create this file, in place of printing")
        ->check(not_empty())
        ->type_name("FILE");
    sub.footer("With -- COMMAND... behind the options, runs that command and watches it until it has ended.");
  }
  Status read() override {
    if (Status read = read_interval(interval_, options.interval_ns); !read) return read;
    if (Status read = read_duration(duration_, options.duration_ns); !read) return read;
    options.phases = options.phases || !options.marks.empty();
    return check_selection(options);
  }
  [[nodiscard]] Status check_replay() const override {
    if (!options.run.empty())
      return usage_error("--replay: nothing runs while a recording is shown", "leave out COMMAND");
    if (!options.cgroup.empty())
      return usage_error("--cgroup: a recording does not tell who was in which", "select by --pid or --comm");
    if (options.phases) return usage_error("--phases: a recording has no marks", "leave it out");
    if (options.follow) return usage_error("--follow: of a recording there is one report", "leave it out");
    return check_no_duration(options.duration_ns);
  }
  std::vector<std::string>* program() override { return &options.run; }
  Status run() override { return options.replay.empty() ? run_watch(options) : run_replay_watch(options); }

 private:
  std::string duration_;
  std::string interval_;
};

}  // namespace

Status run_watch(const TaskWatchOptions& options) {
  return options.run.empty() ? watch_selection(options) : run_watched_command(options);
}

std::unique_ptr<Command> watch_command() { return std::make_unique<WatchCommand>(); }

}  // namespace noised::client
