// SPDX-License-Identifier: Apache-2.0
// JSON views: byte for byte the contract, back again without loss, and errors that name the field.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "unit/base/texts.h"
#include "unit/views/examples.h"
#include "views/detour.h"
#include "views/views.h"

using namespace noised;
using noised::test::replaced;

TEST_CASE("the report has the contract's fields in the contract's order", "[views]") {
  CHECK(
      views::to_json(examples::report()) ==
      R"({"schema":"noised.report/1","host":"node1","kernel":"6.18.0","start":"2025-01-02T03:04:05Z",)"
      R"("elapsed_ns":10000000000,"clock":{"source":"tsc","uncertainty_ns":25,"containment":0.9999,"containment_cpu":1},)"
      R"("lost":{"events":0,"detours":0,"unpaired":0,"missed_runs":0,"incomplete_detours":0,"by":[]},)"
      R"("unsupported":["page_fault duration: fentry refused by kernel"],)"
      R"("cpus":[{"cpu":1,"mode":"probe","observed_ns":9999000000,"iterations":1000000000,"threshold_ns":200,)"
      R"("detours":2510,"detour_ns":9100000,"max_detour_ns":2000000,"explained_ns":6000000,"overhead_ns":1000000,)"
      R"("hypervisor_ns":2000000,"hardware_ns":60000,"unexplained_ns":40000,"blind_ns":5000,)"
      R"("steal_ns":1990000,"steal_step_ns":1,"steal_source":"ticks","smi_count":3,"containment":0.9999}],)"
      R"("sources":[{"cpu":1,"category":"periodic","kind":"vector","name":"local_timer","count":2500,)"
      R"("total_ns":5250000,"min_ns":1800,"mean_ns":2100,"max_ns":9000,"stddev_ns":310,"share":0.5},)"
      R"({"cpu":1,"category":"preemption","kind":"task","name":"crond","count":2,"total_ns":750000,)"
      R"("min_ns":300000,"mean_ns":375000,"max_ns":450000,"stddev_ns":75000,"share":0.0824}],)"
      R"("combinations":[{"sources":["vector:local_timer","softirq:TIMER"],"count":2400,"total_ns":5000000,)"
      R"("max_ns":12000,"min_ns":1900,"mean_ns":2083,"stddev_ns":400}]})");
}

TEST_CASE("an empty report has empty arrays and a null containment", "[views]") {
  const std::string json = views::to_json(Report{});
  CHECK(json.find(R"("containment":null)") != std::string::npos);
  CHECK(json.find(R"("unsupported":[],"cpus":[],"sources":[],"combinations":[])") != std::string::npos);
  const Result<Report> back = views::parse_report(json);
  REQUIRE(back.ok());
  CHECK_FALSE(back.value().clock.containment.has_value());
}

TEST_CASE("a detour is one line; detail is there only if there is any", "[views]") {
  CHECK(views::to_json(examples::detour()) ==
        R"({"cpu":1,"start_ns":12345678901,"duration_ns":4210,"incomplete":false,"entries":[)"
        R"({"kind":"vector","name":"local_timer","self_ns":2100,"depth":0},)"
        R"({"kind":"softirq","name":"TIMER","self_ns":800,"depth":0},)"
        R"({"kind":"timer","name":"delayed_work_timer_fn","self_ns":200,"depth":1},)"
        R"({"kind":"task","name":"crond","self_ns":210,"depth":0,"detail":{"pid":"42","split":"true"}}],)"
        R"("overhead_ns":900})");
  CHECK(views::to_json(DetourView{}).find(R"("entries":[])") != std::string::npos);
}

TEST_CASE("a histogram's bucket is low, high, count", "[views]") {
  CHECK(views::to_json(examples::histogram()) ==
        R"({"schema":"noised.histogram/1","relative_error":0.015625,"series":[)"
        R"({"cpu":1,"category":"","kind":"","name":"","count":9,"buckets":[[512,519,7],[520,527,1],[2048,2079,1]]},)"
        R"({"cpu":1,"category":"periodic","kind":"vector","name":"local_timer","count":1,"buckets":[[0,0,1]]}]})");
}

