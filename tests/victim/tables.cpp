// SPDX-License-Identifier: Apache-2.0
// Columns in microseconds, so that they can be added up.
#include "victim/tables.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/json_fields.h"
#include "views/text.h"

namespace noised::victim {
namespace {

using views::Table;

std::string us(std::uint64_t ns) { return fmt::format("{:.1f}", static_cast<double>(ns) / 1000); }
std::string signed_us(std::uint64_t more, std::uint64_t less) {
  return fmt::format("{:+.1f}", (static_cast<double>(more) - static_cast<double>(less)) / 1000);
}
std::string percent(double ratio) { return ratio == 0 ? "-" : fmt::format("{:.2f}%", ratio * 100); }

std::string sources_text(const std::vector<SourceRow>& rows) {
  using enum Table::Align;
  Table table({{"SOURCE", left},
               {"COUNT", right},
               {"SUFFERED us", right},
               {"EXPLAINED", right},
               {"OVERHEAD", right},
               {"MISSING", right},
               {"NOT SUFFERED", right},
               {"REPORTED", right}});
  for (const SourceRow& row : rows)
    table.add({printable(row.kind + " " + row.name), std::to_string(row.count), us(row.suffered_ns),
               us(row.explained_ns), us(row.overhead_ns), signed_us(row.suffered_ns, row.reported_ns()),
               us(row.not_suffered_ns), percent(row.ratio())});
  return table.text();
}

std::string totals_text(const Comparison& sums) {
  std::string text =
      fmt::format("lost {} us in {} gaps; reported {} us in {} detours ({} in doubt): {}\n", us(sums.gap_ns), sums.gaps,
                  us(sums.reported_ns), sums.detours, sums.incomplete, percent(sums.ratio()));
  text += fmt::format("of what was lost: {} us reported, {} us in {} gaps without a detour, {} us beside detours\n",
                      us(sums.suffered_ns), us(sums.unreported_ns), sums.unreported_gaps, us(sums.beside_ns));
  text += fmt::format("reported without a gap: {} us, {} us of it too short to be one; while asleep: {} us\n",
                      us(sums.not_suffered_ns), us(sums.short_ns), us(sums.asleep_ns));
  if (sums.late_ns != 0)
    text += fmt::format("late after sleeps: {} us, {} us of it not reported\n", us(sums.late_ns),
                        us(sums.late_unreported_ns));
  return text;
}

std::string struck_text(const std::vector<Struck>& rows) {
  using enum Table::Align;
  Table table({{"NOISE", left},
               {"DONE", right},
               {"STRUCK", right},
               {"GAPS", right},
               {"LOST us", right},
               {"WALL", right},
               {"CPU", right},
               {"CHARGED", right},
               {"SHOWN", right},
               {"SHOWN us", right},
               {"LOST/CPU", right}});
  for (const Struck& row : rows) {
    const double ratio = row.cpu_ns == 0 ? 0 : static_cast<double>(row.gap_ns) / static_cast<double>(row.cpu_ns);
    table.add({row.mode, std::to_string(row.occurrences), std::to_string(row.struck), std::to_string(row.gaps),
               us(row.gap_ns), us(row.wall_ns), us(row.cpu_ns), us(row.charged_ns), std::to_string(row.shown),
               us(row.shown_ns), percent(ratio)});
  }
  return table.text();
}

Json source_json(const SourceRow& row) {
  return Json{{"kind", row.kind},
              {"name", row.name},
              {"count", row.count},
              {"suffered_ns", row.suffered_ns},
              {"explained_ns", row.explained_ns},
              {"overhead_ns", row.overhead_ns},
              {"not_suffered_ns", row.not_suffered_ns},
              {"ratio", row.ratio()}};
}

Json struck_json(const Struck& row) {
  return Json{{"mode", row.mode},        {"occurrences", row.occurrences}, {"struck", row.struck},
              {"gaps", row.gaps},        {"gap_ns", row.gap_ns},           {"wall_ns", row.wall_ns},
              {"cpu_ns", row.cpu_ns},    {"charged_ns", row.charged_ns},   {"shown", row.shown},
              {"shown_ns", row.shown_ns}};
}

}  // namespace

std::string to_text(const Account& account, const Comparison& comparison, const std::vector<Struck>& struck) {
  std::string text = sources_text(comparison.sources) + "\n" + totals_text(comparison);
  if (account.gaps_missed != 0) text += fmt::format("{} gaps had no room in the account\n", account.gaps_missed);
  if (!struck.empty()) text += "\n" + struck_text(struck);
  return text;
}

std::string to_json(const Account& account, const Comparison& comparison, const std::vector<Struck>& struck) {
  Json json{{"schema", "noised.victim_comparison/1"},
            {"gaps", comparison.gaps},
            {"gaps_missed", account.gaps_missed},
            {"gap_ns", comparison.gap_ns},
            {"late_ns", comparison.late_ns},
            {"detours", comparison.detours},
            {"incomplete", comparison.incomplete},
            {"reported_ns", comparison.reported_ns},
            {"suffered_ns", comparison.suffered_ns},
            {"ratio", comparison.ratio()},
            {"unreported_gaps", comparison.unreported_gaps},
            {"unreported_ns", comparison.unreported_ns},
            {"beside_ns", comparison.beside_ns},
            {"late_unreported_ns", comparison.late_unreported_ns},
            {"not_suffered_ns", comparison.not_suffered_ns},
            {"short_ns", comparison.short_ns},
            {"asleep_ns", comparison.asleep_ns}};
  json["sources"] = Json::array();
  for (const SourceRow& row : comparison.sources) json["sources"].push_back(source_json(row));
  json["noise"] = Json::array();
  for (const Struck& row : struck) json["noise"].push_back(struck_json(row));
  return dump(json);
}

}  // namespace noised::victim
