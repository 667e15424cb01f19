// SPDX-License-Identifier: Apache-2.0
// Model specific registers through the kernel's msr driver.
#include "system/smi_counter.h"

#include <cpuid.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "system/steal_clock.h"

namespace noised::system {
namespace {

constexpr off_t kSmiCount = 0x34;

// Only Intel has the counter; a hypervisor passes its own or none.
bool has_counter() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kGenuine = 0x756e6547;  // "Genu", of "GenuineIntel"
  return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == kGenuine && !is_virtual_machine();
}

std::string path_of(unsigned cpu) { return fmt::format("/dev/cpu/{}/msr", cpu); }

}  // namespace

SmiCounter SmiCounter::open(unsigned cpu) {
  if (!has_counter()) return SmiCounter(Descriptor());
  return SmiCounter(Descriptor(::open(path_of(cpu).c_str(), O_RDONLY | O_CLOEXEC)));
}

std::optional<std::uint32_t> SmiCounter::read() const {
  std::uint64_t value = 0;
  if (!registers_ || ::pread(registers_.get(), &value, sizeof(value), kSmiCount) != sizeof(value)) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::optional<std::string> smi_unsupported(unsigned cpu) {
  if (!has_counter()) return "only Intel processors outside of virtual machines count them";
  const std::string path = path_of(cpu);
  if (::access(path.c_str(), R_OK) == 0) return std::nullopt;
  return fmt::format("{}: {} (needs modprobe msr, and root: the unit gives noised no devices)", path,
                     std::strerror(errno));
}

}  // namespace noised::system
