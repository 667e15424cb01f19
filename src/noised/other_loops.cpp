// SPDX-License-Identifier: Apache-2.0
#include "noised/other_loops.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "system/proc_tasks.h"

namespace noised::daemon {
namespace {

constexpr std::string_view kProcess = "noised";
constexpr std::string_view kLoop = "noised/";

}  // namespace

std::vector<OtherLoop> other_loops(const std::vector<unsigned>& cpus, const std::string& proc) {
  std::vector<OtherLoop> found;
  const system::ProcTasks tasks(proc);
  const auto processes = tasks.processes();
  if (!processes) return found;
  for (const std::uint32_t process : processes.value()) {
    if (process == static_cast<std::uint32_t>(::getpid())) continue;
    const auto stat = tasks.stat(process, process);
    if (!stat || stat->name != kProcess) continue;
    for (const std::uint32_t thread : tasks.threads(process)) {
      const auto of = tasks.stat(process, thread);
      if (!of || !of->name.starts_with(kLoop)) continue;
      const auto cpu = to_number<unsigned>(of->name.substr(kLoop.size()));
      if (cpu && std::ranges::find(cpus, *cpu) != cpus.end()) found.push_back({*cpu, process});
    }
  }
  std::ranges::sort(found, {}, &OtherLoop::cpu);
  return found;
}

}  // namespace noised::daemon
