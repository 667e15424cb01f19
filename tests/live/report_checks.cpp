// SPDX-License-Identifier: Apache-2.0
// Written from the contract alone, with its own sums: nothing here is shared with the code that makes reports.
#include "report_checks.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <vector>

namespace noised::live {
namespace {

enum class Type { text, count, number, number_or_null, boolean, list, object };
using Fields = std::map<std::string, Type>;

const Fields kReport = {{"schema", Type::text},  {"host", Type::text},        {"kernel", Type::text},
                        {"start", Type::text},   {"elapsed_ns", Type::count}, {"clock", Type::object},
                        {"lost", Type::object},  {"unsupported", Type::list}, {"cpus", Type::list},
                        {"sources", Type::list}, {"combinations", Type::list}};
const Fields kClock = {{"source", Type::text},
                       {"uncertainty_ns", Type::count},
                       {"containment", Type::number_or_null},
                       {"containment_cpu", Type::number_or_null}};
const Fields kLost = {{"events", Type::count},
                      {"detours", Type::count},
                      {"unpaired", Type::count},
                      {"missed_runs", Type::count},
                      {"incomplete_detours", Type::count}};
const Fields kCpu = {{"cpu", Type::count},
                     {"mode", Type::text},
                     {"observed_ns", Type::count},
                     {"iterations", Type::count},
                     {"threshold_ns", Type::count},
                     {"detours", Type::count},
                     {"detour_ns", Type::count},
                     {"max_detour_ns", Type::count},
                     {"explained_ns", Type::count},
                     {"overhead_ns", Type::count},
                     {"hypervisor_ns", Type::count},
                     {"hardware_ns", Type::count},
                     {"unexplained_ns", Type::count},
                     {"containment", Type::number_or_null}};
const Fields kSource = {{"cpu", Type::count},       {"category", Type::text}, {"kind", Type::text},
                        {"name", Type::text},       {"count", Type::count},   {"total_ns", Type::count},
                        {"min_ns", Type::count},    {"mean_ns", Type::count}, {"max_ns", Type::count},
                        {"stddev_ns", Type::count}, {"share", Type::number}};
const Fields kCombination = {
    {"sources", Type::list}, {"count", Type::count}, {"total_ns", Type::count}, {"max_ns", Type::count}};
const Fields kDetour = {{"cpu", Type::count},          {"start_ns", Type::count}, {"duration_ns", Type::count},
                        {"incomplete", Type::boolean}, {"entries", Type::list},   {"overhead_ns", Type::count}};
const Fields kEntry = {{"kind", Type::text}, {"name", Type::text}, {"self_ns", Type::count}, {"depth", Type::count}};

const std::set<std::string> kKinds = {"nmi",        "irq",      "vector",   "softirq",    "tasklet", "timer",
                                      "hrtimer",    "irq_work", "csd",      "task",       "work",    "page_fault",
                                      "hypervisor", "hardware", "overhead", "unexplained"};
const std::set<std::string> kCategories = {"periodic", "page_fault", "scheduling", "preemption", "io",         "ipi",
                                           "nmi",      "hypervisor", "hardware",   "overhead",   "unexplained"};
const std::set<std::string> kOutsideIntervals = {"hypervisor", "hardware", "overhead", "unexplained"};

bool is(const Json& value, Type type) {
  switch (type) {
    case Type::text:
      return value.is_string();
    case Type::count:
      return value.is_number_unsigned();
    case Type::number:
      return value.is_number();
    case Type::number_or_null:
      return value.is_number() || value.is_null();
    case Type::boolean:
      return value.is_boolean();
    case Type::list:
      return value.is_array();
    case Type::object:
      return value.is_object();
  }
  return false;
}

void check_has(const Json& object, const Fields& fields) {
  INFO(object.dump());
  REQUIRE(object.is_object());
  for (const auto& [name, type] : fields) {
    INFO("field " << name);
    REQUIRE(object.contains(name));
    REQUIRE(is(object.at(name), type));
  }
}

std::uint64_t count(const Json& object, const char* field) { return object.at(field).get<std::uint64_t>(); }
std::string text(const Json& object, const char* field) { return object.at(field).get<std::string>(); }

void check_source(const Json& source) {
  INFO(source.dump());
  const std::uint64_t times = count(source, "count");
  const std::uint64_t total = count(source, "total_ns");
  const std::uint64_t mean = count(source, "mean_ns");
  REQUIRE(times > 0);
  CHECK(count(source, "min_ns") <= mean);
  CHECK(mean <= count(source, "max_ns"));
  CHECK(count(source, "min_ns") * times <= total);
  CHECK(total <= count(source, "max_ns") * times);
  CHECK(std::abs(static_cast<double>(total) / static_cast<double>(times) - static_cast<double>(mean)) <= 1);
  // Of two values, the farthest apart that deviations can be from their mean; 1 for rounding.
  CHECK(count(source, "stddev_ns") <= count(source, "max_ns") - count(source, "min_ns") + 1);
}

// Sources of one CPU against its line.
void check_cpu(const Json& cpu, const Json& sources) {
  INFO(cpu.dump());
  std::uint64_t total = 0;
  std::uint64_t explained = 0;
  double shares = 0;
  std::map<std::string, std::uint64_t> outside;
  for (const Json& source : sources) {
    if (source.at("cpu") != cpu.at("cpu")) continue;
    check_source(source);
    total += count(source, "total_ns");
    shares += source.at("share").get<double>();
    (kOutsideIntervals.contains(text(source, "kind")) ? outside[text(source, "kind")] : explained) +=
        count(source, "total_ns");
  }
  CHECK(count(cpu, "explained_ns") + count(cpu, "overhead_ns") + count(cpu, "hypervisor_ns") +
            count(cpu, "hardware_ns") + count(cpu, "unexplained_ns") ==
        count(cpu, "detour_ns"));
  CHECK(total == count(cpu, "detour_ns"));
  CHECK(explained == count(cpu, "explained_ns"));
  for (const std::string& kind : kOutsideIntervals) {
    INFO(kind);
    CHECK(outside[kind] == count(cpu, (kind + "_ns").c_str()));
  }
  if (total > 0) CHECK(std::abs(shares - 1) < 1e-9);
  CHECK(count(cpu, "detour_ns") < count(cpu, "observed_ns"));
  CHECK(count(cpu, "max_detour_ns") <= count(cpu, "detour_ns"));
  CHECK(count(cpu, "detours") * count(cpu, "threshold_ns") <= count(cpu, "detour_ns"));
}

void check_combination(const Json& combination) {
  INFO(combination.dump());
  REQUIRE_FALSE(combination.at("sources").empty());
  for (const Json& source : combination.at("sources")) {
    const std::string name = source.get<std::string>();
    // "other" closes a list that was too long to keep.
    const bool last = &source == &combination.at("sources").back();
    CHECK((kKinds.contains(name.substr(0, name.find(':'))) || (name == "other" && last)));
  }
  CHECK(count(combination, "count") > 0);
  CHECK(count(combination, "max_ns") <= count(combination, "total_ns"));
  CHECK(count(combination, "total_ns") <= count(combination, "max_ns") * count(combination, "count"));
}

}  // namespace

Json object_in(const std::string& text) {
  INFO("text: " << text.substr(0, 2000));
  Json object = Json::parse(text, nullptr, false);
  REQUIRE_FALSE(object.is_discarded());
  REQUIRE(object.is_object());
  return object;
}

void check_fields(const Json& report) {
  check_has(report, kReport);
  for (const auto& [name, value] : report.items()) {
    INFO("field " << name);
    CHECK(kReport.contains(name));
  }
  CHECK(report.at("schema") == "noised.report/1");
  const std::regex rfc3339(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))");
  CHECK(std::regex_match(text(report, "start"), rfc3339));
  check_has(report.at("clock"), kClock);
  CHECK(report.at("clock").at("source") == "tsc");
  check_has(report.at("lost"), kLost);
  for (const Json& line : report.at("unsupported")) CHECK(line.is_string());
  for (const Json& cpu : report.at("cpus")) {
    check_has(cpu, kCpu);
    CHECK(cpu.at("mode") == "probe");
  }
  for (const Json& source : report.at("sources")) {
    check_has(source, kSource);
    INFO(source.dump());
    CHECK(kKinds.contains(text(source, "kind")));
    CHECK(kCategories.contains(text(source, "category")));
    CHECK_FALSE(text(source, "name").empty());
    if (kOutsideIntervals.contains(text(source, "kind"))) CHECK(source.at("category") == source.at("kind"));
  }
  for (const Json& combination : report.at("combinations")) check_has(combination, kCombination);
}

