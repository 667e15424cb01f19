// SPDX-License-Identifier: Apache-2.0
// The watch: JSON byte for byte, back again without loss, and the page that people read.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "unit/base/texts.h"
#include "unit/views/watch_example.h"
#include "views/watch.h"

using namespace noised;
using noised::test::has;
using noised::test::replaced;

TEST_CASE("the watch has its counts beside its other fields", "[views]") {
  CHECK(
      views::to_json(examples::watch()) ==
      R"({"schema":"noised.watch/1","selection":"pid 12, 13","final":true,"elapsed_ns":10000000000,)"
      R"("cpus":"1-3","tasks_seen":3,"runs":230,"voluntary":200,"involuntary":30,"migrations":12,)"
      R"("minor_faults":4100,"major_faults":2,"run_ns":19700000000,"preempted_ns":90000000,)"
      R"("queued_ns":10000000,"max_wait_ns":3990000,"unseen_runs":4,"unseen_wait_ns":1500000,)"
      R"("yields":6,"yielded_ns":7000000,)"
      R"("runnable_ns":19800000000,"interruptions":5123,"incomplete":1,"stolen_ns":200000000,)"
      R"("max_interruption_ns":4000000,"explained_ns":190000000,"overhead_ns":6000000,)"
      R"("hypervisor_ns":2000000,"hardware_ns":1500000,"unexplained_ns":500000,"steal_ns":40000000,"steal_step_ns":10000000,)"
      R"("sources":[{"category":"preemption","kind":"task","name":"crond","count":40,"total_ns":100000000,)"
      R"("min_ns":10000,"mean_ns":2500000,"max_ns":4000000,"stddev_ns":700000,"share":0.5},)"
      R"({"category":"periodic","kind":"vector","name":"local_timer","count":4950,"total_ns":90000000,)"
      R"("min_ns":9000,"mean_ns":18181,"max_ns":80000,"stddev_ns":2000,"share":0.45},{"category":"overhead",)"
      R"("kind":"overhead","name":"overhead","count":4980,"total_ns":6000000,"min_ns":800,"mean_ns":1204,)"
      R"("max_ns":9000,"stddev_ns":90,"share":0.03},{"category":"page_fault","kind":"page_fault",)"
      R"("name":"user","count":4102,"total_ns":0,"min_ns":0,"mean_ns":0,"max_ns":0,"stddev_ns":0,)"
      R"("share":0.0}],"combinations":[{"sources":["vector:local_timer","softirq:TIMER"],"count":2400,)"
      R"("total_ns":50000000,"max_ns":120000,"min_ns":9000,"mean_ns":20833,"stddev_ns":400}],)"
      R"("run_histogram":[{"low_ns":1000000,"high_ns":1015623,"count":100},{"low_ns":2000000,)"
      R"("high_ns":2031247,"count":129},{"low_ns":90000000,"high_ns":90999999,"count":1}],)"
      R"("wait_histogram":[{"low_ns":1000000,"high_ns":1015623,"count":41},{"low_ns":3932160,)"
      R"("high_ns":3997695,"count":1}],"tasks":[{"pid":12,"tgid":12,"name":"lmp","ended":true,"runs":130,)"
      R"("voluntary":110,"involuntary":20,"migrations":7,"minor_faults":4000,"major_faults":1,)"
      R"("run_ns":9800000000,"preempted_ns":80000000,"queued_ns":9000000,"max_wait_ns":3990000,)"
      R"("unseen_runs":3,"unseen_wait_ns":1400000,"yields":0,"yielded_ns":0,"stolen_ns":150000000,"interruptions":2600,)"
      R"("categories":{"preemption":98000000,"periodic":52000000}},{"pid":13,"tgid":12,"name":"lmp/1",)"
      R"("ended":false,"runs":100,"voluntary":90,"involuntary":10,"migrations":5,"minor_faults":102,)"
      R"("major_faults":1,"run_ns":9900000000,"preempted_ns":0,"queued_ns":0,"max_wait_ns":0,"unseen_runs":1,)"
      R"("unseen_wait_ns":100000,"yields":0,"yielded_ns":0,"stolen_ns":0,"interruptions":0,"categories":{}}],"lost":{"events":1,)"
      R"("detours":2,"unpaired":3,"missed_runs":4,"incomplete_detours":5,"by":[{"cpu":1,"reason":"ring_full",)"
      R"("count":7}]},"unsupported":["page_fault duration: fentry refused by kernel"]})");
}

