// SPDX-License-Identifier: Apache-2.0
// Errors as values: what failed, where, and what to do about it.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace noised {

/// Exit codes of both programs (design.md, "The contract").
enum class ExitCode : int { good = 0, failed = 1, usage = 2, noisy = 3, blind = 4 };

/// A recoverable error: one line that names the place, and the remedy.
struct Error {
  std::string what;    ///< what failed, with the path, system call or key
  std::string remedy;  ///< what the reader can do; may be empty
  ExitCode code = ExitCode::failed;

  /// The error as one line for standard error.
  [[nodiscard]] std::string line() const { return remedy.empty() ? what : what + ": " + remedy; }
};

/// Makes an error of bad input (exit code 2).
inline Error usage_error(std::string what, std::string remedy) {
  return Error{std::move(what), std::move(remedy), ExitCode::usage};
}

/// Makes an error of the system (exit code 1).
inline Error failure(std::string what, std::string remedy = {}) {
  return Error{std::move(what), std::move(remedy), ExitCode::failed};
}

/// A value, or the error that prevented it. Neither can be ignored.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; asserts that there is one.
  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T value() && {  // not T&&: `for (x : f().value())` must not outlive what it refers to
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }

  /// The error; asserts that there is one.
  [[nodiscard]] const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// Success, or the error.
using Status = Result<std::monostate>;
inline Status success() { return Status{std::monostate{}}; }

}  // namespace noised
