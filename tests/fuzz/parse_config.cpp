// SPDX-License-Identifier: Apache-2.0
// Configuration files: an error names its line; what is accepted is in range, and written out it is the same again.
#include <bit>

#include <fmt/format.h>

#include "noised/config.h"
#include "toml_text.h"

using namespace noised;
using namespace noised::daemon;
using fuzz::check;
using fuzz::quoted;

namespace {

constexpr const char* kFile = "fuzz.conf";

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  std::abort();
}

std::string written(const Config& config) {
  std::string text = fmt::format(
      "[probe]\ncpus = {}\nmode = \"{}\"\nthreshold = \"{}ns\"\npolicy = \"{}\"\npriority = {}\nduty_cycle = \"{}%\"\n"
      "quantum = \"{}ns\"\nwork = {}\ngrain = \"{}ns\"\nfootprint = \"{}\"\n"
      "[trace]\nbuffer_size = \"{}\"\ndrain_interval = \"{}ns\"\ndetail = \"{}\"\n"
      "[service]\nsocket = {}\nsocket_group = {}\nlisten = {}\nhousekeeping_cpus = {}\nnice = {}\nrealtime = {}\n"
      "realtime_budget = \"{}%\"\nmetric_names = \"{}\"\nsocket_names = \"{}\"\nseries_cap = {}\n"
      "[log]\nlevel = \"{}\"\n[categories]\n",
      quoted(config.cpus), config.mode == Mode::watch ? "watch" : "probe", config.threshold_ns,
      config.policy == Policy::fifo ? "fifo" : "other", config.priority, config.duty_percent, config.quantum_ns,
      config.work, config.grain_ns, to_string(config.footprint), config.buffer_bytes, config.drain_interval_ns,
      config.detail == Detail::full ? "full" : "normal", quoted(config.socket), quoted(config.socket_group),
      quoted(config.listen), quoted(config.housekeeping_cpus), config.nice, config.realtime,
      config.realtime_budget_percent, config.metric_names == MetricNames::tasks ? "tasks" : "services",
      config.socket_names == SocketNames::all ? "all" : "own", config.series_cap, name_of(config.log_level));
  for (const auto& [source, category] : config.categories) {
    text += fmt::format("{} = \"{}\"\n", quoted(source), to_string(category));
  }
  return text;
}

}  // namespace

extern "C" int fuzz_parse_config(const std::uint8_t* data, std::size_t size) {
  const auto config = parse_config(std::string(fuzz::text(data, size)), kFile);
  if (!config) {
    fuzz::check_error(config.error(), ExitCode::usage);
    fuzz::check_place(config.error(), kFile);
    return 0;
  }
  const Config& read = config.value();
  check(read.threshold_ns > 0, "the threshold is above 0");
  check(read.priority >= 1 && read.priority <= 99, "the priority is one of SCHED_FIFO");
  check(std::has_single_bit(read.buffer_bytes), "the buffer size is a power of two");
  check(!read.socket.empty() && fuzz::is_one_line(read.socket), "the socket can be a path", read.socket);
  const std::string text = written(read);
  const auto again = parse_config(text, kFile);
  check(again.ok(), "what was accepted is accepted again", again.ok() ? "" : again.error().line());
  check(again.value() == read, "what was accepted means the same again", text);
  return 0;
}
