// SPDX-License-Identifier: Apache-2.0
// A generator in a process of its own, between two marks that show in the stream of detours.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/result.h"

#include "base/files.h"
#include "selftest/generator.h"

namespace noised::selftest {

/// Tasks that run on the CPU for a moment, again and again: before the noise until go(), after it until stop(). Who
/// has seen the first knows that the stream has begun; who has seen the second, that nothing more of the noise comes.
inline constexpr std::string_view kBeginMark = "noised-begin";
inline constexpr std::string_view kEndMark = "noised-end";
/// What the process is called.
inline constexpr std::string_view kChildName = "noised-selftest";

/// A process of its own: so that it can have its own network, and giving back memory here interrupts no thread there.
/// It is killed with the object, and with the thread that made it.
class Child {
 public:
  /// Forks. The caller must have one thread only.
  static Result<Child> start(const Mode& mode, const GeneratorOptions& options);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// Readable when it has nothing more to do: it gave up, or died.
  [[nodiscard]] int fd() const { return socket_.get(); }
  void go() { send('g'); }
  void stop() { send('s'); }
  /// The truth, after stop() or when fd() is readable; waits for it.
  Result<Truth> truth();

 private:
  Child(pid_t pid, Descriptor socket) : pid_(pid), socket_(std::move(socket)) {}
  void send(char command);

  pid_t pid_;
  Descriptor socket_;
};

}  // namespace noised::selftest
