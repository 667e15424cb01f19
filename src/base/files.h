// SPDX-License-Identifier: Apache-2.0
// All bytes to a file, however many calls that takes.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace noised {

// A file descriptor with one owner, closed when the owner goes.

/// Owns a file descriptor, or none (-1). Move-only.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of what open(2) and its like returned; negative means none.
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  explicit operator bool() const { return descriptor_ >= 0; }
  /// The descriptor, still owned; negative when there is none.
  [[nodiscard]] int get() const { return descriptor_; }
  /// The descriptor, which the caller now owns.
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }
  /// Closes the descriptor, if any, and owns another. Linux frees it even when close(2) says EINTR: no retry.
  void reset(int descriptor = -1) {
    if (descriptor_ >= 0) (void)::close(descriptor_);
    descriptor_ = descriptor;
  }

 private:
  int descriptor_ = -1;
};

// Room on a disk for what is larger than memory: nothing of it is left behind, however the program ends.

/// A file without a name, in the directory of `path`, to write and read. An error names a path like it, and errno.
Result<Descriptor> nameless_file(const std::string& path);

// How many files may be open at once: some work needs one for each CPU.

/// As many as the limit that only an administrator can raise. The usual limit is lower for the sake of programs that
/// use select(2), which this one does not.
void allow_open_files();

/// What to do where open(2) or its like failed with this errno; empty where the errno says all.
std::string open_remedy(int error);

// Small files (sysfs, configuration) read whole.

/// The whole content of a file of at most `largest` bytes; fails naming the path and the errno. 1 MiB is far above most
/// files of ours, and keeps a mistaken path (/dev/zero) from eating the memory.
Result<std::string> read_file(const std::string& path, std::size_t largest = std::size_t{1} << 20U);

/// Writes everything; 0, or the errno of what failed.
int write_all(int file, std::string_view bytes);

}  // namespace noised
