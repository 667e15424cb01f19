// SPDX-License-Identifier: Apache-2.0
// Choosing modes and CPUs, one observation a mode, and the table.
#include "noisectl/selftest_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/parse.h"
#include "noisectl/output.h"
#include "noisectl/quiet.h"
#include "noisectl/selftest_session.h"
#include "noisectl/stop_signals.h"
#include "selftest/compare.h"
#include "selftest/generator.h"
#include "selftest/wake_cost.h"
#include "views/views.h"

namespace noised::client {
namespace {

using selftest::GeneratorOptions;
using selftest::Mode;
using selftest::Row;

constexpr std::uint64_t kTotal = 30'000'000'000;
// Of each mode's share of the time: settling, the marks around it, and the drain that shows the last of them.
constexpr std::uint64_t kAround = 500'000'000;
constexpr std::uint64_t kShortest = 500'000'000;  // fewer occurrences say little about 99.9%
// A daemon that has just started has not yet seen who woke the tasks that sleep.
constexpr std::chrono::seconds kAnswerTime{10};
constexpr std::uint64_t kSettled = 2'000'000'000;
// An activation lasts as long as so many ways to it and from it, of which kernel and noised see different parts, so
// that its time is known within 1% even where the ways of a task cost twice as much. Here 5 ms are enough; where
// machines are emulated they are not.
constexpr std::uint64_t kWays = 100;
// Where a wakeup takes longer than on any hardware, daemon, client and generators are as slow, and share what CPUs are
// left: the stream must be able to show everything.
constexpr std::uint64_t kSlowWake = 100'000;
constexpr unsigned kSlower = 4;
// A host that takes the CPU again and again, or a kernel that skips programs, leaves too little to judge by, once.
constexpr int kAttempts = 3;

Result<std::vector<const Mode*>> choose_modes(const std::vector<std::string>& only) {
  std::vector<const Mode*> chosen;
  for (const Mode& mode : selftest::modes()) {
    if (only.empty() ? !mode.only_when_asked : std::find(only.begin(), only.end(), mode.name) != only.end())
      chosen.push_back(&mode);
  }
  for (const std::string& name : only) {
    if (selftest::find_mode(name) == nullptr)
      return usage_error("--only: no mode '" + name + "'", "modes are " + selftest::mode_names());
  }
  return chosen;
}

// The CPU to disturb, and those on which everything else of the self-test runs: none that is measured.
Result<GeneratorOptions> choose_cpus(const Options& options, const StatusView& status) {
  const Result<std::vector<unsigned>> probed = parse_cpu_list(status.probe_cpus);
  if (!probed) return probed.error();
  if (probed.value().empty()) return failure("the daemon probes no CPU");
  GeneratorOptions chosen;
  chosen.cpu = options.cpu.value_or(probed.value().front());
  if (without({chosen.cpu}, probed.value()).size() == 1)
    return usage_error(fmt::format("--cpu {}: the daemon does not probe it", chosen.cpu),
                       "it probes " + status.probe_cpus);
  const Result<std::vector<unsigned>> others = keep_off(probed.value());
  if (!others) return others.error();
  chosen.others = others.value();
  return chosen;
}

Result<std::uint64_t> time_of_each(const Options& options, std::size_t modes) {
  const std::uint64_t total = options.duration_ns.value_or(kTotal);
  const std::uint64_t each = total / modes;
  if (each < kAround + kShortest)
    return usage_error(fmt::format("--duration: too short for {} mode{}", modes, modes == 1 ? "" : "s"),
                       fmt::format("give {} s or more", modes * (kAround + kShortest) / 1'000'000'000));
  return each - kAround;
}

Status wait_until_settled(const StatusView& status, int stop_fd) {
  if (status.uptime_ns >= kSettled) return success();
  pollfd stop{stop_fd, POLLIN, 0};
  if (poll(&stop, 1, static_cast<int>((kSettled - status.uptime_ns) / 1'000'000) + 1) > 0)
    return failure("interrupted");
  return success();
}

// The generators' truth is of what a loop sees.
Status check_loops(HttpClient& client) {
  const Result<std::string> body = client.get("/v1/report", kAnswerTime);
  if (!body) return body.error();
  const Result<Report> report = views::parse_report(body.value());
  if (!report) return report.error();
  const auto& cpus = report.value().cpus;
  if (std::ranges::none_of(cpus, [](const ReportCpu& cpu) { return cpu.mode == "watch"; })) return success();
  return failure("selftest: the daemon watches tasks, and has no loop that could see the noise",
                 "run a daemon with mode = \"probe\"");
}

void show_progress(std::span<const Mode* const> modes, std::size_t at) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (at < modes.size()) {
    fmt::print(stderr, "\r\033[K{} of {}: {}, {}", at + 1, modes.size(), modes[at]->name, modes[at]->help);
  } else {
    fmt::print(stderr, "\r\033[K");
  }
}

Result<Row> run_mode(HttpClient& client, const Mode& mode, const GeneratorOptions& options, int stop_fd) {
  const Result<Observation> observed = observe(client, mode, options, stop_fd);
  if (!observed)
    return failure("selftest " + std::string(mode.name) + ": " + observed.error().what, observed.error().remedy);
  const Observation& seen = observed.value();
  if (seen.not_made.empty()) return selftest::compare(seen.truth, seen.detours, seen.losses);
  // Nothing is shown by that, so it is no pass; the other modes are still worth knowing.
  Row row;
  row.mode = mode.name;
  row.cpu = options.cpu;
  row.reason = "this noise could not be made: " + seen.not_made;
  return row;
}

Result<std::vector<Row>> run_modes(HttpClient& client, const std::vector<const Mode*>& modes,
                                   const GeneratorOptions& options, int stop_fd) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    show_progress(modes, i);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Result<Row> row = run_mode(client, *modes[i], options, stop_fd);
      if (!row) {
        show_progress(modes, modes.size());
        return row.error();
      }
      if (attempt != 0) rows.pop_back();
      rows.push_back(row.value());
      if (!rows.back().undecided) break;
    }
  }
  show_progress(modes, modes.size());
  return rows;
}

