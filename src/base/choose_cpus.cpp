// SPDX-License-Identifier: Apache-2.0
// From what the user asked for to CPUs that can be probed, or the reason why not and what to do.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/parse.h"
#include "base/quote.h"

namespace noised {

namespace {

using Cpus = std::vector<unsigned>;

bool contains(const Cpus& cpus, unsigned cpu) { return std::binary_search(cpus.begin(), cpus.end(), cpu); }

Cpus common(const Cpus& one, const Cpus& other) {
  Cpus both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  return both;
}

bool is_word(const std::string& text) { return text == "isolated" || text == "nohz_full" || text == "all"; }

struct Machine {
  Cpus possible;
  Cpus online;
};

Result<Machine> read_machine(const std::string& sysroot) {
  auto possible = possible_cpus(sysroot);
  if (!possible) return possible.error();
  auto online = online_cpus(sysroot);
  if (!online) return online.error();
  return Machine{std::move(possible).value(), std::move(online).value()};
}

// The CPUs behind a word. Those that are offline are left out: boot parameters often name the
// hyper-threads that nosmt then keeps offline, and the word means "the quiet CPUs there are".
Result<Cpus> quiet_cpus(const std::string& word, const Machine& machine, const std::string& sysroot) {
  if (word == "all") return machine.online;
  const bool isolated = word == "isolated";
  const auto listed = isolated ? isolated_cpus(sysroot) : nohz_full_cpus(sysroot);
  if (!listed) return listed.error();
  const char* const parameter = isolated ? "isolcpus=" : "nohz_full=";
  if (listed.value().empty()) {
    return usage_error(fmt::format("cpus '{}': this machine has no such CPU", word),
                       fmt::format("boot with {}LIST, or name CPUs with --cpus LIST (online: {})", parameter,
                                   format_cpu_list(machine.online)));
  }
  Cpus online = common(listed.value(), machine.online);
  if (online.empty()) {
    return usage_error(
        fmt::format("cpus '{}': CPU {} offline", word,
                    format_cpu_list(listed.value()) + (listed.value().size() == 1 ? " is" : " are")),
        fmt::format("as root: echo 1 > /sys/devices/system/cpu/cpu{}/online, or name CPUs with --cpus LIST",
                    listed.value().front()));
  }
  return online;
}

// Every CPU of a list must exist, be online, and be one that a thread of ours can be moved to.
Status check_usable(const std::string& place, const Cpus& cpus, const Machine& machine, const AllowedCpus& allowed) {
  for (const unsigned cpu : cpus) {
    if (!contains(machine.possible, cpu)) {
      return usage_error(fmt::format("{}: CPU {} does not exist", place, cpu),
                         "choose from " + format_cpu_list(machine.online));
    }
    if (!contains(machine.online, cpu)) {
      return usage_error(fmt::format("{}: CPU {} is offline", place, cpu),
                         fmt::format("as root: echo 1 > /sys/devices/system/cpu/cpu{}/online", cpu));
    }
    if (!contains(allowed.permitted, cpu)) {
      return usage_error(
          fmt::format("{}: CPU {} is outside the cpuset that noised runs in", place, cpu),
          fmt::format("choose from {}, or add it to the cpuset (AllowedCPUs= of the systemd unit, --cpuset-cpus of a "
                      "container)",
                      format_cpu_list(common(allowed.permitted, machine.online))));
    }
  }
  return success();
}

Result<Cpus> choose_housekeeping(const std::optional<std::string>& text, const Cpus& probe, const Machine& machine,
                                 const AllowedCpus& allowed, CpuUse use) {
  if (!text || text->empty()) {
    Cpus chosen;
    const Cpus candidates = common(machine.online, allowed.affinity);
    std::set_difference(candidates.begin(), candidates.end(), probe.begin(), probe.end(), std::back_inserter(chosen));
    if (!chosen.empty()) return chosen;
    if (use == CpuUse::watch && !candidates.empty()) return candidates;
    return usage_error(fmt::format("cpus '{}': no CPU is left for the daemon's own threads", format_cpu_list(probe)),
                       fmt::format("probe fewer CPUs, or start noised with a wider affinity (online: {}, affinity: {})",
                                   format_cpu_list(machine.online), format_cpu_list(allowed.affinity)));
  }
  const std::string place = "housekeeping_cpus " + in_quotes(*text);
  auto cpus = parse_cpu_list(*text);
  if (!cpus) return usage_error("housekeeping_cpus: " + cpus.error().what, cpus.error().remedy);
  if (auto usable = check_usable(place, cpus.value(), machine, allowed); !usable) return usable.error();
  const Cpus both = common(cpus.value(), probe);
  if (!both.empty() && use == CpuUse::probe) {
    return usage_error(fmt::format("{}: CPU {} is also probed", place, format_cpu_list(both)),
                       "take it out of housekeeping_cpus or out of cpus");
  }
  return cpus;
}

}  // namespace

Status check_cpu_choice(const std::string& text) {
  if (is_word(text)) return success();
  if (text.empty()) {
    return usage_error("CPU list '' is empty", "name CPUs such as 1-3,5, or write isolated, nohz_full or all");
  }
  const auto cpus = parse_cpu_list(text);
  if (!cpus) return usage_error(cpus.error().what, cpus.error().remedy + ", or isolated, nohz_full or all");
  return success();
}

Result<CpuChoice> choose_cpus(const std::string& text, const std::optional<std::string>& housekeeping,
                              const AllowedCpus& allowed, CpuUse use, const std::string& sysroot) {
  if (auto written = check_cpu_choice(text); !written) return written.error();
  const auto machine = read_machine(sysroot);
  if (!machine) return machine.error();
  auto probe = is_word(text) ? quiet_cpus(text, machine.value(), sysroot) : parse_cpu_list(text);
  if (!probe) return probe.error();
  const auto usable = check_usable("cpus " + in_quotes(text), probe.value(), machine.value(), allowed);
  if (!usable) return usable.error();
  auto chosen = choose_housekeeping(housekeeping, probe.value(), machine.value(), allowed, use);
  if (!chosen) return chosen.error();
  return CpuChoice{std::move(probe).value(), std::move(chosen).value()};
}

}  // namespace noised
