// SPDX-License-Identifier: Apache-2.0
// The eighth column of the lines "cpuN" in /proc/stat.
#include "system/steal_clock.h"

#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace noised::system {
namespace {

constexpr int kStealColumn = 8;
constexpr unsigned kStealCpus = 8192;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

bool take_number(std::string_view& text, std::uint64_t& out) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

}  // namespace

void parse_steal(std::string_view stat, std::uint64_t step_ns, std::vector<std::uint64_t>& stolen_ns) {
  while (!stat.empty()) {
    std::string_view line = stat.substr(0, stat.find('\n'));
    stat.remove_prefix(std::min(stat.size(), line.size() + 1));
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;
    line.remove_prefix(3);
    std::uint64_t cpu = 0;
    std::uint64_t value = 0;
    if (!take_number(line, cpu) || cpu >= kStealCpus) continue;
    bool good = true;
    for (int column = 0; column < kStealColumn && good; ++column) good = take_number(line, value);
    if (!good || value > UINT64_MAX / step_ns) continue;
    if (stolen_ns.size() <= cpu) stolen_ns.resize(cpu + 1, kNeverListed);
    stolen_ns[cpu] = value * step_ns;
  }
}

bool is_virtual_machine(std::uint32_t cpuid_1_ecx, std::string_view hypervisor_type) {
  constexpr std::uint32_t kHypervisor = 1U << 31U;
  return (cpuid_1_ecx & kHypervisor) != 0 || !hypervisor_type.empty();
}

bool is_virtual_machine() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) c = 0;
  const auto type = read_file("/sys/hypervisor/type");
  return is_virtual_machine(c, type ? type.value() : "");
}

Result<StealClock> StealClock::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure(path + ": " + std::strerror(errno));
  StealClock clock(std::move(file));
  clock.text_.resize(1U << 20U);  // 100 bytes for each of 8192 CPUs come first
  clock.read();
  return clock;
}

const std::vector<std::uint64_t>& StealClock::read() {
  const ssize_t length = ::pread(file_.get(), text_.data(), text_.size(), 0);
  if (length > 0) parse_steal({text_.data(), static_cast<std::size_t>(length)}, step_ns(), stolen_ns_);
  return stolen_ns_;
}

std::uint64_t StealClock::step_ns() { return kSecondNs / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)); }

bool StealClock::counts() {
  const auto& stolen_ns = read();
  return std::any_of(stolen_ns.begin(), stolen_ns.end(),
                     [](std::uint64_t ns) { return ns != 0 && ns != kNeverListed; });
}

}  // namespace noised::system
