// SPDX-License-Identifier: Apache-2.0
// Reading settings: a few dozen small files, once, after the measurement.
#include "analysis/advice/machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <ranges>
#include <sstream>

#include <fmt/chrono.h>
#include <zlib.h>

#include "base/cpus.h"
#include "base/files.h"

namespace noised::analysis {
namespace {

constexpr std::array kFiles = {
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/virtual/workqueue/cpumask",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/machinecheck/machinecheck0/check_interval",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "sys/kernel/mm/ksm/run",
    "sys/kernel/rcu_normal",
    "proc/sys/kernel/timer_migration",
    "proc/sys/kernel/watchdog",
    "proc/sys/kernel/watchdog_cpumask",
    "proc/sys/kernel/nmi_watchdog",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/vm/stat_interval",
    "proc/sys/vm/compaction_proactiveness",
};

std::string trimmed(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\n");
  return last == std::string::npos ? "" : text.substr(0, last + 1);
}

std::string below(const std::string& sysroot, std::string_view path) {
  return (std::filesystem::path(sysroot) / path).string();
}

std::string read_or_empty(const std::string& sysroot, std::string_view path) {
  const auto text = read_file(below(sysroot, path));
  return text ? trimmed(text.value()) : "";
}

// Nothing where there is no such file: kernels without IKCONFIG_PROC. A configuration is some 300 KB.
std::string read_gzip(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{4} << 20U;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rbe"), gzclose);
  std::string text;
  std::array<char, 65536> piece;
  while (file != nullptr && text.size() < kLargest) {
    const int size = gzread(file.get(), piece.data(), piece.size());
    if (size <= 0) return size == 0 ? text : "";
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

// As RFC 3339 has it, so that it compares with the start of a recording; empty where it is not known.
std::string boot_time(const std::string& sysroot) {
  const std::string uptime = read_or_empty(sysroot, "proc/uptime");
  long seconds = 0;
  if (std::from_chars(uptime.data(), uptime.data() + uptime.size(), seconds).ec != std::errc{}) return {};
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now - seconds));
}

// Another kernel or command line is another boot; settings do not outlive one.
bool is_this_boot(const recording::Description& description, const std::string& sysroot) {
  const StatusView& status = description.base.status;
  const std::string booted = boot_time(sysroot);
  return read_or_empty(sysroot, "proc/sys/kernel/hostname") == status.host &&
         read_or_empty(sysroot, "proc/sys/kernel/osrelease") == status.kernel &&
         read_or_empty(sysroot, "proc/cmdline") == trimmed(description.boot_parameters) && !booted.empty() &&
         description.start >= booted;
}

std::vector<unsigned> cpus_or_none(std::string_view text) {
  auto cpus = parse_cpu_file(text);
  return cpus ? std::move(cpus).value() : std::vector<unsigned>{};
}

// By the names that sources have (system/names.cpp): the action, with the number where several have the same.
void read_irqs(const std::string& sysroot, Machine& machine) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator each(below(sysroot, "sys/kernel/irq"), error), end; !error && each != end;
       each.increment(error)) {
    const std::string number = each->path().filename().string();
    IrqNow now;
    if (std::from_chars(number.data(), number.data() + number.size(), now.irq).ec != std::errc{}) continue;
    now.cpus = cpus_or_none(read_or_empty(sysroot, "proc/irq/" + number + "/smp_affinity_list"));
    if (now.cpus.empty()) continue;
    const std::string action = read_or_empty(sysroot, "sys/kernel/irq/" + number + "/actions");
    machine.irqs["irq" + number].push_back(now);
    if (action.empty()) continue;
    machine.irqs[action].push_back(now);
    machine.irqs[fmt::format("{}:{}", action, number)].push_back(now);
  }
  // A directory has no order.
  for (auto& [action, irqs] : machine.irqs)
    std::sort(irqs.begin(), irqs.end(), [](const IrqNow& a, const IrqNow& b) { return a.irq < b.irq; });
}

void read_live(const std::map<std::string, unsigned>& tasks, const std::string& sysroot, Machine& machine) {
  for (const char* path : kFiles) {
    if (const auto text = read_file(below(sysroot, path))) machine.files.emplace(path, trimmed(text.value()));
  }
  machine.configuration = read_or_empty(sysroot, "boot/config-" + read_or_empty(sysroot, "proc/sys/kernel/osrelease"));
  if (machine.configuration.empty()) machine.configuration = read_gzip(below(sysroot, "proc/config.gz"));
  read_irqs(sysroot, machine);
  for (const auto& [name, pid] : tasks) {
    if (auto task = read_task(pid, name, sysroot)) machine.tasks.emplace(name, std::move(*task));
  }
  const auto online = machine.cpu_list("sys/devices/system/cpu/online");
  if (online.value) machine.housekeeping = without(*online.value, machine.watched);
}

