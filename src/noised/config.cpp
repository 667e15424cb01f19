// SPDX-License-Identifier: Apache-2.0
// TOML in, Config out; a mistake is refused with its line rather than skipped, so no typing error goes unnoticed.
#include "noised/config.h"

#include <toml++/toml.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/cpus.h"
#include "base/files.h"
#include "base/text.h"
#include "noised/settings.h"

namespace noised::daemon {
namespace {

constexpr std::string_view kCategories = "categories";  // its keys are sources, not settings

std::string place(const std::string& file, const toml::source_region& region) {
  return fmt::format("{}:{}: ", file, region.begin.line);
}

// "probe, trace, service or log", for the remedy of an unknown name; keys of a section, or sections when it is empty.
std::string known_names(std::string_view section) {
  std::string names;
  std::string_view last;
  for (const Setting& setting : settings()) {
    const std::string_view name = section.empty() ? setting.section : setting.key;
    if ((!section.empty() && setting.section != section) || name == last) continue;
    last = name;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  if (section.empty()) names += ", " + std::string(kCategories);
  return names;
}

bool is_section(std::string_view name) {
  if (name == kCategories) return true;
  for (const Setting& setting : settings()) {
    if (setting.section == name) return true;
  }
  return false;
}

Status apply_key(Config& config, std::string_view section, const toml::key& key, const toml::node& node,
                 const std::string& file) {
  const Setting* const setting = find_setting(section, key.str());
  if (setting == nullptr) {
    return usage_error(
        fmt::format("{}unknown key {} in [{}]", place(file, key.source()), in_quotes(key.str()), section),
        "its keys are " + known_names(section));
  }
  if (setting->is_integer ? !node.is_integer() : !node.is_string()) {
    return usage_error(fmt::format("{}{} has the wrong type", place(file, node.source()), setting->key),
                       setting->is_integer ? "write a whole number without quotes" : "write text in double quotes");
  }
  const std::string value = setting->is_integer ? std::to_string(node.as_integer()->get()) : node.as_string()->get();
  if (auto applied = setting->apply(config, value); !applied) {
    return usage_error(place(file, node.source()) + applied.error().what, applied.error().remedy);
  }
  return success();
}

// "task:nvidia-smi" = "io": what takes time keeps its kind and name, and counts where the site wants it.
Status apply_category(Config& config, const toml::key& key, const toml::node& node, const std::string& file) {
  const std::string_view source = key.str();
  const std::size_t colon = source.find(':');
  const auto kind = kind_named(source.substr(0, colon));
  if (colon == std::string_view::npos || !kind || *kind == Kind::none || *kind >= Kind::hypervisor) {
    return usage_error(fmt::format("{}{} is not a source", place(file, key.source()), in_quotes(source)),
                       R"(write KIND:NAME as in a report, such as "task:crond" or "irq:eth0")");
  }
  const auto category =
      category_named(node.is_string() ? std::string_view(node.as_string()->get()) : std::string_view());
  if (!category || *category >= Category::hypervisor) {
    return usage_error(fmt::format("{}the category of {} is not one", place(file, node.source()), in_quotes(source)),
                       R"(write "periodic", "page_fault", "scheduling", "preemption", "io", "ipi" or "nmi")");
  }
  config.categories.emplace(source, *category);
  return success();
}

Status apply_entry(Config& config, std::string_view section, const toml::key& key, const toml::node& node,
                   const std::string& file) {
  return section == kCategories ? apply_category(config, key, node, file) : apply_key(config, section, key, node, file);
}

Status check_samples(const Config& config) {
  if (config.quantum_ns != 0 && config.work != 0)
    return usage_error("quantum and work: the loop takes samples by time or by work", "leave one of them out");
  if (config.grain_ns != 0 && (config.quantum_ns != 0 || config.work != 0))
    return usage_error("grain: phases take the place of the loop, and of its quantum or work", "leave one of them out");
  if (Status fits = check_fits_duty_cycle("quantum", config.quantum_ns, config.duty_percent); !fits) return fits;
  return check_fits_duty_cycle("grain", config.grain_ns, config.duty_percent);
}

// What needs a loop cannot be had without one, nor what takes it as it comes with one that leaves.
Status check_mode(const Config& config) {
  if (config.mode == Mode::probe) return success();
  const bool turns = config.mode == Mode::turns;
  const char* const key = config.grain_ns != 0                  ? "grain"
                          : config.quantum_ns != 0              ? "quantum"
                          : config.work != 0                    ? "work"
                          : config.duty_percent < 100 && !turns ? "duty_cycle"
                                                                : nullptr;
  if (key == nullptr) return success();
  return usage_error(
      fmt::format("{}: {}", key, turns ? "the loop of mode auto leaves holes in it" : "mode watch has no loop"),
      "leave it out, or choose mode probe");
}

// A contradiction stands where the setting does that is more likely to be changed.
Status check_together(const Config& config, const toml::table& root, const std::string& file) {
  Status good = noised::daemon::check_together(config);
  if (good) return good;
  const auto key = !check_samples(config) ? (config.grain_ns != 0 ? root["probe"]["grain"] : root["probe"]["quantum"])
                   : !check_mode(config)  ? root["probe"]["mode"]
                                          : root["service"]["housekeeping_cpus"];
  return usage_error(place(file, key.node()->source()) + good.error().what, good.error().remedy);
}

Result<Config> apply_sections(const toml::table& root, const std::string& file) {
  Config config;
  for (const auto& [name, node] : root) {
    if (!is_section(name.str())) {
      const char* const what = node.is_table() ? "unknown section" : "outside every section: key";
      return usage_error(fmt::format("{}{} {}", place(file, name.source()), what, in_quotes(name.str())),
                         "the sections are " + known_names(""));
    }
    const toml::table* const section = node.as_table();
    if (section == nullptr) {
      return usage_error(fmt::format("{}{} is not a section", place(file, name.source()), in_quotes(name.str())),
                         fmt::format("write [{}] on a line of its own", name.str()));
    }
    for (const auto& [key, value] : *section) {
      if (auto applied = apply_entry(config, name.str(), key, value, file); !applied) return applied.error();
    }
  }
  if (Status good = check_together(config, root, file); !good) return good.error();
  return config;
}

}  // namespace

Status check_fits_duty_cycle(const char* what, std::uint64_t ns, unsigned duty_percent) {
  const std::uint64_t run_ns = kDutyPeriodNs * duty_percent / 100;
  if (duty_percent == 100 || ns <= run_ns / 4) return success();
  return usage_error(std::string(what) + ": too few fit between two rests",
                     "give a shorter one, or a duty_cycle of 100%");
}

Status check_together(const Config& config) {
  if (Status good = check_samples(config); !good) return good;
  if (Status good = check_mode(config); !good || config.mode == Mode::watch) return good;
  const auto probed = parse_cpu_list(config.cpus);
  const auto housekeeping = parse_cpu_list(config.housekeeping_cpus);
  if (!probed || !housekeeping) return success();  // "isolated" is known at start only; then choose_cpus() checks
  std::vector<unsigned> both;
  std::set_intersection(probed.value().begin(), probed.value().end(), housekeeping.value().begin(),
                        housekeeping.value().end(), std::back_inserter(both));
  if (both.empty()) return success();
  return usage_error(fmt::format("housekeeping_cpus: CPUs {} are probed as well", format_cpu_list(both)),
                     "the daemon would disturb its own measurement: name others, or leave it empty");
}

std::optional<Config> watching_instead(Config config, const std::string& others) {
  if (config.cpus != "isolated" || config.mode == Mode::watch) return std::nullopt;
  const bool chooses = config.mode == Mode::turns && config.watched_cpus != "all";
  if (chooses && config.watched_cpus == "none") return std::nullopt;
  config.cpus = chooses ? config.watched_cpus : others;
  config.mode = Mode::watch;
  if (!check_together(config)) return std::nullopt;
  return config;
}

std::string differences(const Config& one, const Config& other) {
  struct Difference {
    bool differs;
    std::string_view key;
  };
  const Difference all[] = {
      {one.cpus != other.cpus, "probe.cpus"},
      {one.mode != other.mode, "probe.mode"},
      {one.quiet_ns != other.quiet_ns, "probe.quiet_time"},
      {one.watched_cpus != other.watched_cpus, "probe.watched_cpus"},
      {one.threshold_ns != other.threshold_ns, "probe.threshold"},
      {one.policy != other.policy, "probe.policy"},
      {one.priority != other.priority, "probe.priority"},
      {one.duty_percent != other.duty_percent, "probe.duty_cycle"},
      {one.quantum_ns != other.quantum_ns, "probe.quantum"},
      {one.work != other.work, "probe.work"},
      {one.grain_ns != other.grain_ns, "probe.grain"},
      {one.footprint != other.footprint, "probe.footprint"},
      {one.buffer_bytes != other.buffer_bytes, "trace.buffer_size"},
      {one.drain_interval_ns != other.drain_interval_ns, "trace.drain_interval"},
      {one.detail != other.detail, "trace.detail"},
      {one.socket != other.socket, "service.socket"},
      {one.socket_group != other.socket_group, "service.socket_group"},
      {one.listen != other.listen, "service.listen"},
      {one.housekeeping_cpus != other.housekeeping_cpus, "service.housekeeping_cpus"},
      {one.nice != other.nice, "service.nice"},
      {one.realtime != other.realtime, "service.realtime"},
      {one.realtime_budget_percent != other.realtime_budget_percent, "service.realtime_budget"},
      {one.metric_names != other.metric_names, "service.metric_names"},
      {one.socket_names != other.socket_names, "service.socket_names"},
      {one.series_cap != other.series_cap, "service.series_cap"},
      {one.log_level != other.log_level, "log.level"},
      {one.categories != other.categories, "categories"},
  };
  std::string keys;
  for (const Difference& each : all) {
    if (each.differs) keys += (keys.empty() ? "" : ", ") + std::string(each.key);
  }
  return keys;
}

Result<Config> parse_config(const std::string& text, const std::string& file) {
  try {
    return apply_sections(toml::parse(text, file), file);
  } catch (const toml::parse_error& error) {
    return usage_error(place(file, error.source()) + on_one_line(error.description()),
                       "the file is TOML; noised.conf of the distribution shows every key");
  }
}

Result<Config> read_config(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return usage_error(text.error().what, "name a readable configuration file with --config");
  return parse_config(text.value(), path);
}

}  // namespace noised::daemon
