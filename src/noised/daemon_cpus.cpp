// SPDX-License-Identifier: Apache-2.0
// Which CPUs the daemon measures, which it watches, and where it runs itself.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/cpus.h"
#include "noised/daemon.h"
#include "noised/hogged_cpus.h"
#include "noised/low_noise.h"
#include "noised/other_loops.h"

namespace noised::daemon {

Status Daemon::take_cpus() {
  auto allowed = allowed_cpus();
  if (!allowed) return allowed.error();
  watch_instead(allowed.value());
  const Config& config = options_.config;
  const CpuUse use = config.mode == Mode::watch ? CpuUse::watch : CpuUse::probe;
  auto cpus = choose_cpus(config.cpus, config.housekeeping_cpus, allowed.value(), use);
  if (!cpus) return cpus.error();
  cpus_ = std::move(cpus).value();
  if (steps_aside()) {
    auto others = choose_other_cpus(config.watched_cpus, cpus_.probe, allowed.value());
    if (!others) return others.error();
    others_ = std::move(others).value();
  }
  if (Status confined = confine_to(cpus_.housekeeping); !confined) return confined;
  leave_out_hogged();
  return success();
}

// Each takes the time of the other's loop, and both say so by name; but who reads one of them wonders.
void Daemon::tell_of_other_loops() {
  if (!has_loops()) return;
  for (const OtherLoop& other : other_loops(cpus_.probe)) {
    const std::string why =
        fmt::format("another noised (process {}) has a loop on CPU {}: each of them takes time from the other",
                    other.process, other.cpu);
    log_.warning("{}", why);
    run_.unsupported.push_back("detours: " + why);
  }
}

void Daemon::watch_instead(const AllowedCpus& allowed) {
  const auto isolated = isolated_cpus();
  const auto online = online_cpus();
  if (options_.names_cpus || !isolated || !isolated.value().empty() || !online) return;
  std::vector<unsigned> others = online.value();
  std::erase_if(others, [&](unsigned cpu) { return !std::ranges::binary_search(allowed.permitted, cpu); });
  if (others.empty()) return;
  const auto instead = watching_instead(options_.config, format_cpu_list(others));
  if (!instead) return;
  options_.config = *instead;
  watched_instead_ = instead->cpus;
  const std::string why = fmt::format(
      "no CPU is isolated here, so no loop measures, and the tasks of CPUs {} are watched; for a loop, boot with "
      "isolcpus=LIST, or name CPUs in probe.cpus",
      watched_instead_);
  log_.warning("{}", why);
  run_.unsupported.push_back("detours: " + why);
}

// A CPU that is never given to an ordinary thread cannot be watched: on the way in, it has to be visited. The others
// can.
void Daemon::leave_out_hogged() {
  if (!watches_tasks()) return;
  std::vector<unsigned>& watched = has_loops() ? others_ : cpus_.probe;
  const std::vector<unsigned> hogged = hogged_cpus(watched);
  if (hogged.empty() || (!has_loops() && hogged.size() == watched.size())) return;
  std::erase_if(watched, [&](unsigned cpu) { return std::ranges::binary_search(hogged, cpu); });
  const std::string why =
      fmt::format("a real-time task has all of CPUs {}: they are not watched until noised is started again without it",
                  format_cpu_list(hogged));
  log_.warning("{}", why);
  run_.unsupported.push_back("tasks: " + why);
}

// Rising: the places of tracer and pipeline.
std::vector<unsigned> Daemon::seen_cpus() const {
  std::vector<unsigned> cpus;
  std::ranges::set_union(cpus_.probe, others_, std::back_inserter(cpus));
  return cpus;
}

}  // namespace noised::daemon
