// SPDX-License-Identifier: Apache-2.0
// noise MODE --cpu N: makes one kind of noise on a CPU, and prints what it really did as JSON.
#include <algorithm>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "base/cpus.h"
#include "base/units.h"
#include "selftest/generator.h"

using namespace noised;
using namespace noised::selftest;

namespace {

struct Arguments {
  std::string mode;
  std::string duration = "3s";
  std::string period;
  std::string work = "2ms";
  std::string offset = "0ns";
  std::string policy = "fifo";
  GeneratorOptions options;
};

void describe(CLI::App& app, Arguments& arguments) {
  app.add_option("MODE", arguments.mode, mode_names())->required();
  app.add_option("--cpu", arguments.options.cpu, "the CPU to disturb")->required();
  app.add_option("--duration", arguments.duration, "of the noise")->capture_default_str();
  app.add_option("--period", arguments.period, "between two occurrences; each mode has its own default");
  app.add_option("--slower", arguments.options.slower, "default periods are so many times longer")
      ->capture_default_str();
  app.add_option("--work", arguments.work, "task, wake: CPU time of an activation")->capture_default_str();
  app.add_option("--count", arguments.options.count, "task: so many tasks")->capture_default_str();
  app.add_option("--offset", arguments.offset, "task: between the phases of two of them")->capture_default_str();
  app.add_option("--policy", arguments.policy, "of threads on the CPU")
      ->check(CLI::IsMember({"fifo", "other"}))
      ->capture_default_str();
  app.add_option("--priority", arguments.options.priority, "of policy fifo")->capture_default_str();
  app.add_option("--name", arguments.options.name, "task: what it is called");
}

Status read_time(const char* flag, const std::string& text, std::uint64_t& out) {
  const Result<std::uint64_t> time = parse_time(text);
  if (!time) return usage_error(std::string(flag) + ": " + time.error().what, time.error().remedy);
  out = time.value();
  return success();
}

Status finish(Arguments& arguments) {
  GeneratorOptions& options = arguments.options;
  if (Status read = read_time("--duration", arguments.duration, options.duration_ns); !read) return read;
  if (Status read = read_time("--work", arguments.work, options.work_ns); !read) return read;
  if (Status read = read_time("--offset", arguments.offset, options.offset_ns); !read) return read;
  if (!arguments.period.empty()) {
    if (Status read = read_time("--period", arguments.period, options.period_ns.emplace()); !read) return read;
    if (*options.period_ns == 0) return usage_error("--period: 0", "give a time");
  }
  options.fifo = arguments.policy == "fifo";
  const Result<AllowedCpus> allowed = allowed_cpus();
  if (!allowed) return allowed.error();
  options.others = allowed.value().affinity;
  std::erase(options.others, options.cpu);
  if (options.others.empty()) return usage_error("--cpu: the only CPU there is", "another one is needed beside it");
  return success();
}

int complain(const Error& error) {
  std::fprintf(stderr, "noise: %s\n", error.line().c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Makes one kind of noise on a CPU, and prints what it really did.", "noise");
  describe(app, arguments);
  CLI11_PARSE(app, argc, argv);
  const Mode* mode = find_mode(arguments.mode);
  if (mode == nullptr) return complain(usage_error("no mode '" + arguments.mode + "'", "modes are " + mode_names()));
  if (const Status finished = finish(arguments); !finished) return complain(finished.error());
  const Result<Truth> truth = generate(*mode, arguments.options);
  if (!truth) return complain(truth.error());
  std::puts(to_json(truth.value()).c_str());
  return static_cast<int>(ExitCode::good);
}
