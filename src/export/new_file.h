// SPDX-License-Identifier: Apache-2.0
// What an export writes: never over something that is there already, and never half of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace noised::exports {

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

// What an export of several files writes: all of them, or not even the directory.

/// A directory that was not there before: gone again with its files unless it is kept.
class NewDirectory {
 public:
  /// A usage error if there is something of this name; an error of the system otherwise.
  static Result<std::unique_ptr<NewDirectory>> create(const std::string& path);
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;
  ~NewDirectory();

  /// A new file in it, which stays or goes with the directory.
  Result<NewFile> file(const std::string& name);
  /// It stays: all of its files are finished.
  void keep() { kept_ = true; }

 private:
  explicit NewDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::vector<std::string> files_;
  bool kept_ = false;
};

}  // namespace noised::exports
