// SPDX-License-Identifier: Apache-2.0
// Where in time each nanosecond of a detour lay, and what category it is of.
#pragma once

#include <noised/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "attribution/ledger.h"
#include "trace/sources.h"

namespace noised::page {

/// Time of one category, without a break.
struct Piece {
  Category category = Category::unexplained;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

/// Divides a detour into pieces: they follow each other from its start to its end, and their sums by category are those
/// of its ledger. Self times are where they were. Of the time outside intervals it is known where it was, but not which
/// part of it was overhead: overhead is put before hypervisor, hardware and unexplained.
class Placing {
 public:
  explicit Placing(const SourceTable& sources) : sources_(sources) {}

  /// The pieces are valid until the next call.
  std::span<const Piece> place(const Ledger& ledger);

 private:
  struct Left {
    Category category = Category::unexplained;
    std::uint64_t ns = 0;
  };
  void advance(std::uint64_t to_ns);
  Left& owner();

  const SourceTable& sources_;
  std::vector<Left> open_;  // intervals that have begun, the last one last
  std::array<Left, 4> outside_;
  std::uint64_t cursor_ns_ = 0;  // everything before it has its piece
  std::vector<Piece> pieces_;
};

}  // namespace noised::page
