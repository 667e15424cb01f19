// SPDX-License-Identifier: Apache-2.0
// The directory that NOISED_MARKS names: a file a thread.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "marks/ring_reader.h"

namespace noised::marks {

class MarkDirectory {
 public:
  static constexpr std::size_t kThreads = 8192;  ///< read at a time; files of more are refused

  /// A directory of the caller's own, gone with the object; in memory where the machine has such a place.
  static Result<MarkDirectory> create();
  /// One that is there.
  static Result<MarkDirectory> open(const std::string& path);
  MarkDirectory(MarkDirectory&& other) noexcept;
  MarkDirectory& operator=(MarkDirectory&& other) = delete;
  MarkDirectory(const MarkDirectory&) = delete;
  MarkDirectory& operator=(const MarkDirectory&) = delete;
  ~MarkDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Takes what a ring gave, and how many marks were overwritten before.
  using OnMarks = std::function<void(const RingReader& ring, const std::vector<Mark>& marks, std::uint64_t lost)>;
  /// Tells the marks of all threads since the last time. In a directory of its own, files of threads that have ended
  /// are removed.
  void read(const OnMarks& on_marks);
  /// Files that cannot be read, or are one too many.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Ring {
    Descriptor file;
    RingReader reader;
  };
  MarkDirectory(std::string path, Descriptor directory, bool own)
      : path_(std::move(path)), directory_(std::move(directory)), own_(own) {}
  [[nodiscard]] std::vector<std::string> names() const;
  void look_for_new();
  void open_ring(const std::string& name);
  void refuse(const std::string& name);

  std::string path_;
  Descriptor directory_;
  bool own_;
  std::map<std::string, Ring> rings_;  // by the name of the file
  std::set<std::string> done_;         // files that are not to be read any more
  std::uint64_t refused_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace noised::marks
