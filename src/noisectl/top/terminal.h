// SPDX-License-Identifier: Apache-2.0
// ncurses behind values: lines out, keys in.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"

#include "noisectl/top/layout.h"

struct screen;  // of ncurses, whose header takes common names from everyone

namespace noised::client {

/// A key as the live view knows it: moves by rows or pages, or a character for the model.
struct TopInput {
  long rows = 0;
  long pages = 0;
  char character = 0;
};

/// The terminal in full-screen mode; given back as it was when this dies.
class TopTerminal {
 public:
  static Result<std::unique_ptr<TopTerminal>> open();
  ~TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::size_t height() const;
  void draw(const std::vector<TopLine>& lines) const;
  /// The next key that was pressed; nothing if there is none.
  [[nodiscard]] std::optional<TopInput> input() const;

 private:
  explicit TopTerminal(screen* terminal);

  screen* terminal_;
};

}  // namespace noised::client