template <typename T>
MachineSetting<T> no_setting(const MachineSetting<std::string>& text, std::string_view path) {
  return {std::nullopt, text.value ? fmt::format("/{} says '{}'", path, *text.value) : text.why};
}

}  // namespace

MachineSetting<std::string> Machine::text(std::string_view path) const {
  if (!live) return {std::nullopt, why};
  const auto found = files.find(path);
  if (found == files.end()) return {std::nullopt, fmt::format("this kernel has no /{}", path)};
  return {found->second, {}};
}

MachineSetting<std::uint64_t> Machine::number(std::string_view path) const {
  const auto read = text(path);
  std::uint64_t value = 0;
  if (read.value) {
    const char* const end = read.value->data() + read.value->size();
    const auto [stop, error] = std::from_chars(read.value->data(), end, value);
    if (error == std::errc{} && stop == end) return {value, {}};
  }
  return no_setting<std::uint64_t>(read, path);
}

MachineSetting<std::vector<unsigned>> Machine::cpu_list(std::string_view path) const {
  const auto read = text(path);
  if (read.value) {
    if (auto cpus = parse_cpu_file(*read.value)) return {std::move(cpus).value(), {}};
  }
  return no_setting<std::vector<unsigned>>(read, path);
}

MachineSetting<std::vector<unsigned>> Machine::cpu_mask(std::string_view path) const {
  const auto read = text(path);
  if (!read.value || read.value->empty() ||
      read.value->find_first_not_of("0123456789abcdefABCDEF,") != std::string::npos)
    return no_setting<std::vector<unsigned>>(read, path);
  std::vector<unsigned> cpus;
  unsigned cpu = 0;
  for (const char digit : std::views::reverse(*read.value)) {
    if (digit == ',') continue;
    const unsigned bits = static_cast<unsigned>(std::stoul(std::string(1, digit), nullptr, 16));
    for (unsigned bit = 0; bit < 4; ++bit, ++cpu) {
      if ((bits >> bit & 1U) != 0) cpus.push_back(cpu);
    }
  }
  return {std::move(cpus), {}};
}

std::optional<bool> Machine::built_with(std::string_view option) const {
  if (configuration.empty()) return std::nullopt;
  return configuration.find(fmt::format("\n{}=", option)) != std::string::npos;
}

Machine read_machine(const recording::Description& description, bool here, const std::map<std::string, unsigned>& tasks,
                     const std::string& sysroot) {
  Machine machine;
  machine.boot = BootLine(description.boot_parameters);
  for (const recording::CpuCounts& cpu : description.base.cpus) machine.watched = united(machine.watched, {cpu.cpu});
  machine.live = here || is_this_boot(description, sysroot);
  if (!machine.live) machine.why = "recorded on another machine, or before this one was booted";
  machine.housekeeping = without(cpus_or_none(description.base.status.housekeeping_cpus), machine.watched);
  if (machine.live) read_live(tasks, sysroot, machine);
  return machine;
}

namespace {

// Of the kernel's include/linux/sched.h, the same since 2.6.
constexpr unsigned long kKernelThread = 0x00200000;  // PF_KTHREAD
constexpr unsigned long kFixed = 0x04000000;         // PF_NO_SETAFFINITY

}  // namespace

std::optional<TaskNow> read_task(unsigned pid, const std::string& name, const std::string& sysroot) {
  const std::filesystem::path directory = std::filesystem::path(sysroot) / "proc" / std::to_string(pid);
  const auto stat = read_file((directory / "stat").string());
  const auto status = read_file((directory / "status").string());
  if (!stat || !status) return std::nullopt;
  // The name may hold spaces and parentheses: what follows it begins after the last one.
  const std::size_t open = stat.value().find('(');
  const std::size_t close = stat.value().rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  // 15 characters are what traces have of a name; of kernel threads this file has more.
  if (stat.value().substr(open + 1, close - open - 1).substr(0, 15) != name) return std::nullopt;
  std::istringstream rest(stat.value().substr(close + 1));
  std::string skipped;
  unsigned long flags = 0;
  for (int field = 3; field < 9; ++field) rest >> skipped;  // state, parent, group, session, terminal, its group
  if (!(rest >> flags)) return std::nullopt;
  TaskNow task{pid, {}, (flags & kKernelThread) != 0, (flags & kFixed) != 0};
  constexpr std::string_view kAllowed = "Cpus_allowed_list:";
  const std::size_t allowed = status.value().find(kAllowed);
  if (allowed == std::string::npos) return std::nullopt;
  const std::size_t start = allowed + kAllowed.size();
  auto cpus = parse_cpu_file(std::string_view(status.value()).substr(start, status.value().find('\n', start) - start));
  if (!cpus) return std::nullopt;
  task.cpus = std::move(cpus).value();
  return task;
}

}  // namespace noised::analysis
