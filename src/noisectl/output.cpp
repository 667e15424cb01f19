// SPDX-License-Identifier: Apache-2.0
// Remembers the first error of standard output.
#include "noisectl/output.h"

#include <cerrno>
#include <cstring>

namespace noised::client {

bool Output::check(bool done) {
  if (!done && error_ == 0) error_ = errno;
  return error_ == 0;
}

bool Output::write(std::string_view text) {
  if (error_ != 0) return false;
  return check(std::fwrite(text.data(), 1, text.size(), file_) == text.size());
}

bool Output::flush() {
  if (error_ != 0) return false;
  return check(std::fflush(file_) == 0);
}

Status Output::finish() {
  flush();
  if (error_ == 0 || error_ == EPIPE) return success();
  return failure(std::string("standard output: ") + std::strerror(error_));
}

}  // namespace noised::client
