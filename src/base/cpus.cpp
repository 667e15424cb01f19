// SPDX-License-Identifier: Apache-2.0
// CPU sets as the kernel reports them: sysfs lists and affinity masks.
#include "base/cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace noised {
namespace {

// The largest NR_CPUS of any x86 kernel. The kernel refuses a mask shorter than its own, so this one fits all.
constexpr std::size_t kMaskCpus = 8192;

std::string cpu_file(const std::string& sysroot, const std::string& name) {
  return sysroot + (sysroot.ends_with('/') ? "" : "/") + "sys/devices/system/cpu/" + name;
}

Result<std::vector<unsigned>> read_cpu_file(const std::string& path) {
  const auto content = read_file(path);
  if (!content) return content.error();
  auto cpus = parse_cpu_file(content.value());
  if (!cpus) return failure("cannot read " + path + ": " + cpus.error().what);
  return cpus;
}

class AffinityMask {
 public:
  AffinityMask() : words_(CPU_ALLOC_SIZE(kMaskCpus) / sizeof(cpu_set_t)) {}
  [[nodiscard]] cpu_set_t* get() { return words_.data(); }
  [[nodiscard]] std::size_t size() const { return words_.size() * sizeof(cpu_set_t); }
  [[nodiscard]] std::vector<unsigned> cpus() const {
    std::vector<unsigned> set;
    for (unsigned cpu = 0; cpu < kMaskCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, size(), words_.data())) set.push_back(cpu);
    }
    return set;
  }

 private:
  std::vector<cpu_set_t> words_;
};

}  // namespace

Result<std::vector<unsigned>> parse_cpu_file(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return std::vector<unsigned>{};
  const std::string_view trimmed = text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  // How some kernels print a nohz_full mask that was never set.
  if (trimmed == "(null)") return std::vector<unsigned>{};
  return parse_cpu_list(trimmed);
}

Result<std::vector<unsigned>> online_cpus(const std::string& sysroot) {
  return read_cpu_file(cpu_file(sysroot, "online"));
}

Result<std::vector<unsigned>> possible_cpus(const std::string& sysroot) {
  return read_cpu_file(cpu_file(sysroot, "possible"));
}

Result<std::vector<unsigned>> isolated_cpus(const std::string& sysroot) {
  return read_cpu_file(cpu_file(sysroot, "isolated"));
}

Result<std::vector<unsigned>> nohz_full_cpus(const std::string& sysroot) {
  const std::string path = cpu_file(sysroot, "nohz_full");
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    return usage_error(path + " does not exist: this kernel is built without NO_HZ_FULL",
                       "name the CPUs with --cpus LIST");
  }
  return read_cpu_file(path);
}

Result<AllowedCpus> allowed_cpus() {
  AffinityMask before;
  if (::sched_getaffinity(0, before.size(), before.get()) != 0) {
    return failure("sched_getaffinity: " + errno_text(errno));
  }
  AffinityMask all;
  std::fill_n(reinterpret_cast<unsigned char*>(all.get()), all.size(), static_cast<unsigned char>(0xff));
  AffinityMask permitted;
  if (::sched_setaffinity(0, all.size(), all.get()) != 0) return failure("sched_setaffinity: " + errno_text(errno));
  const int got = ::sched_getaffinity(0, permitted.size(), permitted.get());
  const int get_error = errno;
  if (::sched_setaffinity(0, before.size(), before.get()) != 0) {
    return failure("sched_setaffinity: " + errno_text(errno));
  }
  if (got != 0) return failure("sched_getaffinity: " + errno_text(get_error));
  return AllowedCpus{before.cpus(), permitted.cpus()};
}

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

// Every CPU of a list must exist, and be one that a thread of ours can be moved to. Of those that are offline, which no
// thread can, nobody knows: where they may come later, one that is online is enough.
enum class Offline : std::uint8_t { refused, may_come };

