// SPDX-License-Identifier: Apache-2.0
// Standard output, whose reader may go away at any time.
#pragma once

#include <cstdio>
#include <string_view>

#include <noised/result.h>

namespace noised::client {

class Output {
 public:
  /// Writes to `file`, which stays the caller's. SIGPIPE must be ignored.
  explicit Output(std::FILE* file) : file_(file) {}

  /// Writes text; false if writing no longer makes sense.
  bool write(std::string_view text);
  /// Hands what was written to the reader; false if writing no longer makes sense.
  bool flush();
  /// Flushes. A reader that went away (`| head`) is no error, a full disk is.
  [[nodiscard]] Status finish();

 private:
  bool check(bool done);

  std::FILE* file_;
  int error_ = 0;
};

}  // namespace noised::client
