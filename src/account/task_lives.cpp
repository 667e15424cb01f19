// SPDX-License-Identifier: Apache-2.0
// Lives, one after the other in each place for a task.
#include "account/task_lives.h"

#include <algorithm>
#include <utility>

namespace noised::account {

// Linux's de_thread(): the thread that execs gets the leader's pid and time of birth, and the leader, which has ended
// by then, the thread's pid; it may still have its last switch to come. Both stay where they are.
bool TaskLives::is_same(const Life& life, const TaskRun& run) {
  if (life.over && run.end_ns > life.last_ns) return false;
  if (life.tgid == 0) return run.pid == life.pid || run.start_ns == life.first_ns;
  if (run.pid == life.pid && run.id.birth == life.birth) return true;
  if (run.tgid != life.tgid) return false;
  if (run.pid == run.tgid) return life.pid != life.tgid;  // the thread, which is the leader now
  if (life.pid != life.tgid) return false;
  const bool replaced = run.ended && run.id.birth == life.birth;  // the leader that was
  return replaced || run.end_ns <= life.leader_ns;                // the thread, before; read late
}

void TaskLives::note(Life& life, const TaskRun& run) {
  life.last_ns = std::max(life.last_ns, run.end_ns);
  life.over |= run.ended;
  if (life.tgid != 0 && run.pid == life.pid) return;
  if (life.tgid != 0 && run.pid != run.tgid) return;
  if (run.pid != life.pid) life.leader_ns = run.start_ns;
  life.pid = run.pid;
  life.tgid = run.tgid;
  life.birth = run.id.birth;
}

TaskLives::Life& TaskLives::begin(std::uint32_t slot, std::uint32_t pid, std::uint64_t start_ns) {
  if (lives_.size() >= kTasks && !lives_.contains(slot)) forget_silent();
  const auto [found, made] = lives_.try_emplace(slot);
  Life& life = found->second;
  if (!made) replaced_.push_back({slot, start_ns, std::exchange(life, Life())});
  life.number = ++numbers_;
  life.pid = pid;
  life.first_ns = life.last_ns = start_ns;
  return life;
}

// On the other CPU, whose runs were read first, another task has come to its place since.
std::uint64_t TaskLives::number_of_late(const TaskRun& run, std::uint64_t by_ns) {
  for (Replaced& each : replaced_) {
    if (each.slot != run.id.slot || !is_same(each.life, run)) continue;
    note(each.life, run);
    return each.life.number;
  }
  Replaced& before = replaced_.emplace_back(run.id.slot, by_ns, Life());
  before.life.number = ++numbers_;
  before.life.pid = run.pid;
  before.life.first_ns = run.start_ns;
  note(before.life, run);
  return before.life.number;
}

std::uint64_t TaskLives::number_of(const TaskRun& run) {
  const auto found = lives_.find(run.id.slot);
  if (found != lives_.end() && is_same(found->second, run)) {
    note(found->second, run);
    return found->second.number;
  }
  if (found != lives_.end() && run.end_ns <= found->second.first_ns) return number_of_late(run, found->second.first_ns);
  Life& life = begin(run.id.slot, run.pid, run.start_ns);
  note(life, run);
  return life.number;
}

std::uint64_t TaskLives::number_of(const CurrentTask& current) {
  const std::uint64_t known = find(current);
  return known != 0 ? known : begin(current.slot, current.pid, current.start_ns).number;
}

std::uint64_t TaskLives::find(const CurrentTask& current) const {
  const auto found = lives_.find(current.slot);
  return found != lives_.end() && found->second.pid == current.pid ? found->second.number : 0;
}

LastRun* TaskLives::last_run(std::uint32_t slot, std::uint64_t number) {
  const auto found = lives_.find(slot);
  if (found != lives_.end() && found->second.number == number) return &found->second.last;
  const auto replaced = std::ranges::find(replaced_, number, [](const Replaced& each) { return each.life.number; });
  return replaced != replaced_.end() ? &replaced->life.last : nullptr;
}

void TaskLives::end(std::uint32_t slot, std::uint64_t number) {
  const auto found = lives_.find(slot);
  if (found != lives_.end() && found->second.number == number) {
    lives_.erase(found);
  } else {
    std::erase_if(replaced_, [&](const Replaced& each) { return each.life.number == number; });
  }
}

void TaskLives::settle(std::uint64_t ns) {
  std::erase_if(replaced_, [&](const Replaced& each) {
    if (each.by_ns > ns) return false;
    gone_.push_back(each.life.number);
    return true;
  });
}

// The half that has not run for longest; among them those that ended where nobody watches, and whose place the kernel
// uses for something else. Once in kTasks / 2 new ones.
void TaskLives::forget_silent() {
  std::vector<std::uint64_t> ends;
  ends.reserve(lives_.size());
  for (const auto& [slot, life] : lives_) ends.push_back(life.last_ns);
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::ranges::nth_element(ends, middle);
  const std::uint64_t until_ns = *middle;
  std::erase_if(lives_, [&](const auto& each) {
    if (each.second.last_ns > until_ns) return false;
    gone_.push_back(each.second.number);
    return true;
  });
  has_forgotten_ = true;
}

}  // namespace noised::account