void check_ledger(const Json& report) {
  std::uint64_t detours = 0;
  std::uint64_t detour_ns = 0;
  std::uint64_t longest = 0;
  for (const Json& cpu : report.at("cpus")) {
    check_cpu(cpu, report.at("sources"));
    // Where tasks are watched all the time, it is what each of them was runnable: two at once count twice.
    if (cpu.at("mode") != "watch") CHECK(count(cpu, "observed_ns") <= count(report, "elapsed_ns"));
    detours += count(cpu, "detours");
    detour_ns += count(cpu, "detour_ns");
    longest = std::max(longest, count(cpu, "max_detour_ns"));
  }
  std::uint64_t combined = 0;
  std::uint64_t combined_ns = 0;
  std::uint64_t longest_combined = 0;
  for (const Json& combination : report.at("combinations")) {
    check_combination(combination);
    combined += count(combination, "count");
    combined_ns += count(combination, "total_ns");
    longest_combined = std::max(longest_combined, count(combination, "max_ns"));
  }
  CHECK(combined == detours);
  CHECK(combined_ns == detour_ns);
  CHECK(longest_combined == longest);
}

void check_detour(const Json& detour) {
  check_has(detour, kDetour);
  std::uint64_t sum = count(detour, "overhead_ns");
  for (const Json& entry : detour.at("entries")) {
    check_has(entry, kEntry);
    if (entry.contains("detail")) CHECK(entry.at("detail").is_object());
    CHECK(kKinds.contains(text(entry, "kind")));
    sum += count(entry, "self_ns");
  }
  INFO(detour.dump());
  CHECK(sum == count(detour, "duration_ns"));
}

bool is_lost_line(const Json& line) { return line.contains("lost_detours"); }

}  // namespace noised::live