TEST_CASE("what a watch cannot tell of interruptions stands beside what it tells", "[views]") {
  WatchReport report = examples::watch();
  CHECK_FALSE(has(views::to_json(report), "untold"));  // as in a replay
  CHECK_FALSE(has(views::to_text(report), "untold"));
  report.untold = WatchUntold{5'000, 4'900, 12'000'000, 30'000'000, 75};
  const std::string json = views::to_json(report);
  CHECK(has(json, R"("untold":{"interrupted":5000,"estimated":4900,"rest_ns":12000000,"rest_most_ns":30000000,)"
                  R"("measured":75},"sources")"));
  CHECK(views::to_json(views::parse_watch(json).value()) == json);
  CHECK(has(views::to_text(report),
            "untold    the ways into the kernel and out of it, around 5000 interrupts:\n"
            "          4900 of the timer took some 12.0 ms more by the mean, 30.0 ms by the longest, of 75 "
            "measured; 100 others: not known\n"));
  report.untold->estimated = 0;
  CHECK(has(views::to_text(report), "around 5000 interrupts: not known; stolen is at least\n"));
  report.untold->interrupted = 0;
  CHECK_FALSE(has(views::to_text(report), "untold"));
}

TEST_CASE("the watch comes back from its JSON as it was", "[views]") {
  const std::string json = views::to_json(examples::watch());
  const Result<WatchReport> back = views::parse_watch(json);
  REQUIRE(back.ok());
  CHECK(views::to_json(back.value()) == json);
  CHECK(back.value().counts.unseen_wait_ns == 1'500'000);
  CHECK(back.value().tasks[0].categories == examples::watch().tasks[0].categories);
  REQUIRE(back.value().steal);
  CHECK(back.value().steal->ns == 40'000'000);
  CHECK_FALSE(views::parse_watch(views::to_json(WatchReport{})).value().steal);
  CHECK(back.value().waits[1].high_ns == 3'997'695);
  CHECK(views::to_json(views::parse_watch(views::to_json(WatchReport{})).value()) == views::to_json(WatchReport{}));
}

TEST_CASE("an error of a watch names the field by its path", "[views]") {
  const std::string good = views::to_json(examples::watch());
  const auto what = [](const std::string& json) { return views::parse_watch(json).error().what; };
  CHECK(what("{") == "watch: not JSON");
  CHECK(what("{}") == "watch.schema: missing");
  CHECK(what(replaced(good, "watch/1", "watch/2")) == "watch.schema: 'noised.watch/2' is not 'noised.watch/1'");
  CHECK(what(replaced(good, "\"final\":true", "\"final\":1")) == "watch.final: not true or false");
  CHECK(what(replaced(good, "\"involuntary\":30", "\"x\":30")) == "watch.involuntary: missing");
  CHECK(what(replaced(good, "\"run_ns\":9800000000", "\"run_ns\":-1")) ==
        "watch.tasks[0].run_ns: not an unsigned integer");
  CHECK(what(replaced(good, "\"name\":\"lmp/1\"", "\"name\":1")) == "watch.tasks[1].name: not a string");
  CHECK(what(replaced(good, "\"preemption\":98000000", "\"preemption\":\"all\"")) ==
        "watch.tasks[0].categories.preemption: not an unsigned integer");
  CHECK(what(replaced(good, "\"categories\":{}", "\"categories\":[]")) == "watch.tasks[1].categories: not an object");
  CHECK(what(replaced(good, "\"categories\":{}", "\"c\":{}")) == "watch.tasks[1].categories: missing");
  CHECK(what(replaced(good, "\"low_ns\":3932160", "\"low_ns\":null")) ==
        "watch.wait_histogram[1].low_ns: not an unsigned integer");
  CHECK(what(replaced(good, "\"unpaired\":3", "\"x\":3")) == "watch.lost.unpaired: missing");
  CHECK_FALSE(views::parse_watch("{").error().remedy.empty());
  CHECK(views::parse_watch(replaced(good, "{\"schema\"", "{\"new\":[{}],\"schema\"")).ok());
}