Status check_usable(const std::string& place, const Cpus& cpus, const Machine& machine, const AllowedCpus& allowed,
                    Offline offline) {
  const bool wait = offline == Offline::may_come && !common(cpus, machine.online).empty();
  for (const unsigned cpu : cpus) {
    if (!contains(machine.possible, cpu)) {
      return usage_error(fmt::format("{}: CPU {} does not exist", place, cpu),
                         "choose from " + format_cpu_list(machine.online));
    }
    if (!contains(machine.online, cpu)) {
      if (wait) continue;
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
  if (auto usable = check_usable(place, cpus.value(), machine, allowed, Offline::refused); !usable)
    return usable.error();
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
  const auto usable =
      check_usable("cpus " + in_quotes(text), probe.value(), machine.value(), allowed, Offline::may_come);
  if (!usable) return usable.error();
  auto chosen = choose_housekeeping(housekeeping, probe.value(), machine.value(), allowed, use);
  if (!chosen) return chosen.error();
  return CpuChoice{std::move(probe).value(), std::move(chosen).value()};
}

Status check_other_cpus(const std::string& text) {
  if (text == "all" || text == "none") return success();
  if (text.empty()) return usage_error("CPU list '' is empty", "name CPUs such as 1-3,5, or write all or none");
  const auto cpus = parse_cpu_list(text);
  if (!cpus) return usage_error(cpus.error().what, cpus.error().remedy + ", or all or none");
  return success();
}

Result<std::vector<unsigned>> choose_other_cpus(const std::string& text, const std::vector<unsigned>& but,
                                                const AllowedCpus& allowed, const std::string& sysroot) {
  if (auto written = check_other_cpus(text); !written) return written.error();
  if (text == "none") return Cpus();
  const auto machine = read_machine(sysroot);
  if (!machine) return machine.error();
  auto wanted = text == "all" ? common(machine.value().online, allowed.permitted) : parse_cpu_list(text);
  if (!wanted) return wanted.error();
  const auto usable =
      check_usable("watched_cpus " + in_quotes(text), wanted.value(), machine.value(), allowed, Offline::may_come);
  if (!usable) return usable.error();
  Cpus others;
  std::ranges::set_difference(wanted.value(), but, std::back_inserter(others));
  return others;
}

namespace {

// The largest NR_CPUS of any x86 kernel; refusing more keeps "0-4294967295" from filling the memory.
constexpr unsigned kMostCpus = 8192;

struct Range {
  unsigned first = 0;
  unsigned last = 0;
  unsigned used = 1;
  unsigned group = 1;
};

// Takes a number off the front of the text.
bool take_number(std::string_view& text, unsigned& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool parse_range(std::string_view text, Range& range) {
  if (!take_number(text, range.first)) return false;
  range.last = range.first;
  if (!take(text, '-')) return text.empty();
  if (!take_number(text, range.last)) return false;
  if (text.empty()) return true;
  return take(text, ':') && take_number(text, range.used) && take(text, '/') && take_number(text, range.group) &&
         text.empty();
}

Error refuse(std::string_view text, const std::string& why) {
  return usage_error("CPU list " + in_quotes(text) + ": " + why, "write numbers and ranges such as 1-3,5");
}

}  // namespace

Result<std::vector<unsigned>> parse_cpu_list(std::string_view text) {
  std::bitset<kMostCpus> set;  // not a growing list: "0-8191,0-8191,..." would take 4.7 KB a byte of text
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    Range range;
    if (!parse_range(item, range)) return refuse(text, in_quotes(item) + " is neither a CPU nor a range");
    if (range.last < range.first) return refuse(text, in_quotes(item) + " runs backwards");
    if (range.used == 0 || range.group < range.used) return refuse(text, in_quotes(item) + " has an impossible stride");
    if (range.last >= kMostCpus) return refuse(text, fmt::format("{} is above {}", in_quotes(item), kMostCpus - 1));
    for (unsigned cpu = range.first; cpu <= range.last; ++cpu) {
      if ((cpu - range.first) % range.group < range.used) set.set(cpu);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return refuse(text, "it ends with a comma");
  }
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < kMostCpus; ++cpu) {
    if (set[cpu]) cpus.push_back(cpu);
  }
  return cpus;
}

std::string format_cpu_list(const std::vector<unsigned>& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (last > first) text += '-' + std::to_string(cpus[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace noised
