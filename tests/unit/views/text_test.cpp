// SPDX-License-Identifier: Apache-2.0
// Text views: golden pages, units, and names that must not reach the terminal as they are.
#include <cmath>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "base/text.h"
#include "model/json_parts.h"
#include "unit/views/examples.h"
#include "views/detour.h"
#include "views/lost.h"
#include "views/text.h"
#include "views/views.h"

using namespace noised;
using views::format_duration;

TEST_CASE("a duration has the unit that leaves three digits", "[views]") {
  CHECK(format_duration(0) == "0 ns");
  CHECK(format_duration(999) == "999 ns");
  CHECK(format_duration(1000) == "1.00 us");
  CHECK(format_duration(12'400) == "12.4 us");
  CHECK(format_duration(812'000) == "812 us");
  CHECK(format_duration(3'070'000) == "3.07 ms");
  CHECK(format_duration(1'500'000'000) == "1.50 s");
  CHECK(format_duration(90'000'000'000) == "90.0 s");
  CHECK(format_duration(3'600'000'000'000) == "60.0 m");
  CHECK(format_duration(86'400'000'000'000) == "24.0 h");
}

TEST_CASE("rounding moves to the next digit, and to the next unit", "[views]") {
  CHECK(format_duration(9'994) == "9.99 us");
  CHECK(format_duration(9'995) == "10.0 us");
  CHECK(format_duration(99'950) == "100 us");
  CHECK(format_duration(999'499) == "999 us");
  CHECK(format_duration(999'500) == "1.00 ms");
  CHECK(format_duration(999'999'999) == "1.00 s");
  CHECK(format_duration(~std::uint64_t{0}) == "5124096 h");
}

TEST_CASE("shares and rates keep their significant digits", "[views]") {
  CHECK(views::format_share(0) == "0%");
  CHECK(views::format_share(1e-7) == "<0.0001%");
  CHECK(views::format_share(0.00012) == "0.0120%");
  CHECK(views::format_share(0.00123) == "0.123%");
  CHECK(views::format_share(0.0123) == "1.23%");
  CHECK(views::format_share(1) == "100.0%");
  CHECK(views::format_containment(1) == "100.0000%");
  CHECK(views::format_containment(0.9999996) == "99.9999%");
  CHECK(views::format_containment(std::nextafter(1, 0)) == "99.9999%");
  CHECK(views::format_containment(0.9999) == "99.9900%");
  CHECK(views::format_containment(0.57) == "57.0000%");
  CHECK(views::format_containment(0) == "0.0000%");
  CHECK(views::format_rate(5, 0) == "-");
  CHECK(views::format_rate(1, 4'000'000'000) == "0.25");
  CHECK(views::format_rate(123, 10'000'000'000) == "12.3");
  CHECK(views::format_rate(2500, 1'000'000'000) == "2500");
}

TEST_CASE("a name cannot drive the terminal", "[views]") {
  CHECK(printable("a\x1b[31m\n\x7f\xc3\xa9 z~") == "a?[31m???? z~");
  Report report = examples::report();
  report.host = "a\x1b]0;b";
  report.sources[0].name = "\x1b[2J";
  report.combinations[0].sources[0] = "task:\x1b[2J";
  report.unsupported[0] = "\x1b";
  CHECK(views::to_text(report).find('\x1b') == std::string::npos);
  DetourView detour = examples::detour();
  detour.entries[3].name = "x\ny";
  CHECK(views::to_text(detour).find('\n') == std::string::npos);
}

TEST_CASE("a table is as wide as its widest cells", "[views]") {
  views::Table table(
      {{"left", views::Table::Align::left}, {"r", views::Table::Align::right}, {"last", views::Table::Align::left}});
  table.add({"a", "100", "x"});
  table.add({"longer", "1", ""});
  CHECK(table.text() == "left      r  last\na       100  x\nlonger    1\n");
}

TEST_CASE("steal time is told with its source, and of an old recording what it divided", "[views]") {
  Report report = examples::report();
  CHECK(views::to_text(report).find("stretched") == std::string::npos);
  ReportSource& crond = report.sources[1];  // 2 of them, 750 us
  crond.stretched = 1;
  crond.stolen_by_host_ns = 150'000;
  report.sources.push_back({1, "hypervisor", "hypervisor", "hypervisor", 1, 2'000'000, 0, 0, 0, 0, 0.1, 1, 1'000'000});
  const std::string told = views::to_text(report);
  CHECK(told.find("CPU 1: of that, at least 1.00 ms in gaps and 150 us in intervals; in which the other 840 us "
                  "lies is not known\n") != std::string::npos);
  CHECK(told.find("CPU  source      count  stretched      by    mean  without\n"
                  "  1  task:crond      2          1  150 us  375 us   300 us\n") != std::string::npos);
  report.cpus[0].steal_source = "/proc/stat";
  report.cpus[0].steal_step_ns = 10'000'000;
  CHECK(views::to_text(report).find(
            "CPU 1: the host counted 1.99 ms of steal time (/proc/stat, in steps of 10.0 ms)\n") != std::string::npos);
  report.cpus[0].steal_source.clear();
  CHECK(views::to_text(report).find("hypervisor is at most their sum") != std::string::npos);
  report.cpus[0].steal_step_ns = 0;
  CHECK(views::to_text(report).find("steal time") == std::string::npos);
}

TEST_CASE("the report is a page", "[views]") {
  CHECK(views::to_text(examples::report()) ==
        R"(noised on node1, kernel 6.18.0, from 2025-01-02T03:04:05Z, for 10.0 s
clock tsc, uncertainty 25 ns, containment 99.9900% (CPU 1)

stolen     0.0910% of the 10.0 s observed on CPU 1: 9.10 ms in 2510 detours, the longest 2.00 ms
by         vector:local_timer 57.7%, task:crond 8.24%; all with a name 65.9%, overhead 11.0%, hypervisor 22.0%, hardware 0.659%, unexplained 0.440%
believe    yes: containment 99.9900%, nothing lost; noised and noisectl took of it: nothing

stolen time by CPU (share: of the time observed)
CPU  mode   observed  detours   stolen    share      max  explained  overhead  hypervisor  hardware  unexplained  contained
  1  probe    10.0 s     2510  9.10 ms  0.0910%  2.00 ms    6.00 ms   1.00 ms     2.00 ms   60.0 us      40.0 us   99.9900%
CPU 1: the host counted 1.99 ms of steal time (ticks, to the nanosecond)
CPU 1: 3 system management interrupts
CPU 1: 5.00 us not observed: the loop was stopped, or not on its CPU

stolen time by category (share: of the CPU's stolen time)
CPU       periodic    preemption
  1  5.25 ms 57.7%  750 us 8.24%

sources by stolen time (a second: of the time observed; share: of the CPU's stolen time)
CPU  category    source              count  per second    total  a second     mean      max  share
  1  periodic    vector:local_timer   2500         250  5.25 ms    525 us  2.10 us  9.00 us  50.0%
  1  preemption  task:crond              2        0.20   750 us   75.0 us   375 us   450 us  8.24%

detours by what happened in them (1 of 1)
count    total      max  together
 2400  5.00 ms  12.0 us  vector:local_timer + softirq:TIMER

lost: nothing lost
unsupported:
  page_fault duration: fentry refused by kernel
)");
}

TEST_CASE("the report says what is lost and what is not known", "[views]") {
  Report report = examples::report();
  report.clock.containment.reset();
  report.lost = {1, 2, 3, 4, 5, {}};
  report.sources.clear();
  report.unsupported.clear();
  report.combinations.assign(17, report.combinations[0]);
  const std::string text = views::to_text(report);
  CHECK(text.find("containment not known yet") != std::string::npos);
  CHECK(text.find("lost: 1 events, 2 detours, 3 unpaired, 4 missed runs, 5 incomplete detours\n") != std::string::npos);
  CHECK(text.find("no source took any time") != std::string::npos);
  CHECK(text.find("unsupported: nothing\n") != std::string::npos);
  CHECK(text.find("(15 of 17)") != std::string::npos);
  std::size_t shown = 0;
  for (std::size_t at = text.find(" + softirq:TIMER\n"); at != std::string::npos;
       at = text.find(" + softirq:TIMER\n", at + 1))
    ++shown;
  CHECK(shown == 15);
}

TEST_CASE("one lost counter alone is shown", "[views]") {
  for (std::uint64_t ReportLost::* counter : {&ReportLost::events, &ReportLost::detours, &ReportLost::unpaired,
                                              &ReportLost::missed_runs, &ReportLost::incomplete_detours}) {
    Report report = examples::report();
    report.lost.*counter = 9;
    CHECK(views::to_text(report).find("nothing lost") == std::string::npos);
  }
}

TEST_CASE("a detour is the sum of its entries on one line", "[views]") {
  CHECK(views::to_text(examples::detour()) ==
        "cpu 1  12.345678 s  4.21 us  local_timer 2.10 us + softirq TIMER 800 ns > timer delayed_work_timer_fn 200 ns"
        " + task crond (pid 42, split) 210 ns + overhead 900 ns");
}

TEST_CASE("the chain behind an entry reads as a sentence", "[views]") {
  DetourView detour;
  detour.cpu = 1;
  detour.duration_ns = 15'000;
  detour.entries = {
      {"task",
       "crond",
       9'000,
       0,
       {{"pid", "42"},
        {"waker", "systemd"},
        {"waker_pid", "1"},
        {"waker_cpu", "0"},
        {"service", "/system.slice/cron.service"}}},
      {"task", "kworker/1:0", 1'000, 0, {{"pid", "7"}, {"waker_context", "this CPU"}, {"work", "vmstat"}}},
      {"vector",
       "call_function",
       5'000,
       0,
       {{"sender_context", "softirq NET_RX"}, {"sender_cpu", "3"}, {"function", "f"}, {"sends", "2"}}}};
  CHECK(
      views::to_text(detour) ==
      "cpu 1  0.000000 s  15.0 us  task crond (pid 42, woken by systemd[1] on CPU 0, of /system.slice/cron.service) "
      "9.00 us + task kworker/1:0 (pid 7, woken here, runs vmstat) 1.00 us + call_function (sent by softirq NET_RX on "
      "CPU 3, to run f, 2 sends) 5.00 us");
}

TEST_CASE("a detour began by this clock or that", "[views]") {
  using views::ShownClock;
  constexpr std::uint64_t kStart = 82'378'055'999'123;
  CHECK(views::start_text(kStart, {}) == "82378.055999 s");
  CHECK(views::start_text(kStart, {ShownClock::start, 82'374'914'406'000}) == "+3.141593 s");
  CHECK(views::start_text(1'000, {ShownClock::start, 2'000}) == "-0.000001 s");
  CHECK(views::start_text(kStart, {ShownClock::wall, 1'700'000'000'000'000'000}) == "2023-11-15T21:06:18.055999Z");
  DetourView detour;
  detour.start_ns = kStart;
  CHECK(views::to_text(detour, {ShownClock::wall, 1'700'000'000'000'000'000})
            .starts_with("cpu 0  2023-11-15T21:06:18.055999Z     0 ns  "));
}

TEST_CASE("a line that is too long goes on below, at its spaces", "[views]") {
  CHECK(views::wrapped("a b", 80, 2) == "a b");
  CHECK(views::wrapped("", 80, 2).empty());
  CHECK(views::wrapped("cpu 1  2 s  task a 5 us + task b 6 us", 20, 4) == "cpu 1  2 s  task a 5\n    us + task b 6 us");
  CHECK(views::wrapped("longer-than-the-line x", 8, 2) == "longer-than-the-line\n  x");
  CHECK(views::wrapped("a   b", 3, 0) == "a\nb");
}

TEST_CASE("of whom the name may not be known the pid is shown", "[views]") {
  DetourView detour;
  detour.entries = {{"task", "a", 1, 0, {{"pid", "42"}, {"waker_pid", "7"}, {"waker_cpu", "0"}}},
                    {"task", "b", 1, 0, {{"pid", "43"}, {"mover_pid", "8"}, {"mover_context", "work f"}}}};
  CHECK(views::to_text(detour) ==
        "cpu 0  0.000000 s     0 ns  task a (pid 42, woken by pid 7 on CPU 0) 1 ns + task b (pid 43, moved by pid 8 "
        "(work "
        "f)) 1 ns");
}

TEST_CASE("a detour shows depth, doubt and gaps without a cause", "[views]") {
  DetourView detour;
  detour.cpu = 3;
  detour.start_ns = 1'000'001'000;
  detour.duration_ns = 15'000;
  detour.entries = {{"hypervisor", "hypervisor", 15'000, 0, {}}};
  detour.incomplete = true;
  CHECK(views::to_text(detour) == "cpu 3  1.000001 s  15.0 us  hypervisor 15.0 us  INCOMPLETE");
  detour.incomplete = false;
  detour.entries = {{"softirq", "TIMER", 1, 1, {}}, {"timer", "f", 2, 2, {}}, {"timer", "g", 3, 2, {}}};
  CHECK(views::to_text(detour) == "cpu 3  1.000001 s  15.0 us  > softirq TIMER 1 ns >> timer f 2 ns >> timer g 3 ns");
  detour.entries = {
      {"page_fault", "user", 1, 1, {}}, {"page_fault", "user", 2, 1, {}}, {"page_fault", "user", 4, 0, {}}};
  CHECK(views::to_text(detour) == "cpu 3  1.000001 s  15.0 us  > page_fault user x2 3 ns + page_fault user 4 ns");
  detour.entries.clear();
  CHECK(views::to_text(detour) == "cpu 3  1.000001 s  15.0 us  overhead 0 ns");
}

TEST_CASE("a histogram has a bar for each octave between the shortest and the longest", "[views]") {
  CHECK(views::to_text(examples::histogram()) ==
        "CPU 1  all detours: 9 in 6.20 us; half up to 519 ns, 99% up to 2.08 us, the longest up to 2.08 us\n"
        "  from  512 ns  8  4.13 us  ########################################\n"
        "  from 1.02 us  0\n"
        "  from 2.05 us  1  2.06 us  ####################\n"
        "\n"
        "CPU 1  vector:local_timer: 1, not timed\n");
}

TEST_CASE("a histogram shows what is rare, what is longest and what is empty", "[views]") {
  HistogramView histogram;
  CHECK(views::to_text(histogram) == "no detours yet\n");
  histogram.series = {{0, "", "", "", 0, {}}};
  CHECK(views::to_text(histogram) == "CPU 0  all detours: 0\n");
  histogram.series = {{0, "", "", "", 0, {{~std::uint64_t{0} - 1, ~std::uint64_t{0}, 1'000'000}, {1, 1, 1}}}};
  const std::string text = views::to_text(histogram);
  CHECK(text.find("from    1 ns        1     1 ns  #\n") != std::string::npos);
  CHECK(text.find("1000000  ") != std::string::npos);
}

TEST_CASE("a histogram shows the five sources with most time, or all", "[views]") {
  HistogramView histogram;
  histogram.series.push_back({0, "", "", "", 7, {{1000, 1007, 7}}});
  for (std::uint64_t source = 1; source <= 7; ++source)
    histogram.series.push_back({0, "io", "irq", "d" + std::to_string(source), 1, {{100 * source, 100 * source, 1}}});
  const std::string text = views::to_text(histogram);
  CHECK(text.find("irq:d7: 1 in 700 ns") < text.find("irq:d6: 1"));
  CHECK(text.find("irq:d3:") != std::string::npos);
  CHECK(text.find("irq:d2:") == std::string::npos);
  CHECK(text.ends_with("\n2 sources that took less time: --all shows them\n"));
  const std::string all = views::to_text(histogram, true);
  CHECK(all.find("irq:d1:") != std::string::npos);
  CHECK(all.find("--all") == std::string::npos);
}

TEST_CASE("the status of a daemon without a loop tells nothing of one", "[views]") {
  StatusView status = examples::status();
  status.mode = "watch";
  const std::string text = views::to_text(status);
  CHECK(text.starts_with(R"(noised 0.1.0, process 77, up 90.0 s
host          node1, kernel 6.18.0
watched       tasks of cpus 1
housekeeping  cpus 0, drained every 10.0 ms at real-time priority 50 for up to 25% of a second, then at nice -10, 1024 KiB a CPU, detail normal
lost          1 events, 2 detours, 3 unpaired, 4 missed runs, 5 incomplete detours (7 ring_full on CPU 1, 4 missed_run)
entry cost    of a timer's interrupt, at least 6.50 us before and 340 ns after what is told of it
programs      1 of 2 attached; missing: csd_entry

program )"));
  status.entry_cost = {"measuring", 0, 0};
  CHECK(views::to_text(status).find("\nentry cost    measuring\n") != std::string::npos);
  status.mode = "auto";
  CHECK(views::to_text(status).find("measured      cpus 1, mode auto, threshold 200 ns") != std::string::npos);
}

TEST_CASE("the status is a page", "[views]") {
  CHECK(views::to_text(examples::status()) ==
        R"(noised 0.1.0, process 77, up 90.0 s
host          node1, kernel 6.18.0
measured      cpus 1, threshold 200 ns, policy other
housekeeping  cpus 0, drained every 10.0 ms at real-time priority 50 for up to 25% of a second, then at nice -10, 1024 KiB a CPU, detail normal
time          clock tsc, uncertainty 25 ns, containment not known yet
lost          1 events, 2 detours, 3 unpaired, 4 missed runs, 5 incomplete detours (7 ring_full on CPU 1, 4 missed_run)
orphans       6 intervals outside every detour
entry cost    of a timer's interrupt, at least 6.50 us before and 340 ns after what is told of it
programs      1 of 2 attached; missing: csd_entry

program            kind    attached  missed  runs   mean
local_timer_entry  vector  tp_btf         0   100  80 ns

unsupported:
  csd: no such tracepoint
)");
}

TEST_CASE("a blind CPU is told in a line of its own, and is no good end", "[views]") {
  Report report = examples::report();
  CHECK(views::check_not_blind(report.lost));
  report.lost.by = {{3U, kBlind, 700}, {std::nullopt, "missed_run", 4}, {1U, kBlind, 12}};
  const std::string line =
      "CPUs 1,3 were blind: the kernel counted 712 interrupts there that noised did not see; do not "
      "believe what it says of them";
  CHECK(views::blind_text(report.lost) == line);
  CHECK(views::to_text(report).find("\n" + line + "\n") != std::string::npos);
  const Status ended = views::check_not_blind(report.lost);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().what == line);
  CHECK(ended.error().code == ExitCode::failed);
  StatusView status = examples::status();
  CHECK(views::to_text(status).find("blind") == std::string::npos);
  status.lost.by.push_back({2U, kBlind, 9});
  CHECK(views::to_text(status).find("\nblind         CPU 2 was blind: the kernel counted 9 interrupts there") !=
        std::string::npos);
}
