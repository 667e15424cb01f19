// SPDX-License-Identifier: Apache-2.0
// What can be configured, its built-in defaults, and how noised.conf is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/types.h"

#include "noised/log.h"
#include "probe/footprint.h"

namespace noised::daemon {

/// With a duty cycle, a run of the loop and a rest, on average: short for who reads, long beside the start of a run
/// (tens of us).
inline constexpr std::uint64_t kDutyPeriodNs = 100'000'000;

/// Scheduling policy of the measuring threads.
enum class Policy : std::uint8_t { other, fifo };

/// How the CPUs are watched.
enum class Mode : std::uint8_t {
  probe,  ///< by a loop on each
  watch,  ///< for what the tasks there suffer
  turns,  ///< "auto": by a loop, and while there are tasks for what those suffer; other CPUs for their tasks alone
};

/// What the programs in the kernel tell of callbacks (timers, tasklets).
enum class Detail : std::uint8_t {
  normal,  ///< their begin; one ends with the next, or with what it is in
  full,    ///< their end as well
};

/// What the metrics call tasks that are not the kernel's.
enum class MetricNames : std::uint8_t {
  services,  ///< by their services: anybody may read them
  tasks,     ///< by their own names
};

/// What members of the socket's group may read of tasks' names.
enum class SocketNames : std::uint8_t {
  own,  ///< those of their own tasks, and the kernel's
  all,
};

struct Config {
  std::string cpus = "isolated";                   ///< [probe] a CPU list, `isolated` or `nohz_full`
  Mode mode = Mode::probe;                         ///< [probe]
  std::uint64_t quiet_ns = 1'000'000'000;          ///< [probe] without a task, until a loop comes back
  std::string watched_cpus = "all";                ///< [probe] Mode::turns, besides loops' CPUs: a list, `all`, `none`
  std::uint64_t threshold_ns = 200;                ///< [probe] a longer gap is a detour; never 0
  Policy policy = Policy::other;                   ///< [probe]
  int priority = 1;                                ///< [probe] 1 to 99; used with Policy::fifo only
  unsigned duty_percent = 100;                     ///< [probe] share of the time in which the loop runs; 1 to 100
  std::uint64_t quantum_ns = 0;                    ///< [probe] of samples of the loop's work; 0: none
  std::uint64_t work = 0;                          ///< [probe] iterations from one sample to the next; 0: none
  std::uint64_t grain_ns = 0;                      ///< [probe] phases of fixed work this long; 0: the loop
  probe::FootprintChoice footprint;                ///< [probe] what phases touch
  std::uint64_t buffer_bytes = 2 << 20;            ///< [trace] ring buffer of each CPU; a power of two
  std::uint64_t drain_interval_ns = 25'000'000;    ///< [trace]
  Detail detail = Detail::normal;                  ///< [trace]
  std::string socket = "/run/noised/noised.sock";  ///< [service]
  std::string socket_group;                        ///< [service] who may ask there besides root; empty: root's group
  std::string listen = "127.0.0.1:10077";          ///< [service] of the metrics; empty: nowhere
  std::string housekeeping_cpus;                   ///< [service] a CPU list; empty: chosen automatically
  int nice = -10;                                  ///< [service] of the thread that drains; -20 to 0
  int realtime = 0;                                ///< [service] its priority before all others, 1 to 99; 0: none
  unsigned realtime_budget_percent = 25;           ///< [service] of each second, for which it has that; 1 to 100
  MetricNames metric_names = MetricNames::services;  ///< [service]
  SocketNames socket_names = SocketNames::own;       ///< [service]
  std::uint64_t series_cap = 4096;                   ///< [service] sources with metrics of their own
  LogLevel log_level = LogLevel::info;               ///< [log]

  /// [categories] by "kind:name", for the sites that see a source otherwise.
  std::map<std::string, Category, std::less<>> categories;

  bool operator==(const Config&) const = default;
};

/// Checks that samples of so many nanoseconds (`what`: the setting) fit between two rests; usage error otherwise.
Status check_fits_duty_cycle(const char* what, std::uint64_t ns, unsigned duty_percent);

/// What is wrong between settings that are good each; usage error.
Status check_together(const Config& config);

/// What is measured where `cpus` are the isolated ones and there are none, so that the daemon starts everywhere with
/// the configuration that it is shipped with: the tasks of `others`, a CPU list, or in mode auto of those that it is to
/// watch. Nothing where something else was asked for, or what only a loop has.
std::optional<Config> watching_instead(Config config, const std::string& others);

/// The keys that differ ("probe.cpus, log.level"), for people.
std::string differences(const Config& one, const Config& other);

/// Reads TOML text; what it leaves out keeps its default. Strict: a usage error names FILE:LINE and the remedy.
Result<Config> parse_config(const std::string& text, const std::string& file);

/// Reads a configuration file; usage error also when it cannot be read.
Result<Config> read_config(const std::string& path);

}  // namespace noised::daemon
