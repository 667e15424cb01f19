// SPDX-License-Identifier: Apache-2.0
// A program of its own, so that the test's memory is not shared with it: after a fork, each page that the test wrote
// faulted once more, in the middle of what it measured.
#include "quiet_cpu.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <string>

namespace noised::live {

QuietCpu::QuietCpu(unsigned cpu) {
  std::array<int, 2> input{}, output{};
  REQUIRE(pipe2(input.data(), O_CLOEXEC) == 0);
  REQUIRE(pipe2(output.data(), O_CLOEXEC) == 0);
  open_ = Descriptor(input[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  std::string program = kQuiet, number = std::to_string(cpu), test = std::to_string(getpid());
  const std::array<char*, 4> arguments = {program.data(), number.data(), test.data(), nullptr};
  const bool spawned = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]);
  close(output[1]);
  char byte = 0;
  const bool begun = spawned && read(output[0], &byte, 1) == 1;
  close(output[0]);
  REQUIRE(begun);
}

// A child that the test forked may have the program's input open, too.
QuietCpu::~QuietCpu() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

}  // namespace noised::live
