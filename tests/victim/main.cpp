// SPDX-License-Identifier: Apache-2.0
// victim --cpu N --duration T: works on a CPU and prints what time it lost, as JSON.
// victim --compare VICTIM.json [DETOURS.ndjson]: that against what noised reports, and what generators did.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "victim/compare.h"
#include "victim/detour_lines.h"
#include "victim/measure.h"
#include "victim/struck.h"
#include "victim/tables.h"

using namespace noised;
using namespace noised::system;
using namespace noised::victim;

namespace {

struct Arguments {
  std::string duration = "3s";
  std::string threshold = "1us";
  std::string blocked;
  std::string pid_file;
  std::vector<std::string> compare;
  std::vector<std::string> truths;
  std::string overhead = "50us";
  bool json = false;
  VictimOptions victim;
  CompareOptions limits;
};

constexpr std::size_t kLargestFile = std::size_t{1} << 30U;

volatile std::sig_atomic_t stop = 0;

void describe(CLI::App& app, Arguments& arguments) {
  auto* cpu = app.add_option("--cpu", arguments.victim.cpu, "where it runs");
  app.add_option("--duration", arguments.duration, "of the measured part; SIGTERM ends it early")
      ->capture_default_str();
  app.add_option("--blocked", arguments.blocked, "sleep so long, again and again, and run a twentieth of that between");
  app.add_option("--threshold", arguments.threshold, "no shorter gap is told")->capture_default_str();
  app.add_option("--faults", arguments.victim.faults_per_second, "so many page faults a second");
  app.add_option("--pid-file", arguments.pid_file, "its number goes there when it is ready to run");
  auto* compare =
      app.add_option("--compare", arguments.compare, "an account, and the output of noisectl detours --json")
          ->expected(1, 2);
  app.add_option("--truth", arguments.truths, "what a generator printed; only its time counts")->needs(compare);
  app.add_option("--overhead", arguments.overhead, "at most so much around a detour is its own")
      ->needs(compare)
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "the comparison as JSON")->needs(compare);
  compare->excludes(cpu);
}

Status read_time(const char* flag, const std::string& text, std::uint64_t& out) {
  const Result<std::uint64_t> time = parse_time(text);
  if (!time) return usage_error(std::string(flag) + ": " + time.error().what, time.error().remedy);
  if (time.value() == 0) return usage_error(std::string(flag) + ": 0", "give a time");
  out = time.value();
  return success();
}

Status finish(Arguments& arguments) {
  VictimOptions& victim = arguments.victim;
  if (Status read = read_time("--duration", arguments.duration, victim.duration_ns); !read) return read;
  if (Status read = read_time("--threshold", arguments.threshold, victim.threshold_ns); !read) return read;
  if (Status read = read_time("--overhead", arguments.overhead, arguments.limits.largest_overhead_ns); !read)
    return read;
  if (!arguments.blocked.empty()) return read_time("--blocked", arguments.blocked, victim.sleep_ns);
  return success();
}

// Whole or not at all: who finds the file finds the number.
Status write_pid(const std::string& path) {
  if (path.empty()) return success();
  const std::string unfinished = path + ".new";
  std::ofstream file(unfinished);
  file << gettid() << "\n";
  file.close();
  if (!file || std::rename(unfinished.c_str(), path.c_str()) != 0)
    return failure("--pid-file " + in_quotes(path) + ": " + errno_text(errno));
  return success();
}

Status run(const Arguments& arguments) {
  struct sigaction action{};
  action.sa_handler = [](int) { stop = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  const Result<Account> account = measure(arguments.victim, [&] { return write_pid(arguments.pid_file); }, stop);
  if (!account) return account.error();
  std::puts(to_json(account.value()).c_str());
  return success();
}

// Only the time in which noise was made counts.
Result<std::vector<Struck>> read_truths(const Account& account, const std::vector<DetourView>& detours,
                                        Arguments& arguments) {
  std::vector<Struck> struck;
  std::uint64_t from_ns = UINT64_MAX;
  std::uint64_t to_ns = 0;
  for (const std::string& path : arguments.truths) {
    const Result<std::string> text = read_file(path, kLargestFile);
    if (!text) return text.error();
    const Result<selftest::Truth> truth = selftest::parse_truth(text.value());
    if (!truth) return failure(path + ": " + truth.error().what);
    if (!truth.value().unsupported.empty()) return failure(path + ": " + truth.value().unsupported);
    struck.push_back(strike(truth.value(), account, detours));
    from_ns = std::min(from_ns, truth.value().first_ns);
    to_ns = std::max(to_ns, truth.value().last_ns);
  }
  if (!struck.empty()) {
    arguments.limits.from_ns = from_ns;
    arguments.limits.to_ns = to_ns;
  }
  return struck;
}

Status compare_files(Arguments& arguments) {
  const Result<std::string> text = read_file(arguments.compare[0], kLargestFile);
  if (!text) return text.error();
  const Result<Account> account = parse_account(text.value());
  if (!account) return failure(arguments.compare[0] + ": " + account.error().what, account.error().remedy);
  Result<std::vector<DetourView>> detours = std::vector<DetourView>();
  if (arguments.compare.size() > 1) {
    std::ifstream lines(arguments.compare[1]);
    if (!lines) return failure(arguments.compare[1] + ": " + errno_text(errno));
    detours = read_detours(lines, account.value());
    if (!detours) return failure(arguments.compare[1] + ": " + detours.error().what, detours.error().remedy);
  }
  const Result<std::vector<Struck>> struck = read_truths(account.value(), detours.value(), arguments);
  if (!struck) return struck.error();
  const Comparison comparison = compare(account.value(), detours.value(), arguments.limits);
  const std::string result = arguments.json ? to_json(account.value(), comparison, struck.value()) + "\n"
                                            : to_text(account.value(), comparison, struck.value());
  std::fputs(result.c_str(), stdout);
  return success();
}

int complain(const Error& error) {
  std::fprintf(stderr, "victim: %s\n", error.line().c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Works on a CPU and prints what time it lost; or compares that with what noised reports.", "victim");
  describe(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (const Status finished = finish(arguments); !finished) return complain(finished.error());
  if (arguments.compare.empty() && app.count("--cpu") == 0)
    return complain(usage_error("neither --cpu nor --compare", "see victim --help"));
  const Status done = arguments.compare.empty() ? run(arguments) : compare_files(arguments);
  return done ? static_cast<int>(ExitCode::good) : complain(done.error());
}
