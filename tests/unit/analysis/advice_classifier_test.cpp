// SPDX-License-Identifier: Apache-2.0
// Which rule each part of a detour falls under.
#include <catch2/catch_test_macros.hpp>

#include "analysis/advice/classifier.h"
#include "unit/analysis/advice_scene.h"

namespace noised {
using namespace noised::account;
using namespace noised::analysis;

namespace {

using test::DetourScene;

struct Scene {
  SourceTable sources;
  Classifier classifier{sources};

  std::vector<RuleId> rules(DetourScene& detour) {
    std::vector<RuleId> rules;
    for (const auto& entry : classifier.classify(detour.done(), detour.details)) rules.push_back(entry.rule);
    return rules;
  }
};

using Rules = std::vector<RuleId>;

}  // namespace

TEST_CASE("a tick is its interrupt, its handler and what it asks for", "[advice]") {
  Scene scene;
  for (const char* handler : {"tick_nohz_handler", "tick_sched_timer"}) {
    DetourScene tick(scene.sources);
    tick.add(Kind::vector, "local_timer", 0, 1'000).add(Kind::hrtimer, handler, 1, 500);
    tick.add(Kind::softirq, "TIMER", 0, 100).add(Kind::softirq, "SCHED", 0, 100).add(Kind::softirq, "RCU", 0, 100);
    CHECK(scene.rules(tick) == Rules{RuleId::tick, RuleId::tick, RuleId::tick, RuleId::tick, RuleId::rcu});
  }
}

TEST_CASE("an interrupt of the tick and of another timer stays when the tick goes", "[advice]") {
  Scene scene;
  DetourScene both(scene.sources);
  both.add(Kind::vector, "local_timer", 0, 1'000).add(Kind::hrtimer, "tick_nohz_handler", 1, 500);
  both.add(Kind::hrtimer, "timerfd_tmrproc", 1, 500);
  CHECK(scene.rules(both) == Rules{RuleId::timers, RuleId::tick, RuleId::timers});
  DetourScene none(scene.sources);
  none.add(Kind::vector, "local_timer", 0, 1'000);
  CHECK(scene.rules(none) == Rules{RuleId::no_remedy});
}

TEST_CASE("a timer that wakes a task here is the task's, one that does not is a timer", "[advice]") {
  Scene scene;
  DetourScene woken(scene.sources);
  woken.add(Kind::vector, "local_timer", 0, 1'000).add(Kind::hrtimer, "hrtimer_wakeup", 1, 500);
  woken.add(Kind::task, "crond", 0, 9'000,
            {{DetailKey::pid, "42"},
             {DetailKey::waker_context, "this CPU"},
             {DetailKey::service, "/system.slice/cron.service"}});
  woken.add(Kind::page_fault, "user", 1, 0);
  CHECK(scene.rules(woken) == Rules{RuleId::service, RuleId::service, RuleId::service, RuleId::service});
  CHECK(scene.classifier.classify(woken.done(), woken.details)[0].object == "cron.service");

  DetourScene by_another(scene.sources);
  by_another.add(Kind::vector, "local_timer", 0, 1'000).add(Kind::hrtimer, "hrtimer_wakeup", 1, 500);
  by_another.add(Kind::task, "crond", 0, 9'000, {{DetailKey::pid, "42"}, {DetailKey::waker, "sh"}});
  CHECK(scene.rules(by_another) == Rules{RuleId::timers, RuleId::timers, RuleId::task});
}

TEST_CASE("work is told by what it does, unless it can be moved whatever it does", "[advice]") {
  Scene scene;
  DetourScene bound(scene.sources);
  bound.add(Kind::task, "kworker/1:0", 0, 100).add(Kind::work, "vmstat_update", 1, 900);
  CHECK(scene.rules(bound) == Rules{RuleId::vmstat, RuleId::vmstat});
  DetourScene unbound(scene.sources);
  unbound.add(Kind::task, "kworker/u8:2", 0, 100).add(Kind::work, "wb_workfn", 1, 900);
  CHECK(scene.rules(unbound) == Rules{RuleId::unbound_work, RuleId::unbound_work});
  DetourScene other(scene.sources);
  other.add(Kind::task, "kworker/1:1H", 0, 100).add(Kind::work, "blk_mq_run_work_fn", 1, 900);
  CHECK(scene.rules(other) == Rules{RuleId::bound_work, RuleId::bound_work});
  CHECK(scene.classifier.classify(other.done(), other.details)[0].object == "blk_mq_run_work_fn");
}

TEST_CASE("an interrupt from another CPU is what it was sent for", "[advice]") {
  Scene scene;
  DetourScene shootdown(scene.sources);
  shootdown.add(Kind::vector, "call_function_single", 0, 500);
  shootdown.add(Kind::csd, "flush_tlb_func", 1, 200, {{DetailKey::sender, "java"}});
  CHECK(scene.rules(shootdown) == Rules{RuleId::tlb, RuleId::tlb});
  CHECK(scene.classifier.classify(shootdown.done(), shootdown.details)[0].sender.empty());  // told once
  CHECK(scene.classifier.classify(shootdown.done(), shootdown.details)[1].sender == "java");
  DetourScene told(scene.sources);
  told.add(Kind::vector, "call_function", 0, 500, {{DetailKey::function, "do_sync_core"}, {DetailKey::sender, "bpf"}});
  CHECK(scene.rules(told) == Rules{RuleId::on_request});
  DetourScene wakeup(scene.sources);
  wakeup.add(Kind::vector, "reschedule", 0, 500).add(Kind::task, "rcu_preempt", 0, 500);
  CHECK(scene.rules(wakeup) == Rules{RuleId::rcu_thread, RuleId::rcu_thread});
  DetourScene alone(scene.sources);
  alone.add(Kind::vector, "reschedule", 0, 500);
  CHECK(scene.rules(alone) == Rules{RuleId::reschedule});
}

TEST_CASE("devices' deferred work is that of the interrupt before it", "[advice]") {
  Scene scene;
  DetourScene device(scene.sources);
  device.add(Kind::irq, "eth0", 0, 500).add(Kind::softirq, "NET_RX", 0, 5'000);
  CHECK(scene.rules(device) == Rules{RuleId::device, RuleId::device});
  CHECK(scene.classifier.classify(device.done(), device.details)[1].object == "eth0");
  DetourScene alone(scene.sources);
  alone.add(Kind::softirq, "NET_RX", 0, 5'000);
  CHECK(scene.rules(alone) == Rules{RuleId::device_softirq});
}

TEST_CASE("faults outside of tasks are the loop's own, also after a task", "[advice]") {
  Scene scene;
  DetourScene faults(scene.sources);
  faults.add(Kind::page_fault, "user", 0, 0).add(Kind::task, "sh", 0, 500, {{DetailKey::pid, "1"}});
  faults.add(Kind::softirq, "RCU", 1, 10).add(Kind::page_fault, "kernel", 2, 0).add(Kind::page_fault, "user", 0, 0);
  CHECK(scene.rules(faults) == Rules{RuleId::page_fault, RuleId::task, RuleId::rcu, RuleId::task, RuleId::page_fault});
}

TEST_CASE("units of systemd in the path of a cgroup", "[advice]") {
  CHECK(unit_of("/system.slice/cron.service") == "cron.service");
  CHECK(unit_of("/user.slice/user-1000.slice/session-3.scope") == "session-3.scope");
  CHECK(unit_of("/user.slice/user-1000.slice/user@1000.service/app.slice/a.service") == "user@1000.service");
  CHECK(unit_of("/kubepods.slice/pod1.slice/abc") == "pod1.slice");
  CHECK(unit_of("/docker/abc").empty());
  CHECK(unit_of("/").empty());
  CHECK(unit_of("").empty());
}

}  // namespace noised
