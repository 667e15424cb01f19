// SPDX-License-Identifier: Apache-2.0
// One thread follows the daemon; this one waits for the command and for signals.
#include "noisectl/watched_command.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/monotonic.h"
#include "base/quote.h"
#include "noisectl/http_client.h"
#include "noisectl/quiet.h"
#include "noisectl/stop_signals.h"
#include "noisectl/watch_command.h"
#include "noisectl/watch_printer.h"
#include "noisectl/watch_stream.h"
#include "noisectl/watched_process.h"

namespace noised::client {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
// A daemon that is there answers at once; one that has seen its last task end says so in its next report.
constexpr std::uint64_t kPatienceNs = 10'000 * kMillisecond;

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
void await_report(const WatchStream& stream, const StopSignals& signals, std::uint64_t patience_ns) {
  const std::uint64_t until_ns = monotonic_ns() + patience_ns;
  while (!stream.ended()) {
    std::array<pollfd, 2> waits{{{stream.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
    if (!wait_for(waits, until_ns) || waits[1].revents != 0) return;
    stream.seen();
  }
}

Status not_started(const Options& options, const Error& why) {
  return failure(in_quotes(options.run.front()) + " was not started: " + why.what, why.remedy);
}

std::string end_text(const ProcessEnd& end) {
  if (end.signal != 0) return fmt::format("was killed by signal {} ({})", end.signal, strsignal(end.signal));
  return fmt::format("ended with {}", end.code);
}

Status result_of(const Options& options, const ProcessEnd& end, const Status& told) {
  const std::string name = in_quotes(options.run.front());
  if (!told) return failure(told.error().what, told.error().remedy + "; " + name + " " + end_text(end));
  if (end.code == 0) return success();
  return Error{end.signal != 0 ? name + " " + end_text(end) : "", "", static_cast<ExitCode>(end.code)};
}

}  // namespace

Status run_watched_command(const Options& options) {
  Result<WatchPrinter> printer = WatchPrinter::create(options, stderr);
  if (!printer) return printer.error();
  const StopSignals signals({SIGINT, SIGQUIT, SIGTERM, SIGHUP});
  if (options.phases) (void)setenv("NOISED_MARKS", printer.value().marks().c_str(), 1);
  // Before noisectl leaves the CPUs that are measured, has a second thread, and libcurl's descriptors, which last.
  Result<WatchedProcess> process = WatchedProcess::start(options.run, signals.before());
  if (!process) return not_started(options, process.error());
  Result<HttpClient> client = HttpClient::create(options.socket);
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
      return not_started(options, failure("daemon at " + options.socket + " did not answer in time",
                                          "see its log; is its housekeeping CPU overloaded?"));
  }
  if (Status released = process.value().release(); !released) return released;
  const ProcessEnd end = await_end(process.value(), signals);
  await_report(stream, signals, kPatienceNs + options.interval_ns);
  Status told = printer.value().finish(stream.join());
  if (told && !printer.value().final())
    told = failure("daemon at " + options.socket + " did not tell the end", "the report ends early");
  return result_of(options, end, told);
}

}  // namespace noised::client