TEST_CASE("the status says null for a program that is not attached", "[views]") {
  CHECK(
      views::to_json(examples::status()) ==
      R"({"schema":"noised.status/1","version":"0.1.0","host":"node1","kernel":"6.18.0","pid":77,)"
      R"("uptime_ns":90000000000,"probe_cpus":"1","housekeeping_cpus":"0","mode":"probe","watched_cpus":"","policy":"other","duty_percent":100,"threshold_ns":200,)"
      R"("buffer_bytes":1048576,"drain_interval_ns":10000000,)"
      R"("clock":{"source":"tsc","uncertainty_ns":25,"containment":null,"containment_cpu":null},)"
      R"("lost":{"events":1,"detours":2,"unpaired":3,"missed_runs":4,"incomplete_detours":5,"by":[)"
      R"({"cpu":1,"reason":"ring_full","count":7},{"cpu":null,"reason":"missed_run","count":4}]},)"
      R"("orphan_intervals":6,"programs":[)"
      R"({"name":"local_timer_entry","kind":"vector","attached":"tp_btf","missed":0,"runs":100,"run_ns":8000},)"
      R"({"name":"csd_entry","kind":"csd","attached":null,"missed":0,"runs":0,"run_ns":0}],)"
      R"("unsupported":["csd: no such tracepoint"],"nice":-10,"detail":"normal",)"
      R"("realtime":{"priority":50,"budget_percent":25},)"
      R"("entry_cost":{"state":"known","before_ns":6500,"after_ns":340}})");
}

TEST_CASE("the nice value of a status is any whole number of 64 bits, or none", "[views]") {
  const std::string json = views::to_json(examples::status());
  const auto with = [&](const std::string& value) {
    std::string changed = json;
    const std::string kept = R"("nice":-10)";
    changed.replace(changed.find(kept), kept.size(), R"("nice":)" + value);
    return views::parse_status(changed);
  };
  CHECK(views::parse_status(json).value().nice == -10);
  CHECK(with("9223372036854775807").value().nice == INT64_MAX);
  CHECK(with("9223372036854775808").error().what == "status.nice: out of range");
  CHECK(with("1.5").error().what == "status.nice: not an integer");
}

