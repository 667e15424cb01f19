// SPDX-License-Identifier: Apache-2.0
// The table of settings and the range of each.
#include "noised/settings.h"

#include <array>
#include <bit>
#include <charconv>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/text.h"
#include "base/units.h"
#include "noised/http/tcp_socket.h"
#include "noised/http/unix_socket.h"
#include "probe/detour_loop.h"
#include "probe/footprint.h"

namespace noised::daemon {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kKibibyte = 1024;

Status set_cpus(Config& config, const std::string& value) {
  if (auto good = check_cpu_choice(value); !good) return good;
  config.cpus = value;
  return success();
}

Status set_threshold(Config& config, const std::string& value) {
  const auto time = parse_time(value);
  if (!time) return time.error();
  if (time.value() == 0) {
    return usage_error("threshold " + in_quotes(value) + " would make every turn of the loop a detour",
                       "write a time above the loop's own 10 to 20ns, such as 200ns");
  }
  config.threshold_ns = time.value();
  return success();
}

Status set_policy(Config& config, const std::string& value) {
  if (value != "other" && value != "fifo") {
    return usage_error("unknown policy " + in_quotes(value), "write other or fifo");
  }
  config.policy = value == "fifo" ? Policy::fifo : Policy::other;
  return success();
}

Status set_mode(Config& config, const std::string& value) {
  if (value != "probe" && value != "watch" && value != "auto") {
    return usage_error("unknown mode " + in_quotes(value),
                       "write probe (a loop on each CPU), watch (what the tasks there suffer) or auto (both)");
  }
  config.mode = value == "watch" ? Mode::watch : value == "auto" ? Mode::turns : Mode::probe;
  return success();
}

Status set_quiet_time(Config& config, const std::string& value) {
  const auto time = parse_time(value);
  if (!time) return time.error();
  if (time.value() < kMillisecond || time.value() > 3'600'000 * kMillisecond) {
    return usage_error("quiet_time " + in_quotes(value) + " is not between 1ms and 1h", "write such as 1s");
  }
  config.quiet_ns = time.value();
  return success();
}

Status set_watched_cpus(Config& config, const std::string& value) {
  if (auto good = check_other_cpus(value); !good) return good;
  config.watched_cpus = value;
  return success();
}

Status set_whole(const char* what, const std::string& value, int least, int most, int such_as, int& to) {
  int number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc{} || stop != end || number < least || number > most) {
    return usage_error(fmt::format("{} {} is not between {} and {}", what, in_quotes(value), least, most),
                       fmt::format("write a whole number such as {}", such_as));
  }
  to = number;
  return success();
}

Status set_priority(Config& config, const std::string& value) {
  return set_whole("priority", value, 1, 99, 1, config.priority);
}

Status set_percent(const char* what, const std::string& value, unsigned& to) {
  unsigned percent = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, percent);
  if (error != std::errc{} || std::string_view(stop, end) != "%" || percent < 1 || percent > 100) {
    return usage_error(fmt::format("{} {} is not between 1% and 100%", what, in_quotes(value)),
                       "write whole percent, such as 25%");
  }
  to = percent;
  return success();
}

Status set_duty_cycle(Config& config, const std::string& value) {
  return set_percent("duty_cycle", value, config.duty_percent);
}

Status set_quantum(Config& config, const std::string& value) {
  const auto time = parse_time(value);
  if (!time) return time.error();
  const bool none = time.value() == 0;
  if (!none && (time.value() < kMillisecond / 10 || time.value() > 1000 * kMillisecond)) {
    return usage_error("quantum " + in_quotes(value) + " is not between 100us and 1s",
                       "write such as 1ms, or 0ns for no samples");
  }
  config.quantum_ns = time.value();
  return success();
}

// A sample every 100 us is more than enough; the loop looks once a batch.
constexpr std::uint64_t kLeastWork = 10'000;
constexpr std::uint64_t kMostWork = 1'000'000'000;

Status set_work(Config& config, const std::string& value) {
  std::uint64_t work = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, work);
  if (error != std::errc{} || stop != end || (work != 0 && work < kLeastWork) || work > kMostWork) {
    return usage_error(fmt::format("work {} is not between {} and {}", in_quotes(value), kLeastWork, kMostWork),
                       "write a number of iterations such as 100000, or 0 for no samples");
  }
  config.work = (work + probe::kLoopBatch - 1) / probe::kLoopBatch *
                probe::kLoopBatch;  // the loop looks once a batch: what it will do
  return success();
}

Status set_grain(Config& config, const std::string& value) {
  const auto time = probe::parse_grain(value);
  if (!time) return time.error();
  config.grain_ns = time.value();
  return success();
}

Status set_footprint(Config& config, const std::string& value) {
  const auto footprint = probe::parse_footprint(value);
  if (!footprint) return footprint.error();
  config.footprint = footprint.value();
  return success();
}

Status set_buffer_size(Config& config, const std::string& value) {
  const auto size = parse_size(value);
  if (!size) return size.error();
  // The kernel takes only powers of two. 64 KiB hold about 2000 records; BPF rings end at 2 GiB, where none is useful.
  if (!std::has_single_bit(size.value()) || size.value() < 64 * kKibibyte ||
      size.value() > kKibibyte * kKibibyte * kKibibyte) {
    return usage_error("buffer_size " + in_quotes(value) + " is not a power of two between 64KiB and 1GiB",
                       "write such as 2MiB");
  }
  config.buffer_bytes = size.value();
  return success();
}

