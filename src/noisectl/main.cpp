// SPDX-License-Identifier: Apache-2.0
// noisectl: shows what the daemon sees.
#include <cstdio>

#include "noisectl/commands/commands.h"

int main(int argc, char** argv) {
  const noised::Status done = noised::client::run_command_line(argc, argv);
  if (done) return static_cast<int>(noised::ExitCode::good);
  // Without words: a watched command has ended with this code, and has said itself why.
  if (!done.error().what.empty()) std::fprintf(stderr, "noisectl: %s\n", done.error().line().c_str());
  return static_cast<int>(done.error().code);
}