TEST_CASE("a status tells of loops that step aside, and only where they do", "[views]") {
  StatusView status = examples::status();
  CHECK(views::to_text(status).find("aside") == std::string::npos);
  status.mode = "auto";
  status.aside = AsideView{"1,3", 7, 12'000, 90'000, 100'000};
  const std::string json = views::to_json(status);
  CHECK(json.find(R"("aside":{"cpus":"1,3","count":7,"p50_ns":12000,"p99_ns":90000,"max_ns":100000})") !=
        std::string::npos);
  CHECK(views::parse_status(json).value().mode == "auto");
  CHECK(views::parse_status(json).value().aside == status.aside);
  CHECK(views::to_text(status).find("cpus 1,3; 7 times, within 12.0 us (p50), 90.0 us (p99), 100 us at most") !=
        std::string::npos);
}

TEST_CASE("a status tells what overhead can be, where loops have learned it", "[views]") {
  StatusView status = examples::status();
  CHECK(views::to_text(status).find("overhead of a gap") == std::string::npos);
  status.overhead_bounds = {{"before", "vector", 3, 2'000, 25'000, 640}, {"after", "irq", 1, 2'000, 2'000, 16}};
  const std::string json = views::to_json(status);
  CHECK(json.find(R"("overhead_bounds":[{"place":"before","kind":"vector","cpus":3,"least_ns":2000,"most_ns":25000,)"
                  R"("samples":640},{"place":"after")") != std::string::npos);
  CHECK(views::to_json(views::parse_status(json).value()) == json);
  const std::string text = views::to_text(status);
  CHECK(text.find("before vector      2.00 us to 25.0 us     3        640\n") != std::string::npos);
  CHECK(text.find("after irq                     2.00 us     1         16\n") != std::string::npos);
}

TEST_CASE("every view comes back from its JSON as it was", "[views]") {
  const std::string report = views::to_json(examples::report());
  CHECK(views::to_json(views::parse_report(report).value()) == report);
  const std::string detour = views::to_json(examples::detour());
  CHECK(views::to_json(views::parse_detour(detour).value()) == detour);
  const std::string histogram = views::to_json(examples::histogram());
  CHECK(views::to_json(views::parse_histogram(histogram).value()) == histogram);
  const std::string status = views::to_json(examples::status());
  CHECK(views::to_json(views::parse_status(status).value()) == status);
}

TEST_CASE("the largest times survive", "[views]") {
  DetourView detour;
  detour.start_ns = ~std::uint64_t{0};
  CHECK(views::parse_detour(views::to_json(detour)).value().start_ns == ~std::uint64_t{0});
}

TEST_CASE("a name that is not UTF-8 still gives JSON", "[views]") {
  DetourView detour = examples::detour();
  detour.entries[3].name = "bad\xff";
  CHECK(views::to_json(detour).find("bad\xEF\xBF\xBD") != std::string::npos);
}

TEST_CASE("an error names the field by its path", "[views]") {
  const std::string good = views::to_json(examples::report());
  const auto what = [](const std::string& json) { return views::parse_report(json).error().what; };
  CHECK(what("{") == "report: not JSON");
  CHECK(what("[1,2]") == "report: not an object");
  CHECK(what("{}") == "report.schema: missing");
  CHECK(what(replaced(good, "report/1", "report/2")) == "report.schema: 'noised.report/2' is not 'noised.report/1'");
  CHECK(what(replaced(good, "\"node1\"", "5")) == "report.host: not a string");
  CHECK(what(replaced(good, "\"uncertainty_ns\":25", "\"x\":25")) == "report.clock.uncertainty_ns: missing");
  CHECK(what(replaced(good, "\"detours\":2510", "\"detours\":-1")) ==
        "report.cpus[0].detours: not an unsigned integer");
  CHECK(what(replaced(good, "\"detours\":2510", "\"detours\":1.5")) ==
        "report.cpus[0].detours: not an unsigned integer");
  CHECK(what(replaced(good, "\"cpu\":1,\"mode\"", "\"cpu\":4294967296,\"mode\"")) ==
        "report.cpus[0].cpu: out of range");
  CHECK(what(replaced(good, "\"share\":0.0824", "\"share\":null")) == "report.sources[1].share: not a number");
  CHECK(what(replaced(good, "[\"vector:local_timer\"", "[7")) ==
        "report.combinations[0].sources: not an array of strings");
  CHECK(what(replaced(good, "0.9999", "\"all\"")) == "report.clock.containment: not a number");
  CHECK_FALSE(views::parse_report("{").error().remedy.empty());
}

TEST_CASE("errors of the other views name their fields too", "[views]") {
  const std::string detour = views::to_json(examples::detour());
  CHECK(views::parse_detour(replaced(detour, "false", "0")).error().what == "detour.incomplete: not true or false");
  CHECK(views::parse_detour(replaced(detour, "\"42\"", "42")).error().what ==
        "detour.entries[3].detail.pid: not a string");
  CHECK(views::parse_detour(replaced(detour, R"({"pid":"42","split":"true"})", "[]")).error().what ==
        "detour.entries[3].detail: not an object");
  const std::string histogram = views::to_json(examples::histogram());
  for (const char* bucket : {"[512,519]", "[512,519,-7]", "5"})
    CHECK(views::parse_histogram(replaced(histogram, "[512,519,7]", bucket)).error().what ==
          "histogram.series[0].buckets: not [low_ns, high_ns, count]");
  CHECK(views::parse_status(replaced(views::to_json(examples::status()), "\"tp_btf\"", "1")).error().what ==
        "status.programs[0].attached: not a string");
  const std::string status = views::to_json(examples::status());
  CHECK(views::parse_status(replaced(status, R"("cpu":1,"reason")", R"("cpu":4294967297,"reason")")).error().what ==
        "status.lost.by[0].cpu: out of range");  // and not CPU 1
}

TEST_CASE("fields that are not known are passed over", "[views]") {
  const std::string json = replaced(views::to_json(examples::report()), "{\"schema\"", "{\"new\":[{}],\"schema\"");
  CHECK(views::parse_report(json).ok());
}

TEST_CASE("a line for skipped detours is told from a detour", "[views]") {
  CHECK(views::lost_line_json(12) == R"({"lost_detours":12})");
  CHECK(views::parse_lost_line(views::lost_line_json(12)) == 12);
  CHECK(views::parse_lost_line(R"({ "lost_detours" : 3 })") == 3);
  CHECK_FALSE(views::parse_lost_line(views::to_json(examples::detour())).has_value());
  CHECK_FALSE(views::parse_lost_line(R"({"lost_detours":"3"})").has_value());
  CHECK_FALSE(views::parse_lost_line(R"({"lost_detours")").has_value());
  CHECK(views::lost_line_text(12) == "-- 12 detours not shown: this reader was too slow --");
}