Status print(const Options& options, const std::vector<Row>& rows) {
  Output output(stdout);
  output.write(options.json ? selftest::rows_to_json(rows) + "\n" : selftest::rows_to_text(rows));
  if (Status written = output.finish(); !written) return written;
  if (selftest::all_pass(rows)) return success();
  const auto failed =
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.verdict == selftest::Verdict::fail; });
  return failed == 0 ? failure("selftest: nothing could be tested here", "run as root")
                     : failure(fmt::format("selftest: {} of {} modes failed", failed, rows.size()));
}

}  // namespace

Status run_selftest(const Options& options) {
  const Result<std::vector<const Mode*>> modes = choose_modes(options.only);
  if (!modes) return modes.error();
  const Result<std::uint64_t> each = time_of_each(options, modes.value().size());
  if (!each) return each.error();
  const StopSignals stop;
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  const Result<StatusView> status = ask_status(client.value());
  if (!status) return status.error();
  if (status.value().duty_percent < 100) {
    return failure("selftest: the daemon's loop rests, and noise in a rest is not seen",
                   "run a daemon with duty_cycle = \"100%\"");
  }
  if (Status loops = check_loops(client.value()); !loops) return loops;
  Result<GeneratorOptions> chosen = choose_cpus(options, status.value());
  if (!chosen) return chosen.error();
  chosen.value().duration_ns = each.value();
  const std::uint64_t wake_ns = selftest::wake_cost_ns(chosen.value());
  chosen.value().work_ns = std::max(chosen.value().work_ns, kWays * wake_ns);
  if (wake_ns > kSlowWake) chosen.value().slower = kSlower;
  if (Status settled = wait_until_settled(status.value(), stop.fd()); !settled) return settled;
  const Result<std::vector<Row>> rows = run_modes(client.value(), modes.value(), chosen.value(), stop.fd());
  if (!rows) return rows.error();
  return print(options, rows.value());
}

}  // namespace noised::client
