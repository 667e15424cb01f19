// SPDX-License-Identifier: Apache-2.0
// A stack of what is open, fed line by line.
#include "recount.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clocks.h"

namespace noised::live {
namespace {

// noised counts the kernel's interchangeable workers as one: kworker/1:0 as kworker/1:*.
std::string name_of(std::string comm) {
  const std::size_t number = comm.find(':') + 1;
  if (!comm.starts_with("kworker/") || number == 0) return comm;
  return comm.replace(number, comm.find_first_not_of("0123456789", number) - number, "*");
}

constexpr std::array<std::string_view, 11> kVectors = {
    "local_timer", "reschedule",    "call_function",    "call_function_single",
    "irq_work",    "thermal_apic",  "threshold_apic",   "deferred_error_apic",
    "error_apic",  "spurious_apic", "x86_platform_ipi",
};

// How the other pairs tell their name: what follows `key` up to `end` (or the line's).
struct Pair {
  std::string_view entry, exit, kind, key;
  char end;
};
constexpr std::array<Pair, 7> kPairs = {{
    {"irq_handler_entry", "irq_handler_exit", "irq", "name=", '\n'},
    {"softirq_entry", "softirq_exit", "softirq", "action=", ']'},
    {"tasklet_entry", "tasklet_exit", "tasklet", "function=", ' '},
    {"timer_expire_entry", "timer_expire_exit", "timer", "function=", ' '},
    {"hrtimer_expire_entry", "hrtimer_expire_exit", "hrtimer", "function=", ' '},
    {"csd_function_entry", "csd_function_exit", "csd", "func=", ','},
    {"workqueue_execute_start", "workqueue_execute_end", "work", "function ", ' '},
}};
constexpr std::array<std::string_view, 7> kGroups = {"irq", "irq", "irq", "timer", "timer", "csd", "workqueue"};

std::string between(const std::string& text, std::string_view after, std::string_view before) {
  const std::size_t found = text.find(after);
  if (found == std::string::npos) return {};
  const std::size_t begin = found + after.size();
  return text.substr(begin, text.find(before, begin) - begin);
}

class Stack {
 public:
  Stack(int loop, std::uint64_t from_ticks, std::uint64_t settled_ticks, bool callback_ends)
      : loop_(loop), from_ticks_(from_ticks), settled_ticks_(settled_ticks), callback_ends_(callback_ends) {}

  void take(const TraceEvent& event) {
    if (event.ticks >= from_ticks_ && !begun_) {  // the loop runs; the switch to it may have been from before the trace
      begun_ = true;
      open_.clear();
      task_.reset();
    }
    if (event.name == "sched_switch") return change_task(event);
    if (event.name.starts_with("page_fault_")) {
      return add({"page_fault:" + event.name.substr(11), event.ticks, event.ticks, 0, 0, depth()});
    }
    for (const std::string_view vector : kVectors) {
      if (event.name == std::string(vector) + "_entry") return enter("vector", std::string(vector), event.ticks);
      if (event.name == std::string(vector) + "_exit") return leave("vector", std::string(vector), event);
    }
    for (const Pair& pair : kPairs) {
      const std::string name = between(event.text, pair.key, std::string_view(&pair.end, 1));
      if (event.name == pair.entry) return enter(pair.kind, name, event.ticks);
      if (event.name == pair.exit) return leave(pair.kind, name, event);
    }
  }

  Recount take_result() { return std::move(result_); }

 private:
  struct Open {
    std::string_view kind;
    std::string name;
    std::uint64_t start_ticks;
    std::uint64_t nested_ticks;
    unsigned nested;
  };

  [[nodiscard]] unsigned depth() const { return static_cast<unsigned>(open_.size() + (task_ ? 1 : 0)); }

  static bool is_callback(std::string_view kind) { return kind == "tasklet" || kind == "timer" || kind == "hrtimer"; }

  static bool has_callbacks(std::string_view kind) { return kind == "irq" || kind == "vector" || kind == "softirq"; }

  void enter(std::string_view kind, std::string name, std::uint64_t ticks) {
    const bool follows = !open_.empty() && open_.back().kind == kind && is_callback(kind);
    if (!callback_ends_ && follows) close_top(ticks, "");
    open_.push_back({kind, std::move(name), ticks, 0, 0});
  }

  void add(Recounted interval) {
    Open* around = open_.empty() ? (task_ ? &*task_ : nullptr) : &open_.back();
    if (around != nullptr && interval.end_ticks != interval.start_ticks) {
      around->nested_ticks += interval.end_ticks - interval.start_ticks;
      ++around->nested;
    }
    result_.intervals.push_back(std::move(interval));
  }

