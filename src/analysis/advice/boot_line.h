// SPDX-License-Identifier: Apache-2.0
// The kernel's command line: what is on it about isolation, and how it would read with more. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace noised::analysis {

/// The value of a parameter such as "managed_irq,domain,1-3".
struct CpuParameter {
  std::vector<std::string> flags;
  std::vector<unsigned> cpus;
};

class BootLine {
 public:
  /// What follows "--" is for the first process, not the kernel.
  explicit BootLine(std::string_view text = {});

  /// The value of the last parameter of this name (the kernel overrides earlier ones); empty where it has none.
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  /// The flags and CPUs of a parameter, none of both where it is not given; nothing where the list is beyond us ("all",
  /// "1-N").
  [[nodiscard]] std::optional<CpuParameter> cpus(std::string_view name) const;
  /// The parameter `name` with these flags and CPUs added to those that it has: "isolcpus=managed_irq,domain,1-3".
  [[nodiscard]] std::string with(std::string_view name, const std::vector<std::string>& flags,
                                 const std::vector<unsigned>& cpus) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

/// Whether all CPUs of `part` are in `whole`; both sorted.
bool includes(const std::vector<unsigned>& whole, const std::vector<unsigned>& part);
/// Sorted lists as sets: in either, in the first but not in the second.
std::vector<unsigned> united(const std::vector<unsigned>& a, const std::vector<unsigned>& b);
std::vector<unsigned> without(const std::vector<unsigned>& a, const std::vector<unsigned>& b);

}  // namespace noised::analysis
