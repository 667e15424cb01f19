// SPDX-License-Identifier: Apache-2.0
// What an export of several files writes: all of them, or not even the directory.
#pragma once

#include <noised/result.h>

#include <memory>
#include <string>
#include <vector>

#include "export/new_file.h"

namespace noised {

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

}  // namespace noised
