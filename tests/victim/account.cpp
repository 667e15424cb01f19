// SPDX-License-Identifier: Apache-2.0
// Sums of the account, and the account as JSON.
#include "victim/account.h"

#include <array>

#include "model/json_fields.h"

namespace noised::victim {
namespace {

constexpr auto kKernelCountsFields = [](auto& counts, const auto& field) {
  field("voluntary", counts.voluntary);
  field("involuntary", counts.involuntary);
  field("minor_faults", counts.minor_faults);
  field("major_faults", counts.major_faults);
  field("run_ns", counts.run_ns);
  field("wait_ns", counts.wait_ns);
  field("timeslices", counts.timeslices);
};

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

Json gaps_json(const std::vector<Gap>& gaps) {
  Json json = Json::array();
  for (const Gap& gap : gaps) json.push_back(Json::array({gap.start_ns, gap.end_ns}));
  return json;
}

Json sleeps_json(const std::vector<Sleep>& sleeps) {
  Json json = Json::array();
  for (const Sleep& sleep : sleeps) json.push_back(Json::array({sleep.start_ns, sleep.due_ns, sleep.end_ns}));
  return json;
}

void read_gaps(const Fields& fields, std::vector<Gap>& gaps) {
  read_times<2>(fields, "gaps", [&](const auto& times) { gaps.push_back({times[0], times[1]}); });
}

void read_sleeps(const Fields& fields, std::vector<Sleep>& sleeps) {
  read_times<3>(fields, "sleeps", [&](const auto& times) { sleeps.push_back({times[0], times[1], times[2]}); });
}

constexpr auto kAccountFields = [](auto& account, const auto& field) {
  field.schema("noised.victim/1");
  field("pid", account.pid);
  field("cpu", account.cpu);
  field("threshold_ns", account.threshold_ns);
  field("first_ns", account.first_ns);
  field("last_ns", account.last_ns);
  field("iterations", account.iterations);
  field.derived("iteration_ns", account.iteration_ns());
  field.derived("voluntary_ns", account.voluntary_ns());
  field.derived("late_ns", account.late_ns());
  field("calls_ns", account.calls_ns);
  field("faults", account.faults);
  field.derived("lost_ns", account.lost_ns());
  field("gaps_missed", account.gaps_missed);
  field("clock_uncertainty_ns", account.clock_uncertainty_ns);
  field("steal_ns", account.steal_ns);
  field.custom("gaps", account.gaps, gaps_json, read_gaps);
  field.custom("sleeps", account.sleeps, sleeps_json, read_sleeps);
  field("status", account.status, kKernelCountsFields);
};

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

std::string to_json(const Account& account) { return dump(fields_json(account, kAccountFields)); }

Result<Account> parse_account(std::string_view json) { return parse_as<Account>(json, "victim", kAccountFields); }

}  // namespace noised::victim
