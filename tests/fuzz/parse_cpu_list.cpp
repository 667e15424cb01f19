// SPDX-License-Identifier: Apache-2.0
// CPU lists: what is accepted has one canonical form, which means the same and is never longer.
#include "base/cpus.h"
#include "fuzz.h"

using namespace noised;
using fuzz::check;

extern "C" int fuzz_parse_cpu_list(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  const auto cpus = parse_cpu_list(text);
  if (!cpus) {
    fuzz::check_error(cpus.error(), ExitCode::usage);
    return 0;
  }
  const auto& list = cpus.value();
  check(text.empty() == list.empty(), "only the empty text is the empty list", text);
  check(std::is_sorted(list.begin(), list.end()), "the numbers rise", text);
  check(std::adjacent_find(list.begin(), list.end()) == list.end(), "each number is there once", text);

  const std::string canonical = format_cpu_list(list);
  const auto again = parse_cpu_list(canonical);
  check(again.ok() && again.value() == list, "the canonical form means the same", canonical);
  check(format_cpu_list(again.value()) == canonical, "the canonical form is canonical", canonical);
  // A stride is the one thing that the canonical form spells out.
  const bool stride = text.find(':') != std::string_view::npos;
  check(stride || canonical.size() <= text.size(), "the canonical form is the shortest", canonical);
  return 0;
}
