// SPDX-License-Identifier: Apache-2.0
// TOML in, Config out; a mistake is refused with its line rather than skipped, so no typing error goes unnoticed.
#include "service/config.h"

#include <toml++/toml.h>

#include <fmt/format.h>

#include "base/quote.h"
#include "base/read_file.h"
#include "service/settings.h"

namespace noised {

namespace {

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
  return names;
}

bool is_section(std::string_view name) {
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
      if (auto applied = apply_key(config, name.str(), key, value, file); !applied) return applied.error();
    }
  }
  return config;
}

}  // namespace

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

}  // namespace noised
