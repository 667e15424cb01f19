// SPDX-License-Identifier: Apache-2.0
// A page is made again and again: it takes the place of the old one only when it is whole.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace noised::client {

/// Where the page goes: the place of a file, or a pipe or device, which is written to as it is.
class PageFile {
 public:
  /// Before anything is measured for nothing. Beside the file: a rename does not leave its file system.
  static Result<PageFile> create(const std::string& path);
  PageFile(PageFile&& other) noexcept
      : file_(std::move(other.file_)), path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}
  PageFile& operator=(PageFile&&) = delete;
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;
  ~PageFile();

  /// It is a file that takes the place of another, or of none.
  [[nodiscard]] bool replaces() const { return !temporary_.empty(); }

  Status fill(std::string_view text);

 private:
  PageFile(Descriptor file, std::string path, std::string temporary)
      : file_(std::move(file)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  Descriptor file_;
  std::string path_;
  std::string temporary_;  // to be removed; empty: there is none
};

}  // namespace noised::client