Status set_drain_interval(Config& config, const std::string& value) {
  const auto time = parse_time(value);
  if (!time) return time.error();
  if (time.value() < kMillisecond || time.value() > 1000 * kMillisecond) {
    return usage_error("drain_interval " + in_quotes(value) + " is not between 1ms and 1s", "write such as 25ms");
  }
  config.drain_interval_ns = time.value();
  return success();
}

Status set_detail(Config& config, const std::string& value) {
  if (value != "normal" && value != "full")
    return usage_error("unknown detail " + in_quotes(value), "write normal or full");
  config.detail = value == "full" ? Detail::full : Detail::normal;
  return success();
}

Status set_socket(Config& config, const std::string& value) {
  if (auto good = check_socket_path(value); !good) return good;
  config.socket = value;
  return success();
}

Status set_socket_group(Config& config, const std::string& value) {
  config.socket_group = value;
  return success();
}

Status set_listen(Config& config, const std::string& value) {
  if (!value.empty()) {
    if (auto good = check_listen_address(value); !good) return good;
  }
  config.listen = value;
  return success();
}

Status set_socket_names(Config& config, const std::string& value) {
  if (value != "own" && value != "all")
    return usage_error("unknown socket_names " + in_quotes(value), "write own or all");
  config.socket_names = value == "all" ? SocketNames::all : SocketNames::own;
  return success();
}

Status set_metric_names(Config& config, const std::string& value) {
  if (value != "services" && value != "tasks")
    return usage_error("unknown metric_names " + in_quotes(value), "write services or tasks");
  config.metric_names = value == "tasks" ? MetricNames::tasks : MetricNames::services;
  return success();
}

// 64 is what one CPU may show on its own; a million series are more than any Prometheus is meant to take from one
// target.
constexpr std::uint64_t kLeastSeries = 64;
constexpr std::uint64_t kMostSeries = 1'000'000;

Status set_series_cap(Config& config, const std::string& value) {
  std::uint64_t cap = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, cap);
  if (error != std::errc{} || stop != end || cap < kLeastSeries || cap > kMostSeries) {
    return usage_error(
        fmt::format("series_cap {} is not between {} and {}", in_quotes(value), kLeastSeries, kMostSeries),
        "write a whole number such as 4096");
  }
  config.series_cap = cap;
  return success();
}

Status set_housekeeping_cpus(Config& config, const std::string& value) {
  if (const auto cpus = parse_cpu_list(value); !cpus) return cpus.error();
  config.housekeeping_cpus = value;
  return success();
}

Status set_nice_value(Config& config, const std::string& value) {
  return set_whole("nice", value, -20, 0, -10, config.nice);
}

Status set_realtime(Config& config, const std::string& value) {
  return set_whole("realtime", value, 0, 99, 50, config.realtime);
}

Status set_realtime_budget(Config& config, const std::string& value) {
  return set_percent("realtime_budget", value, config.realtime_budget_percent);
}

Status set_log_level(Config& config, const std::string& value) {
  const auto level = parse_log_level(value);
  if (!level) return usage_error("unknown log level " + in_quotes(value), "write debug, info, warning or error");
  config.log_level = *level;
  return success();
}

constexpr std::array kSettings = {
    Setting{"probe", "cpus", false, set_cpus},
    Setting{"probe", "mode", false, set_mode},
    Setting{"probe", "quiet_time", false, set_quiet_time},
    Setting{"probe", "watched_cpus", false, set_watched_cpus},
    Setting{"probe", "threshold", false, set_threshold},
    Setting{"probe", "policy", false, set_policy},
    Setting{"probe", "priority", true, set_priority},
    Setting{"probe", "duty_cycle", false, set_duty_cycle},
    Setting{"probe", "quantum", false, set_quantum},
    Setting{"probe", "work", true, set_work},
    Setting{"probe", "grain", false, set_grain},
    Setting{"probe", "footprint", false, set_footprint},
    Setting{"trace", "buffer_size", false, set_buffer_size},
    Setting{"trace", "drain_interval", false, set_drain_interval},
    Setting{"trace", "detail", false, set_detail},
    Setting{"service", "socket", false, set_socket},
    Setting{"service", "socket_group", false, set_socket_group},
    Setting{"service", "listen", false, set_listen},
    Setting{"service", "housekeeping_cpus", false, set_housekeeping_cpus},
    Setting{"service", "nice", true, set_nice_value},
    Setting{"service", "realtime", true, set_realtime},
    Setting{"service", "realtime_budget", false, set_realtime_budget},
    Setting{"service", "metric_names", false, set_metric_names},
    Setting{"service", "socket_names", false, set_socket_names},
    Setting{"service", "series_cap", true, set_series_cap},
    Setting{"log", "level", false, set_log_level},
};

}  // namespace

std::span<const Setting> settings() { return kSettings; }

const Setting* find_setting(std::string_view section, std::string_view key) {
  for (const Setting& setting : kSettings) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
}

}  // namespace noised::daemon
