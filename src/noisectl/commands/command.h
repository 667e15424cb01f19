// SPDX-License-Identifier: Apache-2.0
// One command: its name and help, its options, and what it does. The file of that name has all of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "noisectl/client/options.h"

namespace CLI {
class App;
}

namespace noised::client {

class Command {
 public:
  Command(const char* name, const char* help) : name_(name), help_(help) {}
  virtual ~Command() = default;
  Command(const Command&) = delete;  // CLI11 writes to its options
  Command& operator=(const Command&) = delete;

  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] const char* help() const { return help_; }

  /// Describes its options to CLI11.
  virtual void describe(CLI::App& sub) = 0;
  /// Reads what CLI11 took as text, and checks it; a usage error otherwise.
  virtual Status read() { return success(); }
  /// A usage error where a recording cannot be shown with these options; asked only if there is a --replay.
  [[nodiscard]] virtual Status check_replay() const { return success(); }
  /// Takes the program after "--" with its arguments; null: the command runs none.
  virtual std::vector<std::string>* program() { return nullptr; }
  /// What it has of the options that all commands share.
  virtual SharedOptions& shared() = 0;
  /// Does it, on standard output.
  virtual Status run() = 0;

 private:
  const char* name_;
  const char* help_;
};

/// A command with the options that only it has, in a struct that begins with SharedOptions.
template <typename Options>
class CommandOf : public Command {
 public:
  using Command::Command;
  SharedOptions& shared() final { return options; }

  Options options;
};

}  // namespace noised::client
