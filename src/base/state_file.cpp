// SPDX-License-Identifier: Apache-2.0
#include "base/state_file.h"

#include <cstdlib>
#include <string_view>

namespace noised {
namespace {

// Empty: none.
std::string_view state_directory() {
  const char* const directory = std::getenv("STATE_DIRECTORY");
  if (directory == nullptr || !std::string_view(directory).ends_with("/noised")) return {};
  return directory;
}

}  // namespace

bool has_state_directory() { return !state_directory().empty(); }

std::string last_report_path() {
  return std::string(has_state_directory() ? state_directory() : "/var/lib/noised") + "/last-report.json";
}

}  // namespace noised
