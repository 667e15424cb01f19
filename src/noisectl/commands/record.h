// SPDX-License-Identifier: Apache-2.0
// noisectl record: keeps in a file what the daemon sees from now on.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "noisectl/client/options.h"
#include "recording/block.h"

namespace noised::client {

struct RecordOptions : MeasureOptions {
  std::string output;            ///< the file to create; empty: none that the user named
  std::uint64_t size_bytes = 0;  ///< end when it is as large; 0: never
};

/// Blocks out of a stream that arrives in pieces of any size: 8 bytes, size and kind, before each
/// (noised/api/recording_stream.h).
class BlockSplitter {
 public:
  /// Adds a piece and gives each block that is now complete to `on_block(BlockKind, std::string_view)`; false if that
  /// said false, or if a block is longer than blocks can be.
  template <typename OnBlock>
  bool feed(std::string_view piece, const OnBlock& on_block) {
    rest_.append(piece);
    std::string_view left = rest_;
    bool more = true;
    while (more && left.size() >= kHead) {
      const std::size_t size = word(left.substr(0, 4));
      if (size > recording::kLongestBlock) {
        bad_ = true;
        return false;
      }
      if (left.size() < kHead + size) break;
      more = on_block(static_cast<recording::BlockKind>(word(left.substr(4, 4))), left.substr(kHead, size));
      left.remove_prefix(kHead + size);
    }
    rest_.erase(0, rest_.size() - left.size());
    return more;
  }

  /// A block was longer than blocks can be: whoever sent it is no noised of ours.
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  static constexpr std::size_t kHead = 8;
  static std::uint32_t word(std::string_view bytes);

  std::string rest_;
  bool bad_ = false;
};

/// Creates the file that is recorded to.
using RecordingCreator = std::function<Result<recording::BlockWriter>()>;

/// Records until it is stopped, the time or the size is over, or the daemon ends; what fails leaves no options.output
/// without anything in it.
Status record_from_daemon(const RecordOptions& options, const RecordingCreator& create);

}  // namespace noised::client
