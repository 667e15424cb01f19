// SPDX-License-Identifier: Apache-2.0
// /proc/PID/cgroup of any bytes: a path of one line that stands in the text, or nothing.
#include "fuzz.h"
#include "system/services.h"

using noised::fuzz::check;

extern "C" int fuzz_service_path(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = noised::fuzz::text(data, size);
  const auto path = noised::system::parse_cgroup(text);
  if (!path) return 0;
  check(path->starts_with('/'), "a path is absolute", *path);
  check(path->find('\n') == std::string::npos, "a path is one line", *path);
  check(text.find("0::" + *path) != std::string_view::npos, "a path is what the version 2 line says", *path);
  return 0;
}
