// SPDX-License-Identifier: Apache-2.0
// What an export writes: never over something that is there already, and never half of it.
#pragma once

#include <noised/result.h>

#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace noised {

/// A pipe or a device: nothing is created there, and nothing is lost.
bool is_special(const std::string& path);
/// Fails if there is something of this name, a pipe or device too, or its directory takes no new names.
Status can_create(const std::string& path);

/// A file that was not there before, removed again unless it is kept; or a pipe or device, which has nothing to lose.
class NewFile {
 public:
  /// A usage error if a file of this name exists; an error of the system otherwise.
  static Result<NewFile> create(const std::string& path);
  /// What create() would say, without doing it: before long work that would be for nothing.
  static Status can_create(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&& other) = delete;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  /// Appends. After an error nothing more is written; good() and finish() tell.
  void write(std::string_view bytes);
  [[nodiscard]] bool good() const { return status_.ok(); }
  /// All of it is with the system, or the first error, which names the path.
  Status finish();
  /// It stays: everything that belongs to it is finished too.
  void keep() { remove_ = false; }

 private:
  NewFile(Descriptor file, std::string path, bool created);
  void flush();

  Descriptor file_;
  std::string path_;
  bool remove_;
  std::string buffer_;
  Status status_ = success();
};

}  // namespace noised
