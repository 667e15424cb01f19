// SPDX-License-Identifier: Apache-2.0
// Choosing modes and CPUs, one observation a mode, and the table.
#include "noisectl/commands/selftest.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clocks.h"
#include "base/cpus.h"
#include "noisectl/client/last_selftest.h"
#include "noisectl/client/output.h"
#include "noisectl/client/quiet.h"
#include "noisectl/commands/options.h"
#include "noisectl/commands/selftest_session.h"
#include "selftest/compare.h"
#include "selftest/generator.h"
#include "selftest/generators/wake.h"
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
// On each CPU beyond the first one noise is made, to know that its loop and its ring are read, and no other's for them.
constexpr const char* kEverywhere = "task";
constexpr std::uint64_t kOnOthers = 1'500'000'000;
// A daemon that has just started has not yet seen who woke the tasks that sleep.
constexpr std::uint64_t kSettled = 2'000'000'000;
// An activation lasts as long as so many ways to it and from it, of which kernel and noised see different parts, so
// that its time is known within 1% even where the ways of a task cost twice as much. Here 5 ms are enough; where
// machines are emulated they are not.
constexpr std::uint64_t kWays = 100;
// Where a wakeup takes longer than on any hardware, daemon, client and generators are as slow, and share what CPUs are
// left: the stream must be able to show everything.
constexpr std::uint64_t kSlowWake = 100'000;
constexpr unsigned kSlower = 4;
// A host that takes the CPU again and again, or a kernel that skips programs, leaves too little to judge by: for three
// attempts of a mode on end, in an emulated 7.2 on a busy host. They take no more than the rest, twice over. Each lasts
// longer than the one before: where an activation takes as long as 100 slow ways, 5 s were ten of them each time.
constexpr unsigned kAttempts = 5;
constexpr unsigned kTimes = 3;

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

struct SelftestOptions : SharedOptions {
  bool json = false;
  std::vector<std::string> only;             ///< modes; empty: all
  std::optional<std::uint64_t> duration_ns;  ///< spend it
  std::optional<unsigned> cpu;               ///< disturb this one
};

// One mode on one CPU.
struct Trial {
  const Mode* mode;
  unsigned cpu;
  std::uint64_t duration_ns;
};

Result<std::vector<unsigned>> probed_cpus(const SelftestOptions& options, const StatusView& status) {
  const Result<std::vector<unsigned>> probed = parse_cpu_list(status.probe_cpus);
  if (!probed) return probed.error();
  if (probed.value().empty()) return failure("the daemon probes no CPU");
  if (options.cpu && without({*options.cpu}, probed.value()).size() == 1)
    return usage_error(fmt::format("--cpu {}: the daemon does not probe it", *options.cpu),
                       "it probes " + status.probe_cpus);
  return probed.value();
}

