// SPDX-License-Identifier: Apache-2.0
// Reading an environment takes the process's address space for a moment as a reader: once, of most processes.
#include "noisectl/rank_watch.h"

#include <set>

#include <fmt/format.h>

#include "base/read_file.h"

namespace noised::client {
namespace {

// A process that was forked, and has not executed its program yet, has the environment of its launcher. It executes
// before the next report, or changes its name when it does later.
constexpr unsigned kLooks = 2;
// The kernel lets arguments and environment have this together.
constexpr std::size_t kLargest = std::size_t{6} << 20U;

}  // namespace

void RankWatch::look(const WatchTask& task, Process& process) const {
  if (process.claim) return;
  if (process.name != task.name) process.looks = 0;
  if (process.looks == kLooks) return;
  // In another PID namespace, this number is somebody else's.
  const auto stat = tasks_.stat(task.tgid, task.pid);
  if (!stat || comm_of(*stat) != task.name) return;
  const Result<std::string> environment = read_file(fmt::format("{}/{}/environ", root_, task.tgid), kLargest);
  if (!environment) return;
  ++process.looks;
  process.name = task.name;
  process.claim = parse_rank(environment.value());
}

// In another PID namespace, this number is somebody else's.
std::uint32_t RankWatch::process_of(const WatchTask& task) const {
  const auto process = tasks_.process_of(task.pid);
  const auto stat = process ? tasks_.stat(*process, task.pid) : std::nullopt;
  return stat && comm_of(*stat) == task.name ? *process : 0;
}

void RankWatch::take(WatchReport& report) {
  std::map<std::uint32_t, Process> processes;
  std::set<std::uint32_t> looked_at;
  for (WatchTask& task : report.tasks) {
    // No run of it has ended: one that spins on a CPU of its own may never give it up.
    if (task.tgid == 0 && !task.ended) task.tgid = process_of(task);
    const auto [at, fresh] = processes.try_emplace(task.tgid);
    const auto known = processes_.find(task.tgid);
    if (fresh && known != processes_.end()) at->second = std::move(known->second);
    if (!task.ended && looked_at.insert(task.tgid).second) look(task, at->second);
  }
  processes_ = std::move(processes);
  RankClaims claims;
  for (const auto& [tgid, process] : processes_) {
    if (process.claim || process.looks != 0) claims.emplace(tgid, process.claim);
  }
  add_ranks(claims, report);
}

}  // namespace noised::client