  void close_top(std::uint64_t ticks, std::string_view suffix) {
    const Open top = std::move(open_.back());
    open_.pop_back();
    add({std::string(top.kind) + ":" + top.name + std::string(suffix), top.start_ticks, ticks, top.nested_ticks,
         top.nested, depth()});
  }

  void leave(std::string_view kind, const std::string& name, const TraceEvent& event) {
    if (!callback_ends_ && is_callback(kind)) return;
    if (!callback_ends_ && has_callbacks(kind) && !open_.empty() && is_callback(open_.back().kind))
      close_top(event.ticks, "");
    const bool unhandled = event.name == "irq_handler_exit" && event.text.ends_with("unhandled");
    if (!open_.empty() && open_.back().kind == kind) return close_top(event.ticks, unhandled ? " (not handled)" : "");
    if (open_.empty() && task_ && kind == "work") {
      // The task slept in it: since it was switched in again, it did nothing else.
      return add({"work:" + name, task_->start_ticks, event.ticks, 0, 0, 1});
    }
    contradict(event);
  }

  void change_task(const TraceEvent& event) {
    while (!open_.empty()) close_top(event.ticks, "");  // the task sleeps in a work item: this part of it ends
    if (task_) {
      const Open task = *std::exchange(task_, std::nullopt);
      if (task.name != between(event.text, "prev_pid=", " ")) contradict(event);
      add({"task:" + name_of(between(event.text, "prev_comm=", " prev_pid=")), task.start_ticks, event.ticks,
           task.nested_ticks, task.nested, 0});
    } else if (begun_ && std::to_string(loop_) != between(event.text, "prev_pid=", " ")) {
      contradict(event);
    }
    last_switch_ = event.text;
    const std::string next = between(event.text, "next_pid=", " ");
    if (next != std::to_string(loop_)) task_ = Open{"task", next, event.ticks, 0, 0};
  }

  void contradict(const TraceEvent& event) {
    if (event.ticks >= settled_ticks_)
      result_.contradictions.push_back(event.name + ": " + event.text + ", after " + last_switch_);
  }

  int loop_;
  std::uint64_t from_ticks_;
  std::uint64_t settled_ticks_;
  bool callback_ends_;
  bool begun_ = false;
  std::vector<Open> open_;
  std::optional<Open> task_;  // name: its pid
  std::string last_switch_;
  Recount result_;
};

bool in_succession(const std::string& before, const std::string& after) {
  if (after == "softirq_entry") return before == "softirq_exit" || before == "local_timer_exit";
  return before == "hrtimer_expire_exit" && after == "hrtimer_expire_entry";
}

}  // namespace

std::vector<std::string> recounted_events() {
  std::vector<std::string> events = {"sched/sched_switch", "exceptions/page_fault_user",
                                     "exceptions/page_fault_kernel"};
  for (const std::string_view vector : kVectors) {
    for (const char* end : {"_entry", "_exit"}) events.push_back("irq_vectors/" + std::string(vector) + end);
  }
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    for (const std::string_view name : {kPairs[i].entry, kPairs[i].exit}) {
      events.push_back(std::string(kGroups[i]) + "/" + std::string(name));
    }
  }
  return events;
}

Recount recount(const std::vector<TraceEvent>& events, int loop, std::uint64_t from_ticks, std::uint64_t settled_ticks,
                bool callback_ends) {
  Stack stack(loop, from_ticks, settled_ticks, callback_ends);
  for (const TraceEvent& event : events) stack.take(event);
  return stack.take_result();
}

std::uint64_t quantile(std::vector<std::uint64_t> values, std::size_t percent) {
  const std::size_t at = (values.size() - 1) * percent / 100;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::optional<std::uint64_t> end_cost_ticks(const std::vector<TraceEvent>& events, std::uint64_t from_ticks) {
  constexpr std::size_t kEnough = 20;
  std::vector<std::uint64_t> gaps;
  for (std::size_t i = 1; i < events.size(); ++i) {
    const TraceEvent& before = events[i - 1];
    const TraceEvent& after = events[i];
    if (after.ticks >= from_ticks && in_succession(before.name, after.name)) gaps.push_back(after.ticks - before.ticks);
  }
  if (gaps.size() < kEnough) return std::nullopt;
  return quantile(std::move(gaps), 90);
}

Moment read_moment() {
  Moment best;
  std::uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t before = read_tsc_ordered();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t width = read_tsc_ordered() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {before + width / 2, ns};
  }
  return best;
}

}  // namespace noised::live
