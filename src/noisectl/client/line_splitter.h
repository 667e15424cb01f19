// SPDX-License-Identifier: Apache-2.0
// Lines out of a stream that arrives in pieces of any size.
#pragma once

#include <string>
#include <string_view>

namespace noised::client {

class LineSplitter {
 public:
  /// Adds a piece and gives each line that is now complete, without its newline, to `on_line(std::string_view)`;
  /// false if on_line said false: it wants no more.
  template <typename OnLine>
  bool feed(std::string_view piece, const OnLine& on_line) {
    for (;;) {
      const std::size_t end = piece.find('\n');
      if (end == std::string_view::npos) break;
      std::string_view line = piece.substr(0, end);
      if (!rest_.empty()) line = rest_.append(line);
      const bool more = on_line(line);
      rest_.clear();
      piece.remove_prefix(end + 1);
      if (!more) return false;
    }
    rest_.append(piece);
    return true;
  }

  /// What came after the last newline.
  [[nodiscard]] const std::string& rest() const { return rest_; }

 private:
  std::string rest_;
};

}  // namespace noised::client
