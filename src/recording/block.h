// SPDX-License-Identifier: Apache-2.0
// The recording as a file: a line that says what it is, then blocks, each compressed and checked by itself.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace noised::recording {

/// What a file of this version begins with. Its bytes beyond ASCII are lost where it is copied as text.
inline constexpr std::string_view kRecordingMagic = "\x89noised.recording/1\r\n\x1a\n";

enum class BlockKind : std::uint32_t {
  description = 1,  ///< JSON (description.h); the first one
  events = 2,       ///< records (records.h)
  end = 3,          ///< empty; the last one
};

/// No block is longer than this before compression: a reader needs no more memory than for one.
inline constexpr std::size_t kLongestBlock = std::size_t{4} << 20U;

/// Writes blocks one after the other.
class BlockWriter {
 public:
  /// Takes over a file opened for writing, and writes the magic. `name` is for errors.
  static Result<BlockWriter> begin(Descriptor file, std::string name);

  /// Appends a block of at most kLongestBlock bytes; an error names the file and errno. Compresses (zstd).
  Status add(BlockKind kind, std::string_view bytes);
  /// Appends the block that says that nothing is missing, and waits until all of it is on the disk.
  Status finish();
  /// Bytes written so far.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  BlockWriter(Descriptor file, std::string name);
  Status write(std::string_view bytes);

  Descriptor file_;
  std::string name_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::string packed_;
  std::uint32_t sequence_ = 0;
  std::uint64_t size_ = 0;
};

/// Reads blocks until the end, or the first damage.
class BlockReader {
 public:
  struct Block {
    BlockKind kind = BlockKind::end;
    std::string_view bytes;  ///< valid until the next call
  };

  /// Fails where the file cannot be opened, or is no recording of this version.
  static Result<BlockReader> open(const std::string& path);
  /// The same for a file that is open; `name` is for errors.
  static Result<BlockReader> begin(Descriptor file, const std::string& name);

  /// The next block; nothing at the end of the recording, which is where damage() tells. Each byte of a block was
  /// checked: a wrong one passes once in 2^64.
  std::optional<Block> next();
  /// Where and why reading ended before the recording's end; empty if it did not.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// The same for what somebody else found wrong with the block that next() gave.
  [[nodiscard]] std::string where(const std::string& what) const;
  /// Bytes read so far, and of the file; for showing progress.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t file_size() const { return file_size_; }

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  BlockReader(Descriptor file, std::string name, std::uint64_t size);
  std::optional<Block> stop(const std::string& why);
  bool read(std::string& to, std::size_t bytes);

  Descriptor file_;
  std::string name_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::string head_;
  std::string packed_;
  std::string bytes_;
  std::string damage_;
  std::uint32_t sequence_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t block_at_ = 0;  // where the block of the last next() begins
  std::uint64_t file_size_ = 0;
  bool ended_ = false;
};

}  // namespace noised::recording
