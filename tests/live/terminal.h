// SPDX-License-Identifier: Apache-2.0
// A terminal for programs that need one: keys in, lines out (tmux).
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "unit/base/temporary_directory.h"

namespace noised::live {

/// A terminal of 80x24 with a program in it. The server is no daemon of its own: it ends with the test.
class Terminal {
 public:
  explicit Terminal(const test::TemporaryDirectory& directory)
      : socket_(directory.path("tmux")), server_({"tmux", "-D", "-S", socket_, "-f", "/dev/null"}) {
    if (!eventually([this] { return tmux({"show-options", "-s"}).exit_code == 0; })) SKIP("needs tmux");
  }

  void start(const std::string& command) const {
    REQUIRE(tmux({"new-session", "-d", "-x", "80", "-y", "24", "env TERM=screen sh -c '" + command + "'"}).exit_code ==
            0);
  }
  void press(const std::string& key) const { REQUIRE(tmux({"send-keys", key}).exit_code == 0); }
  [[nodiscard]] std::vector<std::string> screen() const { return lines_of(tmux({"capture-pane", "-p"}).out); }
  [[nodiscard]] bool shows(const std::string& text) const { return !line_with(text).empty(); }
  [[nodiscard]] std::string line_with(const std::string& text) const {
    for (const std::string& line : screen())
      if (line.find(text) != std::string::npos) return line;
    return {};
  }

 private:
  [[nodiscard]] Outcome tmux(Arguments arguments) const {
    Arguments command{"tmux", "-S", socket_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command);
  }

  std::string socket_;
  Background server_;
};

}  // namespace noised::live
