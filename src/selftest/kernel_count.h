// SPDX-License-Identifier: Apache-2.0
// The kernel's own counts of what happened on a CPU.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace noised::selftest {

/// The count of a row on a CPU, from the text of one of these tables; nothing where there is none.
std::optional<std::uint64_t> count_in(std::istream& table, unsigned cpu, const std::string& row);

/// A count of /proc/interrupts ("CAL") or /proc/softirqs ("NET_RX") on a CPU; nothing when the kernel has no such row.
/// Reading them sends no interrupt to that CPU.
std::optional<std::uint64_t> interrupts_on(unsigned cpu, const std::string& row);
std::optional<std::uint64_t> softirqs_on(unsigned cpu, const std::string& row);

}  // namespace noised::selftest
