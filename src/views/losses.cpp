// SPDX-License-Identifier: Apache-2.0
// Written as text, since the daemon does it many times a second; read as any other JSON.
#include "views/losses.h"

#include <fmt/format.h>

#include <iterator>

#include "model/json_fields.h"

namespace noised::views {
namespace {

constexpr const char* kLossesSchema = "noised.losses/1";
constexpr std::string_view kBegin = R"({"schema":"noised.losses/1",)";
constexpr std::size_t kLossFields = 4;

using Buffer = fmt::memory_buffer;

// Calls visit for each item of the array, with its place.
template <typename Visit>
void each_array(const Fields& fields, const char* key, std::size_t least, Visit visit) {
  const Json* items = fields.array(key);
  if (items == nullptr) return;
  for (const Json& item : *items) {
    if (!item.is_array() || item.size() < least) return fields.fail(key, "one is not an array of that length");
    if (!visit(item)) return fields.fail(key, "one has something of another type");
  }
}

bool read(const Json& item, std::uint64_t& out) {
  if (!item.is_number_unsigned()) return false;
  out = item.get<std::uint64_t>();
  return true;
}

bool read(const Json& item, std::uint32_t& out) {
  std::uint64_t wide = 0;
  if (!read(item, wide) || wide > UINT32_MAX) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}

bool read(const Json& item, std::string& out) {
  if (!item.is_string()) return false;
  out = item.get<std::string>();
  return true;
}

bool read_loss(const Json& item, LossView& loss) {
  if (!read(item[0], loss.pid) || !read(item[1], loss.start_ns) || !read(item[2], loss.duration_ns)) return false;
  if (!item[3].is_boolean() || item.size() % 2 != 0 || loss.start_ns + loss.duration_ns < loss.start_ns) return false;
  loss.incomplete = item[3].get<bool>();
  std::uint64_t rest_ns = loss.duration_ns;
  loss.parts.reserve((item.size() - kLossFields) / 2);
  for (std::size_t at = kLossFields; at < item.size(); at += 2) {
    std::pair<unsigned, std::uint64_t> part;
    if (!read(item[at], part.first) || !read(item[at + 1], part.second) || part.second > rest_ns) return false;
    rest_ns -= part.second;
    loss.parts.push_back(part);
  }
  return rest_ns == 0;
}

void read_losses(LossesView& losses, const Fields& fields) {
  fields.schema(kLossesSchema);
  fields("since_ns", losses.since_ns);
  fields("settled_ns", losses.settled_ns);
  fields("dropped", losses.dropped);
  each_array(fields, "running", 2, [&](const Json& item) {
    auto& [pid, start_ns] = losses.running.emplace_back();
    return read(item[0], pid) && read(item[1], start_ns);
  });
  if (const Json* watched = fields.array("watched")) {
    losses.watched.reserve(watched->size());
    for (const Json& pid : *watched) {
      if (!read(pid, losses.watched.emplace_back())) return fields.fail("watched", "one is no pid");
    }
  }
  each_array(fields, "sources", 4, [&](const Json& item) {
    LossSource& source = losses.sources.emplace_back();
    return read(item[0], source.number) && read(item[1], source.category) && read(item[2], source.kind) &&
           read(item[3], source.name);
  });
  each_array(fields, "losses", kLossFields,
             [&](const Json& item) { return read_loss(item, losses.losses.emplace_back()); });
}

const char* separator(bool first) { return first ? "" : ","; }

}  // namespace

std::string to_json(const LossesView& losses) {
  Buffer line;
  const auto end = std::back_inserter(line);
  fmt::format_to(end, R"({}"since_ns":{},"settled_ns":{},"dropped":{},"running":[)", kBegin, losses.since_ns,
                 losses.settled_ns, losses.dropped);
  bool first = true;
  for (const auto& [pid, start_ns] : losses.running)
    fmt::format_to(end, "{}[{},{}]", separator(std::exchange(first, false)), pid, start_ns);
  fmt::format_to(end, R"(],"watched":[{}],"sources":[)", fmt::join(losses.watched, ","));
  first = true;
  for (const LossSource& source : losses.sources)
    fmt::format_to(end, "{}{}", separator(std::exchange(first, false)),
                   dump(Json::array({source.number, source.category, source.kind, source.name})));
  fmt::format_to(end, R"(],"losses":[)");
  first = true;
  for (const LossView& loss : losses.losses) {
    fmt::format_to(end, "{}[{},{},{},{}", separator(std::exchange(first, false)), loss.pid, loss.start_ns,
                   loss.duration_ns, loss.incomplete);
    for (const auto& [source, ns] : loss.parts) fmt::format_to(end, ",{},{}", source, ns);
    line.push_back(']');
  }
  fmt::format_to(end, "]}}");
  return fmt::to_string(line);
}

bool is_losses(std::string_view line) { return line.starts_with(kBegin); }

Result<LossesView> parse_losses(std::string_view json) { return parse_as<LossesView>(json, "losses", read_losses); }

}  // namespace noised::views