TEST_CASE("the watch is a page", "[views]") {
  CHECK(views::to_text(examples::watch()) == R"(watched pid 12, 13 on CPU 1-3 for 10.0 s: 3 tasks ran

runnable  19.8 s: 19.7 s on a CPU, 90.0 ms preempted, 10.0 ms queued after a wakeup
stolen    200 ms, 1.01% of that, in 5123 interruptions: 259 per runnable second, the longest 4.00 ms
noised    and noisectl took of it: nothing
steal     40.0 ms, the host's, while they had a CPU: by their share of its time, to 10.0 ms a CPU
switches  200 voluntary, 30 involuntary; 12 migrations
yields    6 of the involuntary switches: they gave away 7.00 ms, which nobody stole
faults    4100 minor, 2 major, whose time is not known: it counts as the tasks' own

how long                              times     mean      p50      p99      max
a task ran until it was switched out    230  1.96 ms  2.03 ms  2.03 ms  91.0 ms
a runnable task waited for a CPU         42  1.08 ms  1.02 ms  3.99 ms  3.99 ms

stolen time by category (share: of the stolen time)
category         total   share  of runnable
preemption      100 ms   50.0%       0.505%
periodic       90.0 ms   45.0%       0.455%
overhead       6.00 ms   3.00%      0.0303%
hypervisor     2.00 ms   1.00%      0.0101%
hardware       1.50 ms  0.750%      0.0076%
unexplained     500 us  0.250%      0.0025%
page_fault   not timed       -            -

sources by stolen time (share: of the stolen time)
category    source              count    total     mean      max  share
preemption  task:crond             40   100 ms  2.50 ms  4.00 ms  50.0%
periodic    vector:local_timer   4950  90.0 ms  18.2 us  80.0 us  45.0%
page_fault  page_fault:user      4102        -        -        -      -
overhead    overhead             4980  6.00 ms  1.20 us  9.00 us  3.00%

tasks by stolen time (share: of their runnable time): 2 of 3
pid  name   runs     ran   waited  stolen  share  mostly by
 12  lmp     130  9.80 s  89.0 ms  150 ms  1.52%  preemption 65.3%
 13  lmp/1   100  9.90 s     0 ns    0 ns     0%  -

lost: 1 events, 2 detours, 3 unpaired, 4 missed runs, 5 incomplete detours (7 ring_full on CPU 1)
incomplete: 1 interruption, in which something was lost
unseen: 4 runs, lost or on a CPU that is not watched, after 1.50 ms of waits: in no figure above
unsupported:
  page_fault duration: fentry refused by kernel
)");
}

TEST_CASE("the ranks of a watch are in its JSON, and come back", "[views]") {
  const std::string json = views::to_json(examples::watch_with_ranks());
  CHECK(has(json, R"("categories":{"preemption":98000000,"periodic":52000000},"rank":1,"job":"1111490561"})"));
  CHECK(has(json, R"("categories":{},"rank":0}],"lost":)"));
  CHECK(has(json, R"("ranks":[{"rank":1,"job":"1111490561","processes":1,"tasks":1,"runnable_ns":9889000000,)"
                  R"("stolen_ns":150000000,"interruptions":2600,"categories":{"preemption":98000000,)"
                  R"("periodic":52000000}},{"rank":0,"processes":2,"tasks":4,"runnable_ns":9900000000,)"
                  R"("stolen_ns":0,"interruptions":0,"categories":{}}],"rank_unknown":1})"));
  const Result<WatchReport> back = views::parse_watch(json);
  REQUIRE(back.ok());
  CHECK(views::to_json(back.value()) == json);
  CHECK(back.value().tasks[0].rank == 1);
  const auto what = [](const std::string& text) { return views::parse_watch(text).error().what; };
  CHECK(what(replaced(json, R"("processes":2)", R"("x":2)")) == "watch.ranks[1].processes: missing");
  CHECK(what(replaced(json, R"("rank_unknown":1)", R"("x":1)")) == "watch.rank_unknown: missing");
  CHECK(what(replaced(json, R"("rank":0}],)", R"("rank":"0"}],)")) == "watch.tasks[1].rank: not an unsigned integer");
}

