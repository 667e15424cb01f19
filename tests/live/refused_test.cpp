// SPDX-License-Identifier: Apache-2.0
// A kernel whose verifier refuses some of the programs: the others run, and what is missing is said.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "base/cpus.h"
#include "measurement.h"

using namespace noised;
using namespace noised::live;

namespace {

bool told(const Tracer& tracer, const std::string& begin, const std::string& end) {
  return std::ranges::any_of(tracer.unsupported(), [&](const std::string& each) {
    return each.starts_with(begin + ": this kernel refuses the program ") && each.ends_with(end);
  });
}

}  // namespace

TEST_CASE("refused: what needs a program that the verifier refuses is listed, and the rest is seen") {
  const unsigned cpu = probed_cpu();
  MeasurementOptions options;
  options.spoil = {"softirq_exit", "page_fault_user", "sched_waking"};
  Measurement measurement(cpu, options);
  const Tracer& tracer = measurement.tracer();
  for (const char* tracepoint : {"softirq_entry", "softirq_exit", "page_fault_user", "sched_waking"})
    CHECK_FALSE(tracer.attached(tracepoint));
  for (const char* tracepoint : {"local_timer_entry", "local_timer_exit", "sched_switch", "sched_migrate_task"})
    CHECK(tracer.attached(tracepoint));
  CHECK(told(tracer, "softirq", "or as a gap without kernel activity"));
  CHECK(told(tracer, "page_fault user", "they are not counted"));
  CHECK(told(tracer, "waker of a task", "it is not named"));
  measurement.begin();
  measurement.run(500);
  measurement.end();
  const Report report = measurement.report();
  std::size_t softirqs = 0;
  std::size_t others = 0;
  for (const ReportSource& source : report.sources) ++(source.kind == "softirq" ? softirqs : others);
  CHECK(softirqs == 0);
  if (has_tick(cpu)) {
    CHECK(seen(report, "vector", "local_timer").count != 0);
    CHECK(others != 0);
  }
  CHECK(report.lost.events == 0);
}

TEST_CASE("refused: without the program that sees tasks come and go nothing starts") {
  TracerOptions options;
  options.cpus = {probed_cpu()};
  options.possible_cpus = possible_cpus().value().back() + 1U;
  options.buffer_bytes = std::uint64_t{1} << 20U;
  options.spoil = {"sched_switch"};
  const auto tracer = Tracer::load(options);
  REQUIRE_FALSE(tracer);
  CHECK(tracer.error().what.starts_with("task: this kernel refuses the program btf_sched_switch: "));
  CHECK(tracer.error().remedy == "without it no attribution would be true");
}