// All modes on the first CPU, or on the one that was asked for; one on each of the others, unless one was asked for.
Result<std::vector<Trial>> plan(const SelftestOptions& options, const std::vector<const Mode*>& modes,
                                const std::vector<unsigned>& probed) {
  std::vector<Trial> trials;
  trials.reserve(modes.size() + probed.size());
  for (const Mode* mode : modes) trials.push_back({mode, options.cpu.value_or(probed.front()), 0});
  const auto everywhere = std::ranges::find_if(modes, [](const Mode* mode) { return mode->name == kEverywhere; });
  const Mode* const on_others = everywhere == modes.end() ? modes.front() : *everywhere;
  for (std::size_t i = 1; i < probed.size() && !options.cpu; ++i) trials.push_back({on_others, probed[i], 0});
  // What was asked for is all that is spent; by itself, the first CPU has as much as it needs, and others come on top.
  const std::size_t sharing = options.duration_ns ? trials.size() : modes.size();
  const std::uint64_t each = options.duration_ns.value_or(kTotal) / sharing;
  if (each < kAround + kShortest)
    return usage_error(fmt::format("--duration: too short for {} mode{}{}", modes.size(), modes.size() == 1 ? "" : "s",
                                   trials.size() == modes.size() ? ""
                                                                 : fmt::format(", and one on each of {} more CPUs",
                                                                               trials.size() - modes.size())),
                       fmt::format("give {} s or more", sharing * (kAround + kShortest) / 1'000'000'000));
  for (std::size_t i = 0; i < trials.size(); ++i)
    trials[i].duration_ns = (i < sharing ? each : std::max(kOnOthers, kAround + kShortest)) - kAround;
  return trials;
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
  if (std::ranges::any_of(cpus, [](const ReportCpu& cpu) { return cpu.mode != "watch"; })) return success();
  return failure("selftest: the daemon watches tasks, and has no loop that could see the noise",
                 "run a daemon with mode = \"probe\"");
}

void show_progress(std::span<const Trial> trials, std::size_t at) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (at < trials.size()) {
    fmt::print(stderr, "\r\033[K{} of {}: CPU {}: {}, {}", at + 1, trials.size(), trials[at].cpu, trials[at].mode->name,
               trials[at].mode->help);
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

// What was undecided is tried again when all others were: what disturbed it may be gone by then.
Result<std::vector<Row>> run_trials(HttpClient& client, const std::vector<Trial>& trials, GeneratorOptions options,
                                    int stop_fd) {
  std::vector<Row> rows(trials.size());
  const std::uint64_t begin_ns = monotonic_ns();
  std::uint64_t end_ns = UINT64_MAX;
  for (unsigned attempt = 1; attempt <= kAttempts; ++attempt) {
    if (attempt == 2) end_ns = begin_ns + kTimes * (monotonic_ns() - begin_ns);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (attempt != 1 && (!rows[i].undecided || monotonic_ns() >= end_ns)) continue;
      show_progress(trials, i);
      options.cpu = trials[i].cpu;
      const std::uint64_t left_ns = end_ns - std::min(end_ns, monotonic_ns());
      options.duration_ns =
          std::clamp(attempt * trials[i].duration_ns, trials[i].duration_ns, std::max(trials[i].duration_ns, left_ns));
      Result<Row> row = run_mode(client, *trials[i].mode, options, stop_fd);
      if (!row) {
        show_progress(trials, trials.size());
        return row.error();
      }
      rows[i] = std::move(row.value());
      rows[i].attempts = attempt;
    }
  }
  show_progress(trials, trials.size());
  return rows;
}

std::uint64_t failed_of(const std::vector<Row>& rows) {
  return static_cast<std::uint64_t>(
      std::ranges::count(rows, selftest::Verdict::fail, [](const Row& row) { return row.verdict; }));
}

LastSelftest summary(const std::string& kernel, const std::vector<Row>& rows) {
  const auto judged =
      std::ranges::count_if(rows, [](const Row& row) { return row.verdict != selftest::Verdict::unsupported; });
  return {utc_now(), kernel, NOISED_VERSION, static_cast<std::uint64_t>(judged), failed_of(rows)};
}

Status print(const SelftestOptions& options, const std::vector<Row>& rows) {
  Output output(stdout);
  output.write(options.json ? selftest::rows_to_json(rows) + "\n" : selftest::rows_to_text(rows));
  if (Status written = output.finish(); !written) return written;
  if (selftest::all_pass(rows)) return success();
  const std::uint64_t failed = failed_of(rows);
  return failed == 0 ? failure("selftest: nothing could be tested here", "run as root")
                     : failure(fmt::format("selftest: {} of {} trials failed", failed, rows.size()));
}

// Makes each kind of noise on a probed CPU, prints what was done and what was found, and fails unless all that this
// kernel allows was found.
Status run_selftest(const SelftestOptions& options) {
  const Result<std::vector<const Mode*>> modes = choose_modes(options.only);
  if (!modes) return modes.error();
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
  const Result<std::vector<unsigned>> probed = probed_cpus(options, status.value());
  if (!probed) return probed.error();
  const Result<std::vector<Trial>> trials = plan(options, modes.value(), probed.value());
  if (!trials) return trials.error();
  GeneratorOptions chosen;
  chosen.cpu = trials.value().front().cpu;
  // Everything else of the self-test runs on none that is measured.
  const Result<std::vector<unsigned>> others = keep_off(probed.value());
  if (!others) return others.error();
  chosen.others = others.value();
  const std::uint64_t wake_ns = selftest::wake_cost_ns(chosen);
  chosen.work_ns = std::max(chosen.work_ns, kWays * wake_ns);
  if (wake_ns > kSlowWake) chosen.slower = kSlower;
  if (Status settled = wait_until_settled(status.value(), stop.fd()); !settled) return settled;
  const Result<std::vector<Row>> rows = run_trials(client.value(), trials.value(), chosen, stop.fd());
  if (!rows) return rows.error();
  // One of some kinds of noise, or of one CPU, says less than reports would make of it.
  if (options.only.empty() && !options.cpu) {
    if (Status kept = keep_last_selftest(summary(status.value().kernel, rows.value()), last_selftest_path()); !kept)
      std::fputs(("noisectl: " + kept.error().line() + "\n").c_str(), stderr);
  }
  return print(options, rows.value());
}

class SelftestCommand final : public CommandOf<SelftestOptions> {
 public:
  SelftestCommand()
      : CommandOf("selftest", "makes known noise on a probed CPU, and checks what the daemon shows of it") {}

  void describe(CLI::App& sub) override {
    sub.add_option("--only", options.only, "only these kinds of noise")->delimiter(',')->type_name("MODE,..");
    add_duration(sub, duration_, "spend this time (30s)");
    add_cpu(sub, options.cpu, "disturb this CPU only");
    add_json(sub, options.json);
  }
  Status read() override { return read_duration(duration_, options.duration_ns); }
  [[nodiscard]] Status check_replay() const override { return needs_daemon(); }
  Status run() override { return run_selftest(options); }

 private:
  std::string duration_;
};

}  // namespace

std::unique_ptr<Command> selftest_command() { return std::make_unique<SelftestCommand>(); }

}  // namespace noised::client
