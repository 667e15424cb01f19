// SPDX-License-Identifier: Apache-2.0
#include "import/detour_list.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/saturating.h"
#include "base/text.h"
#include "model/sources.h"

namespace noised::imports {
namespace {

// As many as a recording may have (Playback).
constexpr unsigned kMostCpus = 8192;

constexpr const char* kColumnsRemedy =
    "the first line names the columns: start_ns, duration_ns or end_ns, and if there are any cpu and source";

struct Place {
  const std::string& name;
  std::size_t line = 0;

  [[nodiscard]] Error error(const std::string& what, const std::string& remedy) const {
    return usage_error(fmt::format("{}:{}: {}", name, line, what), remedy);
  }
};

/// The fields of a line; nothing where a quote is left open.
std::optional<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) return std::nullopt;
  return fields;
}

/// Where the columns are that count.
struct Columns {
  std::optional<std::size_t> cpu, start, duration, end, source;
  std::size_t count = 0;

  [[nodiscard]] bool are_enough() const { return start && (duration || end); }
  static Columns of(const std::vector<std::string>& names) {
    const auto find = [&names](std::string_view name) {
      const auto found = std::ranges::find(names, name);
      return found == names.end() ? std::nullopt
                                  : std::optional<std::size_t>(static_cast<std::size_t>(found - names.begin()));
    };
    return {find("cpu"), find("start_ns"), find("duration_ns"), find("end_ns"), find("source"), names.size()};
  }
};

/// A number such as 1234 or 1234.56, rounded; nothing for any other word.
std::optional<std::uint64_t> rounded(std::string_view word) {
  const std::size_t point = std::min(word.find('.'), word.size());
  const auto whole = to_number<std::uint64_t>(word.substr(0, point));
  if (!whole || point == word.size()) return whole;
  const std::string_view rest = word.substr(point + 1);
  if (rest.empty() || rest.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return rest.front() < '5' ? *whole : saturating_add(*whole, std::uint64_t{1});
}

class Sources {
 public:
  explicit Sources(std::vector<ListedSource>& all) : all_(all) {}

  std::size_t place_of(Kind kind, const std::string& name) {
    const auto [at, added] = places_.try_emplace({kind, name}, all_.size());
    if (added) all_.push_back({kind, name});
    return at->second;
  }

 private:
  std::vector<ListedSource>& all_;
  std::map<std::pair<Kind, std::string>, std::size_t> places_;
};

class ListReader {
 public:
  ListReader(std::string_view text, const std::string& name) : text_(text), place_{name} {}

  Result<DetourList> read() {
    const bool selfish = text_.starts_with("# Selfish");
    bool named = selfish;
    while (!text_.empty()) {
      std::string_view line = take_line(text_);
      ++place_.line;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || line.front() == '#') continue;
      const Status read = selfish ? read_pair(line) : named ? read_row(line) : read_columns(line);
      if (!read) return read.error();
      named = true;
    }
    if (list_.detours.empty()) return usage_error(place_.name + ": no detour is listed", kColumnsRemedy);
    if (Status order = put_in_order(); !order) return order.error();
    return std::move(list_);
  }

 private:
  Status read_columns(std::string_view line) {
    const auto fields = csv_fields(line);
    if (fields) columns_ = Columns::of(*fields);
    if (!columns_.are_enough()) return place_.error("no columns of detours", kColumnsRemedy);
    return success();
  }

  Status read_row(std::string_view line) {
    const auto fields = csv_fields(line);
    if (!fields) return place_.error("a quote is not closed", R"(quote a field as "...", and a quote in it as "")");
    if (fields->size() > columns_.count) {
      return place_.error(fmt::format("{} fields for {} columns", fields->size(), columns_.count),
                          "quote a field that has a comma");
    }
    const auto text = [&fields](std::optional<std::size_t> column) -> std::string_view {
      return column && *column < fields->size() ? std::string_view((*fields)[*column]) : std::string_view();
    };
    const auto cpu = columns_.cpu ? to_number<unsigned>(text(columns_.cpu)) : std::optional(0U);
    if (!cpu || *cpu >= kMostCpus)
      return place_.error("cpu is no number below 8192: " + in_quotes(text(columns_.cpu)), "name one CPU a line");
    const auto start_ns = to_number<std::uint64_t>(text(columns_.start));
    const auto other_ns = to_number<std::uint64_t>(text(columns_.duration ? columns_.duration : columns_.end));
    if (!start_ns || !other_ns) return bad_times();
    return add(*cpu, *start_ns, columns_.duration ? *start_ns + *other_ns : *other_ns, text(columns_.source));
  }

  Status read_pair(std::string_view line) {
    const auto start_ns = rounded(take_word(line));
    const auto duration_ns = rounded(take_word(line));
    if (!start_ns || !duration_ns || !take_word(line).empty())
      return place_.error("no time and duration in nanoseconds", "give two numbers, such as 1234.56 and 789.00");
    return add(0, *start_ns, *start_ns + *duration_ns, {});
  }

  [[nodiscard]] Error bad_times() const {
    return place_.error("a time is no whole number of nanoseconds", "give times such as 1234567");
  }

  Status add(unsigned cpu, std::uint64_t start_ns, std::uint64_t end_ns, std::string_view source) {
    if (end_ns <= start_ns) return place_.error("the detour does not end after its start", "leave it out");
    Kind kind = Kind::unexplained;
    std::string name(to_string(kind));
    if (!source.empty()) {
      const std::size_t colon = std::min(source.find(':'), source.size());
      const auto told = kind_named(source.substr(0, colon));
      if (!told || *told == Kind::none || colon + 1 >= source.size()) {
        return place_.error("source " + in_quotes(source) + " is no KIND:NAME",
                            "give such as task:crond, irq:eth0, hrtimer:tick, softirq:TIMER or hypervisor:hypervisor");
      }
      kind = *told;
      if (source.size() - colon - 1 > kLongestName)
        return place_.error(fmt::format("the name of a source has more than {} bytes", kLongestName), "shorten it");
      name = kind >= Kind::hypervisor ? std::string(to_string(kind)) : on_one_line(source.substr(colon + 1));
    }
    const std::size_t place = sources_.place_of(kind, name);
    if (place >= SourceTable::kTasks)
      return place_.error(fmt::format("more than {} sources", SourceTable::kTasks),
                          "give those that are alike one name");
    if (list_.detours.size() == kMostDetours)
      return place_.error(fmt::format("more than {} detours", kMostDetours), "import parts of the list");
    list_.detours.push_back({start_ns, end_ns, place, cpu, place_.line});
    return success();
  }

  Status put_in_order() {
    std::ranges::stable_sort(list_.detours, {}, [](const ListedDetour& each) { return std::tuple(each.start_ns); });
    std::map<unsigned, const ListedDetour*> last;
    for (const ListedDetour& detour : list_.detours) {
      const ListedDetour*& before = last[detour.cpu];
      if (before != nullptr && before->end_ns > detour.start_ns) {
        place_.line = detour.line;
        return place_.error(fmt::format("the detour overlaps that of line {} on CPU {}", before->line, detour.cpu),
                            "join those that overlap");
      }
      before = &detour;
    }
    return success();
  }

  std::string_view text_;
  Place place_;
  Columns columns_;
  DetourList list_;
  Sources sources_{list_.sources};
};

}  // namespace

Result<DetourList> read_detour_list(std::string_view text, const std::string& name) {
  return ListReader(text, name).read();
}

}  // namespace noised::imports
