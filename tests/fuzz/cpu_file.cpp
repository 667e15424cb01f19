// SPDX-License-Identifier: Apache-2.0
// Files of /sys/devices/system/cpu of any bytes: white space around a list means nothing, and an error is one line.
#include "base/cpus.h"

#include "fuzz.h"

using namespace noised;
using fuzz::check;

extern "C" int fuzz_cpu_file(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  const auto cpus = parse_cpu_file(text);
  if (!cpus) {
    fuzz::check_error(cpus.error(), ExitCode::usage);
    return 0;
  }
  const auto& list = cpus.value();
  check(list.empty() || text.find_first_of("0123456789") != std::string_view::npos, "CPUs are written as numbers",
        text);
  for (const std::string& same :
       {" " + std::string(text) + "\n", format_cpu_list(list) + "\n", format_cpu_list(list)}) {
    const auto again = parse_cpu_file(same);
    check(again.ok() && again.value() == list, "the same list means the same", same);
  }
  return 0;
}
