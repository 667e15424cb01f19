// SPDX-License-Identifier: Apache-2.0
// Sums of the account, and the account as JSON.
#include "victim/account.h"

#include <array>

#include "views/json_fields.h"

namespace noised::victim {
namespace {

using views::Fields;
using views::Json;

constexpr std::string_view kSchema = "noised.victim/1";

Json counts_json(const KernelCounts& counts) {
  return Json{
      {"voluntary", counts.voluntary},       {"involuntary", counts.involuntary}, {"minor_faults", counts.minor_faults},
      {"major_faults", counts.major_faults}, {"run_ns", counts.run_ns},           {"wait_ns", counts.wait_ns},
      {"timeslices", counts.timeslices}};
}

void read_counts(const Fields& fields, KernelCounts& counts) {
  fields.read("voluntary", counts.voluntary);
  fields.read("involuntary", counts.involuntary);
  fields.read("minor_faults", counts.minor_faults);
  fields.read("major_faults", counts.major_faults);
  fields.read("run_ns", counts.run_ns);
  fields.read("wait_ns", counts.wait_ns);
  fields.read("timeslices", counts.timeslices);
}

// Calls visit with the kSize rising times of each item, none of which is before the last of the item in front of it.
template <std::size_t kSize, typename Visit>
void read_times(const Fields& fields, const char* key, Visit visit) {
  const Json* items = fields.array(key);
  if (items == nullptr) return;
  std::uint64_t last = 0;
  for (const Json& item : *items) {
    std::array<std::uint64_t, kSize> times{};
    if (!item.is_array() || item.size() != kSize) return fields.fail(key, "one is not a list of as many times");
    for (std::size_t i = 0; i < kSize; ++i) {
      if (!item[i].is_number_unsigned()) return fields.fail(key, "one is not a time");
      times.at(i) = item[i].get<std::uint64_t>();
      if (times.at(i) < last) return fields.fail(key, "not in order");
      last = times.at(i);
    }
    visit(times);
  }
}

void read_account(const Fields& fields, Account& account) {
  views::expect_schema(fields, kSchema);
  fields.read("pid", account.pid);
  fields.read("cpu", account.cpu);
  fields.read("threshold_ns", account.threshold_ns);
  fields.read("first_ns", account.first_ns);
  fields.read("last_ns", account.last_ns);
  fields.read("iterations", account.iterations);
  fields.read("calls_ns", account.calls_ns);
  fields.read("faults", account.faults);
  fields.read("gaps_missed", account.gaps_missed);
  fields.read("clock_uncertainty_ns", account.clock_uncertainty_ns);
  fields.read("steal_ns", account.steal_ns);
  fields.object("status", [&](const Fields& inner) { read_counts(inner, account.status); });
  read_times<2>(fields, "gaps", [&](const auto& times) { account.gaps.push_back({times[0], times[1]}); });
  read_times<3>(fields, "sleeps", [&](const auto& times) { account.sleeps.push_back({times[0], times[1], times[2]}); });
}

}  // namespace

std::uint64_t Account::lost_ns() const {
  std::uint64_t sum = 0;
  for (const Gap& gap : gaps) sum += gap.end_ns - gap.start_ns;
  return sum;
}

std::uint64_t Account::voluntary_ns() const {
  std::uint64_t sum = 0;
  for (const Sleep& sleep : sleeps) sum += sleep.due_ns - sleep.start_ns;
  return sum;
}

std::uint64_t Account::late_ns() const {
  std::uint64_t sum = 0;
  for (const Sleep& sleep : sleeps) sum += sleep.end_ns - sleep.due_ns;
  return sum;
}

double Account::iteration_ns() const {
  const std::uint64_t elsewhere = lost_ns() + voluntary_ns() + late_ns() + calls_ns;
  const std::uint64_t elapsed = last_ns - first_ns;
  if (iterations == 0 || elapsed < elsewhere) return 0;
  return static_cast<double>(elapsed - elsewhere) / static_cast<double>(iterations);
}

std::string to_json(const Account& account) {
  Json json{{"schema", kSchema},
            {"pid", account.pid},
            {"cpu", account.cpu},
            {"threshold_ns", account.threshold_ns},
            {"first_ns", account.first_ns},
            {"last_ns", account.last_ns},
            {"iterations", account.iterations},
            {"iteration_ns", account.iteration_ns()},
            {"voluntary_ns", account.voluntary_ns()},
            {"late_ns", account.late_ns()},
            {"calls_ns", account.calls_ns},
            {"faults", account.faults},
            {"lost_ns", account.lost_ns()},
            {"gaps_missed", account.gaps_missed},
            {"clock_uncertainty_ns", account.clock_uncertainty_ns},
            {"steal_ns", account.steal_ns}};
  json["gaps"] = Json::array();
  for (const Gap& gap : account.gaps) json["gaps"].push_back(Json::array({gap.start_ns, gap.end_ns}));
  json["sleeps"] = Json::array();
  for (const Sleep& sleep : account.sleeps)
    json["sleeps"].push_back(Json::array({sleep.start_ns, sleep.due_ns, sleep.end_ns}));
  json["status"] = counts_json(account.status);
  return views::dump(json);
}

Result<Account> parse_account(std::string_view json) { return views::parse_as<Account>(json, "victim", read_account); }

}  // namespace noised::victim
