// SPDX-License-Identifier: Apache-2.0
// Clock, lost counters, sources and what is unsupported.
#include "views/json_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.h"
#include "views/format.h"
#include "views/views.h"

namespace noised::views {

Json clock_json(const ReportClock& clock) {
  Json json{{"source", clock.source},
            {"uncertainty_ns", clock.uncertainty_ns},
            {"containment", nullptr},
            {"containment_cpu", nullptr}};
  if (clock.containment) json["containment"] = *clock.containment;
  if (clock.containment_cpu) json["containment_cpu"] = *clock.containment_cpu;
  return json;
}

Json lost_json(const ReportLost& lost) {
  Json by = Json::array();
  for (const ReportLoss& loss : lost.by) {
    by.push_back(Json{{"cpu", nullptr}, {"reason", loss.reason}, {"count", loss.count}});
    if (loss.cpu) by.back()["cpu"] = *loss.cpu;
  }
  return Json{{"events", lost.events},
              {"detours", lost.detours},
              {"unpaired", lost.unpaired},
              {"missed_runs", lost.missed_runs},
              {"incomplete_detours", lost.incomplete_detours},
              {"by", std::move(by)}};
}

void read_clock(const Fields& fields, ReportClock& clock) {
  fields.read("source", clock.source);
  fields.read("uncertainty_ns", clock.uncertainty_ns);
  fields.read("containment", clock.containment);
  if (fields.optional("containment_cpu") != nullptr) fields.read("containment_cpu", clock.containment_cpu);
}

void read_lost(const Fields& fields, ReportLost& lost) {
  fields.read("events", lost.events);
  fields.read("detours", lost.detours);
  fields.read("unpaired", lost.unpaired);
  fields.read("missed_runs", lost.missed_runs);
  fields.read("incomplete_detours", lost.incomplete_detours);
  fields.each("by", [&](const Fields& item) {
    ReportLoss& loss = lost.by.emplace_back();
    std::optional<std::uint64_t> cpu;
    item.read("cpu", cpu);
    if (cpu) loss.cpu = static_cast<unsigned>(*cpu);
    item.read("reason", loss.reason);
    item.read("count", loss.count);
  });
}

namespace {

constexpr auto kSource = [](auto& source, const auto& field) {
  field("category", source.category);
  field("kind", source.kind);
  field("name", source.name);
  field("count", source.count);
  field("total_ns", source.total_ns);
  field("min_ns", source.min_ns);
  field("mean_ns", source.mean_ns);
  field("max_ns", source.max_ns);
  field("stddev_ns", source.stddev_ns);
  field("share", source.share);
};

constexpr auto kCombination = [](auto& combination, const auto& field) {
  field("sources", combination.sources);
  field("count", combination.count);
  field("total_ns", combination.total_ns);
  field("max_ns", combination.max_ns);
  field("min_ns", combination.min_ns);
  field("mean_ns", combination.mean_ns);
  field("stddev_ns", combination.stddev_ns);
};

}  // namespace

Json source_json(const ReportSource& source) { return members_json(kSource, source); }

void read_source(const Fields& fields, ReportSource& source) { read_members(fields, kSource, source); }

Json combination_json(const ReportCombination& combination) { return members_json(kCombination, combination); }

void read_combination(const Fields& fields, ReportCombination& combination) {
  read_members(fields, kCombination, combination);
}

Json categories_json(const std::vector<std::pair<std::string, std::uint64_t>>& categories) {
  Json json = Json::object();
  for (const auto& [category, ns] : categories) json[category] = ns;
  return json;
}

void read_categories(const Fields& fields, std::vector<std::pair<std::string, std::uint64_t>>& categories) {
  const Json* found = fields.optional("categories");
  if (found == nullptr) return fields.fail("categories", "missing");
  if (!found->is_object()) return fields.fail("categories", "not an object");
  for (const auto& [category, ns] : found->items()) {
    if (!ns.is_number_unsigned()) return fields.fail("categories." + category, "not an unsigned integer");
    categories.emplace_back(category, ns.get<std::uint64_t>());
  }
}

bool anything_lost(const ReportLost& lost) {
  return !lost.by.empty() ||
         (lost.events | lost.detours | lost.unpaired | lost.missed_runs | lost.incomplete_detours) != 0;
}

std::string lost_totals_text(const ReportLost& lost) {
  if (!anything_lost(lost)) return "nothing lost";
  return fmt::format("{} events, {} detours, {} unpaired, {} missed runs, {} incomplete detours", lost.events,
                     lost.detours, lost.unpaired, lost.missed_runs, lost.incomplete_detours);
}

std::string loss_text(const ReportLoss& loss) {
  return fmt::format("{} {}{}", loss.count, printable(loss.reason),
                     loss.cpu ? fmt::format(" on CPU {}", *loss.cpu) : "");
}

std::string lost_text(const ReportLost& lost) {
  std::string text = lost_totals_text(lost);
  for (std::size_t i = 0; i < lost.by.size(); ++i) text += (i == 0 ? " (" : ", ") + loss_text(lost.by[i]);
  return text + (lost.by.empty() ? "" : ")");
}

std::string clock_text(const ReportClock& clock) {
  const std::string containment =
      clock.containment ? format_containment(*clock.containment) : std::string("not known yet");
  const std::string where = clock.containment_cpu ? fmt::format(" (CPU {})", *clock.containment_cpu) : "";
  return fmt::format("clock {}, uncertainty {}, containment {}{}", printable(clock.source),
                     format_duration(clock.uncertainty_ns), containment, where);
}

std::string blind_text(const ReportLost& lost) {
  std::vector<unsigned> cpus;
  std::uint64_t unseen = 0;
  for (const ReportLoss& loss : lost.by) {
    if (loss.reason != kBlind || !loss.cpu) continue;
    cpus.push_back(*loss.cpu);
    unseen += loss.count;
  }
  if (cpus.empty()) return "";
  std::ranges::sort(cpus);
  return fmt::format(
      "CPU{} {} {} blind: the kernel counted {} interrupts there that noised did not see; do not believe what it says "
      "of "
      "{}",
      cpus.size() == 1 ? "" : "s", format_cpu_list(cpus), cpus.size() == 1 ? "was" : "were", unseen,
      cpus.size() == 1 ? "it" : "them");
}

Status check_not_blind(const ReportLost& lost) {
  std::string text = blind_text(lost);
  if (text.empty()) return success();
  return failure(std::move(text),
                 "restart noised, and run 'noisectl selftest'; what is blind then is a defect of noised's");
}

std::string unsupported_text(const std::vector<std::string>& unsupported) {
  if (unsupported.empty()) return "unsupported: nothing\n";
  std::string text = "unsupported:\n";
  for (const std::string& line : unsupported) text += "  " + printable(line) + "\n";
  return text;
}

}  // namespace noised::views
