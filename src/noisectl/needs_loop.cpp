// SPDX-License-Identifier: Apache-2.0
#include "noisectl/needs_loop.h"

namespace noised::client {
namespace {

bool needs_loop(const Options& options) {
  switch (options.command) {
    case Command::report:
    case Command::top:
    case Command::detours:
    case Command::histogram:
    case Command::status:
    case Command::record:
    case Command::watch:
    case Command::export_trace:
      return false;
    default:
      return true;
  }
}

}  // namespace

Status check_loops(const Options& options, std::string_view mode) {
  if (mode != "watch" || !needs_loop(options)) return success();
  return failure(
      "tasks were watched here, and this shows what a loop measured",
      "measure with mode = \"probe\"; of watched tasks there are report (also --html), detours, histogram, top, "
      "watch and export");
}

}  // namespace noised::client
