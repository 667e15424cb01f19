// SPDX-License-Identifier: Apache-2.0
// Runs the real programs: to their end, or in the background until a signal.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"

namespace noised::live {

// Absolute paths of what was built, and of the tree it was built from. They are not in the text of the tests, so that
// these are compiled once for all clones.
extern const std::string kNoised, kNoisectl, kNoise, kMarker, kVictim, kQuiet, kSwarm, kTree;
extern const std::string kMpiLibrary;  ///< empty: built without MPI

using Arguments = std::vector<std::string>;  ///< the program first: a path, or a name to be found in PATH

struct CommandOptions {
  std::vector<std::string> environment;  ///< "NAME=value", added to this process's own
  std::optional<uid_t> user;             ///< run as this user and group, without other groups or capabilities
  std::chrono::milliseconds timeout{15'000};
};

struct Outcome {
  int exit_code = 0;  ///< 128 + signal when a signal ended it, 127 when it could not be started
  std::string out;
  std::string err;
};

/// A program that runs beside the test. It is killed with the object, or with the test's process.
class Background {
 public:
  explicit Background(const Arguments& arguments, CommandOptions options = {});
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Waits for its end; past the timeout, counted from here, kills it and fails the test.
  Outcome wait();
  /// What it has written so far.
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;

 private:
  CommandOptions options_;
  Descriptor out_;
  Descriptor err_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

/// Runs a command to its end; fails the test when that does not come in time. Standard input is empty.
Outcome run(const Arguments& arguments, const CommandOptions& options = {});

/// Asks every 10 ms until the answer is true (returns true) or the time is over (returns false).
template <typename Question>
bool eventually(Question question, std::chrono::milliseconds time = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!question()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

/// The lines of a text, without their ends; a last line without an end counts.
std::vector<std::string> lines_of(const std::string& text);
/// How many ends of lines there are in it.
std::size_t lines_in(const std::string& text);

}  // namespace noised::live
