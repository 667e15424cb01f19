// SPDX-License-Identifier: Apache-2.0
// A watch with every field set to something of its own.
#pragma once

#include "model/watch.h"

namespace noised::examples {

inline WatchReport watch() {
  WatchReport report;
  report.selection = "pid 12, 13";
  report.final = true;
  report.elapsed_ns = 10'000'000'000;
  report.cpus = "1-3";
  report.tasks_seen = 3;
  report.counts = {230,        200,        30,        12, 4'100,     2, 19'700'000'000,
                   90'000'000, 10'000'000, 3'990'000, 4,  1'500'000, 6, 7'000'000};
  report.runnable_ns = 19'800'000'000;
  report.interruptions = 5123;
  report.incomplete = 1;
  report.stolen_ns = 200'000'000;
  report.max_interruption_ns = 4'000'000;
  report.explained_ns = 190'000'000;
  report.overhead_ns = 6'000'000;
  report.hypervisor_ns = 2'000'000;
  report.hardware_ns = 1'500'000;
  report.unexplained_ns = 500'000;
  report.steal = {40'000'000, 10'000'000};
  report.sources = {{0, "preemption", "task", "crond", 40, 100'000'000, 10'000, 2'500'000, 4'000'000, 700'000, 0.5},
                    {0, "periodic", "vector", "local_timer", 4950, 90'000'000, 9'000, 18'181, 80'000, 2'000, 0.45},
                    {0, "overhead", "overhead", "overhead", 4980, 6'000'000, 800, 1'204, 9'000, 90, 0.03},
                    {0, "page_fault", "page_fault", "user", 4102, 0, 0, 0, 0, 0, 0}};
  report.combinations = {{{"vector:local_timer", "softirq:TIMER"}, 2400, 50'000'000, 120'000, 9'000, 20'833, 400}};
  report.runs = {{1'000'000, 1'015'623, 100}, {2'000'000, 2'031'247, 129}, {90'000'000, 90'999'999, 1}};
  report.waits = {{1'000'000, 1'015'623, 41}, {3'932'160, 3'997'695, 1}};
  WatchTask task;
  task.pid = 12;
  task.tgid = 12;
  task.name = "lmp";
  task.ended = true;
  task.counts = {130, 110, 20, 7, 4'000, 1, 9'800'000'000, 80'000'000, 9'000'000, 3'990'000, 3, 1'400'000};
  task.stolen_ns = 150'000'000;
  task.interruptions = 2600;
  task.categories = {{"preemption", 98'000'000}, {"periodic", 52'000'000}};
  report.tasks = {task};
  task.pid = 13;
  task.name = "lmp/1";
  task.ended = false;
  task.counts = {100, 90, 10, 5, 102, 1, 9'900'000'000, 0, 0, 0, 1, 100'000};
  task.stolen_ns = 0;
  task.interruptions = 0;
  task.categories = {};
  report.tasks.push_back(task);
  report.lost = {1, 2, 3, 4, 5, {{1, "ring_full", 7}}};
  report.unsupported = {"page_fault duration: fentry refused by kernel"};
  return report;
}

/// Two ranks of the same.
inline WatchReport watch_with_ranks() {
  WatchReport report = watch();
  report.tasks[0].rank = 1;
  report.tasks[0].job = "1111490561";
  report.tasks[1].rank = 0;
  report.ranks = {{1, "1111490561", 1, 1, 9'889'000'000, 150'000'000, 2600, report.tasks[0].categories},
                  {0, "", 2, 4, 9'900'000'000, 0, 0, {}}};
  report.rank_unknown = 1;
  return report;
}

}  // namespace noised::examples