TEST_CASE("the ranks of a watch are a table, with what is not in it", "[views]") {
  WatchReport report = examples::watch_with_ranks();
  CHECK(has(views::to_text(report), R"(
ranks by stolen time (share: of their runnable time)
job         rank  processes  threads  runnable  stolen  share  mostly by
1111490561     1          1        1    9.89 s  150 ms  1.52%  preemption 65.3%, periodic 34.7%
-              0          2        4    9.90 s    0 ns     0%  -
not in the ranks: 1 of 3 tasks, which lost least, and are not in the report
rank not known: of 1 process, ended before a report, or not to be read by this user

tasks by stolen time)"));
  report.ranks[1].job = report.ranks[0].job;
  report.tasks_seen = 2;
  report.rank_unknown = 0;
  CHECK(has(views::to_text(report), R"(
ranks by stolen time (share: of their runnable time)
rank  processes  threads  runnable  stolen  share  mostly by
   1          1        1    9.89 s  150 ms  1.52%  preemption 65.3%, periodic 34.7%
   0          2        4    9.90 s    0 ns     0%  -

tasks by stolen time)"));
  report.ranks.resize(40, report.ranks[0]);
  CHECK(has(views::to_text(report), "ranks by stolen time (share: of their runnable time): 32 of 40\n"));
  CHECK_FALSE(has(views::to_text(examples::watch()), "rank"));
}

TEST_CASE("nothing on the watch's page is wider than a terminal", "[views]") {
  const std::string text = views::to_text(examples::watch_with_ranks());
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    CHECK(end - begin <= 100);
}

TEST_CASE("a watch that is under way, or of tasks that did not run, says so", "[views]") {
  WatchReport report;
  report.selection = "comm l\x1bmp";
  const std::string text = views::to_text(report);
  CHECK(has(text, "watching comm l?mp on CPU - for 0 ns so far: 0 tasks ran\n"));
  CHECK(has(text, "no task of that name ran there: "));
  CHECK(has(text, "nothing was taken from them\n"));
  CHECK(has(text, "lost: nothing lost\nunsupported: nothing\n"));
  CHECK_FALSE(has(text, "not known"));
  CHECK_FALSE(has(text, "incomplete"));
  CHECK_FALSE(has(text, "unseen"));
  CHECK(views::summary_line(report) == "   0 ns  runnable    0 ns  stolen    0 ns       0%  nothing yet");
}

TEST_CASE("faults whose time is known are not told to be unknown", "[views]") {
  WatchReport report = examples::watch();
  CHECK(has(views::to_text(report),
            "faults    4100 minor, 2 major, whose time is not known: it counts as the tasks' own\n"));
  report.sources[3].total_ns = 5'000;
  report.sources[3].max_ns = 2'000;
  CHECK(has(views::to_text(report), "faults    4100 minor, 2 major\n"));
}

TEST_CASE("what the ledger has in no source is in a category all the same", "[views]") {
  WatchReport report = examples::watch();
  report.sources.clear();
  CHECK(has(views::to_text(report), "overhead     6.00 ms   3.00%"));
}

TEST_CASE("no quantile of a watch is above the longest wait", "[views]") {
  WatchReport report = examples::watch();
  report.waits = {{~std::uint64_t{0} - 1, ~std::uint64_t{0}, ~std::uint64_t{0}}, {7, 7, 3}};
  report.counts.max_wait_ns = 3'990'000;
  CHECK(has(views::to_text(report), "3.99 ms  3.99 ms  3.99 ms  3.99 ms\n"));
}

TEST_CASE("the watch in a line names the worst source", "[views]") {
  CHECK(views::summary_line(examples::watch()) ==
        " 10.0 s  runnable  19.8 s  stolen  200 ms    1.01%  most by task:crond 100 ms");
}

TEST_CASE("a page shows the first of many", "[views]") {
  WatchReport report = examples::watch();
  report.sources.assign(217, report.sources[0]);
  report.tasks.assign(256, report.tasks[0]);
  report.tasks_seen = 300;
  const std::string text = views::to_text(report);
  CHECK(has(text, "sources by stolen time (share: of the stolen time): 30 of 217\n"));
  CHECK(has(text, "tasks by stolen time (share: of their runnable time): 20 of 300\n"));
}
