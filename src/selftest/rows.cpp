// SPDX-License-Identifier: Apache-2.0
// The result of a self-test for programs and for people.
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "model/json_fields.h"
#include "selftest/compare.h"
#include "views/text.h"

namespace noised::selftest {
namespace {

using views::Table;

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "PASS";
    case Verdict::fail:
      return "FAIL";
    case Verdict::unsupported:
      return "unsupported";
  }
  assert(false);
  return "";
}

Json row_json(const Row& row) {
  Json json{{"mode", row.mode},
            {"cpu", row.cpu},
            {"how", row.how},
            {"injected", row.injected},
            {"found", row.found},
            {"missed", row.missed},
            {"misattributed", row.misattributed},
            {"in_doubt", row.in_doubt},
            {"least_recall", row.least_recall()},
            {"least_precision", row.least_precision()},
            {"blamed", row.blamed},
            {"timed", row.timed},
            {"time_error_percent", Json()},
            {"time_uncertainty_percent", Json()},
            {"verdict", verdict_text(row.verdict)},
            {"reason", Json()},
            {"attempts", row.attempts},
            {"undecided", row.undecided}};
  if (row.shared) json["misattributed"] = json["least_precision"] = Json();
  if (row.time_error) {
    json["time_error_percent"] = *row.time_error * 100;
    json["time_uncertainty_percent"] = row.time_uncertainty * 100;
  }
  if (!row.reason.empty()) json["reason"] = row.reason;
  return json;
}

}  // namespace

std::string rows_to_json(const std::vector<Row>& rows) {
  Json json{{"schema", "noised.selftest/1"}, {"pass", all_pass(rows)}, {"rows", Json::array()}};
  for (const Row& row : rows) json["rows"].push_back(row_json(row));
  return dump(json);
}

namespace {

// "> 97.3%": rounded down, for it is a bound.
std::string bound_text(std::uint64_t of, double least) {
  return of == 0 ? "-" : fmt::format("> {:.2f}%", std::floor(least * 1e4) / 100);
}

}  // namespace

std::string rows_to_text(const std::vector<Row>& rows) {
  using enum Table::Align;
  Table table({{"mode", left},
               {"cpu", right},
               {"injected", right},
               {"found", right},
               {"missed", right},
               {"misattributed", right},
               {"in doubt", right},
               {"recall", right},
               {"precision", right},
               {"time error", right},
               {"", left}});
  for (const Row& row : rows) {
    std::string verdict(verdict_text(row.verdict));
    if (row.attempts > 1) verdict += fmt::format(", attempt {}", row.attempts);
    std::vector<std::string> cells{row.mode, std::to_string(row.cpu)};
    for (const std::uint64_t count : {row.injected, row.found, row.missed, row.misattributed, row.in_doubt})
      cells.push_back(row.verdict == Verdict::unsupported ? "-" : std::to_string(count));
    if (row.shared) cells[5] = "-";
    cells.push_back(bound_text(row.found + row.missed, row.least_recall()));
    cells.push_back(bound_text(row.shared ? 0 : row.shown, row.least_precision()));
    cells.push_back(
        row.time_error ? fmt::format("{:+.2f}% ± {:.2f}%", *row.time_error * 100, row.time_uncertainty * 100) : "-");
    cells.push_back(row.reason.empty() ? verdict : verdict + ": " + printable(row.reason));
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace noised::selftest
