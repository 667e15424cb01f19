// SPDX-License-Identifier: Apache-2.0
#include "noisectl/watch/ranks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/saturating.h"

namespace noised::client {
namespace {

// First what a library's own launcher sets for MPI_COMM_WORLD, and for nobody else. Then what process managers set,
// which also number the daemons that such a launcher starts through them. Slurm's last: whatever srun starts has it.
constexpr const char* kSlurmRank = "SLURM_PROCID";
constexpr std::array kRankVariables{"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", kSlurmRank};

// What getenv would give: the first of that name.
std::optional<std::string_view> value_of(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view variable = environment.substr(0, end);
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('='))
      return variable.substr(name.size() + 1);
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return std::nullopt;
}

std::optional<std::uint32_t> number_in(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

// mpirun in a Slurm job may have started its daemons by srun, which numbers them: in an allocation, only the variable
// to be believed most tells ranks.
std::map<std::string, unsigned> believed_variables(const RankClaims& claims) {
  std::map<std::string, unsigned> believed;
  for (const auto& [tgid, claim] : claims) {
    if (!claim || claim->allocation.empty()) continue;
    const auto [at, added] = believed.try_emplace(claim->allocation, claim->variable);
    if (!added) at->second = std::min(at->second, claim->variable);
  }
  return believed;
}

// The processes whose number another had before it: their tasks cannot be told from its.
std::set<std::uint32_t> reused_numbers(const WatchReport& report) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  std::set<std::uint32_t> reused;
  for (const WatchTask& task : report.tasks) {
    if (!seen.emplace(task.tgid, task.pid).second) reused.insert(task.tgid);
  }
  return reused;
}

void add_categories(const WatchTask& task, WatchRank& rank) {
  for (const auto& [category, ns] : task.categories) {
    const auto same = [&name = category](const auto& each) { return each.first == name; };
    const auto at = std::find_if(rank.categories.begin(), rank.categories.end(), same);
    if (at == rank.categories.end()) {
      rank.categories.emplace_back(category, ns);
    } else {
      at->second = saturating_add(at->second, ns);
    }
  }
}

void add_task(const WatchTask& task, WatchRank& rank) {
  ++rank.tasks;
  const WatchCounts& counts = task.counts;
  rank.runnable_ns = saturating_add(
      rank.runnable_ns, saturating_add(counts.run_ns, saturating_add(counts.preempted_ns, counts.queued_ns)));
  rank.stolen_ns = saturating_add(rank.stolen_ns, task.stolen_ns);
  rank.interruptions = saturating_add(rank.interruptions, task.interruptions);
  add_categories(task, rank);
}

}  // namespace

std::optional<RankClaim> parse_rank(std::string_view environment) {
  const auto text_of = [environment](const char* name) {
    return std::string(value_of(environment, name).value_or(std::string_view()));
  };
  const std::string slurm_job = text_of("SLURM_JOB_ID");
  const std::string slurm_step = text_of("SLURM_STEP_ID");
  for (unsigned at = 0; at < kRankVariables.size(); ++at) {
    // Of no step is the batch script, with what it starts without srun: all of that is "0".
    if (kRankVariables[at] == kSlurmRank && slurm_step.empty()) continue;
    const auto rank = number_in(value_of(environment, kRankVariables[at]));
    if (!rank) continue;
    std::string job = text_of("PMIX_NAMESPACE");
    if (job.empty() && !slurm_job.empty()) job = fmt::format("{}.{}", slurm_job, slurm_step);
    return RankClaim{.rank = *rank, .job = std::move(job), .allocation = slurm_job, .variable = at};
  }
  return std::nullopt;
}

void add_ranks(const RankClaims& claims, WatchReport& report) {
  const std::map<std::string, unsigned> believed = believed_variables(claims);
  const std::set<std::uint32_t> reused = reused_numbers(report);
  std::set<std::uint32_t> unknown;
  std::map<std::pair<std::string, std::uint32_t>, WatchRank> ranks;
  std::map<std::pair<std::string, std::uint32_t>, std::set<std::uint32_t>> processes;
  for (WatchTask& task : report.tasks) {
    const auto found = claims.find(task.tgid);
    if (found == claims.end() || reused.contains(task.tgid)) {
      unknown.insert(task.tgid);
      continue;
    }
    const std::optional<RankClaim>& claim = found->second;
    if (!claim) continue;
    const auto best = believed.find(claim->allocation);
    if (best != believed.end() && best->second != claim->variable) continue;
    task.rank = claim->rank;
    task.job = claim->job;
    const std::pair key(claim->job, claim->rank);
    add_task(task, ranks[key]);
    processes[key].insert(task.tgid);
  }
  for (auto& [key, rank] : ranks) {
    rank.rank = key.second;
    rank.job = key.first;
    rank.processes = processes[key].size();
    std::ranges::stable_sort(rank.categories, [](const auto& a, const auto& b) { return a.second > b.second; });
    report.ranks.push_back(std::move(rank));
  }
  std::ranges::stable_sort(report.ranks, [](const auto& a, const auto& b) { return a.stolen_ns > b.stolen_ns; });
  report.rank_unknown = unknown.size();
}

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
  if (!stat || system::comm_of(*stat) != task.name) return;
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
  return stat && system::comm_of(*stat) == task.name ? *process : 0;
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
