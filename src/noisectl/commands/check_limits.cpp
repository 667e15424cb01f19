// SPDX-License-Identifier: Apache-2.0
// Limits of noise, of a file or of the command line.
#include <toml++/toml.h>

#include <fmt/format.h>

#include <utility>

#include "base/cpus.h"
#include "base/text.h"
#include "base/units.h"
#include "noisectl/commands/check.h"

namespace noised::client {
namespace {

constexpr const char* kKeys = R"(the keys are max_detour, max_share, sources and cpus, such as max_detour = "20us")";

std::string line_of(const std::string& file, const toml::source_region& region) {
  return fmt::format("{}:{}: ", file, region.begin.line);
}

Status wrong_type(const std::string& file, const toml::node& node, const std::string& key) {
  return usage_error(fmt::format("{}{} has the wrong type", line_of(file, node.source()), key),
                     key == "sources" ? R"(write ["task:agent*=20us"])" : "write text in double quotes");
}

Status read_text(const std::string& file, const std::string& name, LimitKey key, const toml::node& node,
                 analysis::NoiseLimits& limits) {
  if (!node.is_string()) return wrong_type(file, node, name);
  const Status read = read_limit(key, node.as_string()->get(), limits);
  return read ? read
              : usage_error(fmt::format("{}{}: {}", line_of(file, node.source()), name, read.error().what),
                            read.error().remedy);
}

Status read_key(const std::string& file, const toml::key& key, const toml::node& node, analysis::NoiseLimits& limits) {
  const std::string name(key.str());
  if (name == "max_detour") return read_text(file, name, LimitKey::max_detour, node, limits);
  if (name == "max_share") return read_text(file, name, LimitKey::max_share, node, limits);
  if (name == "cpus") return read_text(file, name, LimitKey::cpus, node, limits);
  if (name != "sources")
    return usage_error(fmt::format("{}unknown key {}", line_of(file, key.source()), in_quotes(name)), kKeys);
  const toml::array* const array = node.as_array();
  if (array == nullptr) return wrong_type(file, node, name);
  for (const toml::node& each : *array) {
    if (Status read = read_text(file, name, LimitKey::source, each, limits); !read) return read;
  }
  return success();
}

template <typename Value>
Status take(Result<Value> value, std::optional<Value>& limit) {
  if (!value) return value.error();
  limit = std::move(value).value();
  return success();
}

}  // namespace

Status read_limit(LimitKey key, const std::string& text, analysis::NoiseLimits& limits) {
  switch (key) {
    case LimitKey::max_detour:
      return take(parse_time(text), limits.max_detour_ns);
    case LimitKey::max_share:
      return take(parse_share(text), limits.max_share);
    case LimitKey::cpus:
      return take(parse_cpu_list(text), limits.cpus);
    case LimitKey::source:
      break;
  }
  auto limit = analysis::parse_source_limit(text);
  if (!limit) return limit.error();
  limits.sources.push_back(std::move(limit).value());
  return success();
}

Result<analysis::NoiseLimits> parse_limits(const std::string& text, const std::string& file) {
  try {
    analysis::NoiseLimits limits;
    const toml::table root = toml::parse(text, file);
    for (const auto& [key, node] : root) {
      if (Status read = read_key(file, key, node, limits); !read) return read.error();
    }
    return limits;
  } catch (const toml::parse_error& error) {
    return usage_error(line_of(file, error.source()) + on_one_line(error.description()), kKeys);
  }
}

}  // namespace noised::client
