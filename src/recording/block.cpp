// SPDX-License-Identifier: Apache-2.0
// A block is a head of 40 bytes, little endian: magic, kind, sequence number, bytes before and after compression (u32
// each), four bytes of zero, XXH3 of what follows and XXH3 of the head itself (u64 each); then a zstd frame.
#include "recording/block.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/files.h"

namespace noised::recording {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers of the head are written as they are in memory");

constexpr std::uint32_t kBlockMagic = 0x4b4c424e;  // "NBLK"
// The fastest of zstd's ordinary levels: whoever writes must keep up with what is measured.
constexpr int kLevel = 1;

struct Head {
  std::uint32_t magic = kBlockMagic;
  std::uint32_t kind = 0;
  std::uint32_t sequence = 0;
  std::uint32_t raw_size = 0;
  std::uint32_t packed_size = 0;
  std::uint32_t zero = 0;
  std::uint64_t packed_hash = 0;
  std::uint64_t head_hash = 0;
};
static_assert(sizeof(Head) == 40, "the head is part of the format");
constexpr std::size_t kHashedBytes = sizeof(Head) - sizeof(Head::head_hash);

Error file_error(const char* what, const std::string& name) {
  return failure(fmt::format("{} {}: {}", what, name, std::strerror(errno)));
}

}  // namespace

void BlockWriter::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void BlockReader::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

BlockWriter::BlockWriter(Descriptor file, std::string name)
    : file_(std::move(file)), name_(std::move(name)), context_(ZSTD_createCCtx()) {}

Result<BlockWriter> BlockWriter::begin(Descriptor file, std::string name) {
  BlockWriter writer(std::move(file), std::move(name));
  if (writer.context_ == nullptr) return failure("no memory to compress " + writer.name_);
  if (Status written = writer.write(kRecordingMagic); !written) return written.error();
  return writer;
}

Status BlockWriter::write(std::string_view bytes) {
  errno = write_all(file_.get(), bytes);
  if (errno != 0) return file_error("write", name_);
  size_ += bytes.size();
  return success();
}

Status BlockWriter::add(BlockKind kind, std::string_view bytes) {
  assert(bytes.size() <= kLongestBlock);
  packed_.resize(sizeof(Head) + ZSTD_compressBound(bytes.size()));
  const std::size_t packed = ZSTD_compressCCtx(context_.get(), packed_.data() + sizeof(Head),
                                               packed_.size() - sizeof(Head), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(packed) != 0) return failure(fmt::format("compress {}: {}", name_, ZSTD_getErrorName(packed)));
  Head head;
  head.kind = static_cast<std::uint32_t>(kind);
  head.sequence = sequence_++;
  head.raw_size = static_cast<std::uint32_t>(bytes.size());
  head.packed_size = static_cast<std::uint32_t>(packed);
  head.packed_hash = XXH3_64bits(packed_.data() + sizeof(Head), packed);
  head.head_hash = XXH3_64bits(&head, kHashedBytes);
  std::memcpy(packed_.data(), &head, sizeof(head));
  return write(std::string_view(packed_).substr(0, sizeof(Head) + packed));
}

Status BlockWriter::finish() {
  if (Status added = add(BlockKind::end, {}); !added) return added;
  // EINVAL: it is a pipe.
  if (::fdatasync(file_.get()) != 0 && errno != EINVAL && errno != EROFS) return file_error("fdatasync", name_);
  return success();
}

BlockReader::BlockReader(Descriptor file, std::string name, std::uint64_t size)
    : file_(std::move(file)), name_(std::move(name)), context_(ZSTD_createDCtx()), file_size_(size) {}

Result<BlockReader> BlockReader::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return file_error("open", path);
  return begin(std::move(file), path);
}

Result<BlockReader> BlockReader::begin(Descriptor file, const std::string& name) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return file_error("stat", name);
  if (S_ISDIR(status.st_mode)) return failure(name + " is a directory", "give a file that noisectl record wrote");
  BlockReader reader(std::move(file), name, static_cast<std::uint64_t>(status.st_size));
  if (reader.context_ == nullptr) return failure("no memory to decompress " + name);
  if (!reader.read(reader.head_, kRecordingMagic.size()) || reader.head_ != kRecordingMagic) {
    constexpr std::string_view kAnyVersion = kRecordingMagic.substr(0, kRecordingMagic.find('/') + 1);
    if (reader.head_.starts_with(kAnyVersion)) {
      return failure(name + " is a recording of another version", "replay it with the noised that wrote it");
    }
    return failure(name + " is no recording", "give a file that noisectl record wrote");
  }
  return reader;
}

bool BlockReader::read(std::string& to, std::size_t bytes) {
  to.resize(bytes);
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t now = ::read(file_.get(), to.data() + got, bytes - got);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    got += static_cast<std::size_t>(now);
  }
  to.resize(got);
  position_ += got;
  return got == bytes;
}

std::string BlockReader::where(const std::string& what) const {
  return fmt::format("{}: {} (in the block at byte {})", name_, what, block_at_);
}

std::optional<BlockReader::Block> BlockReader::stop(const std::string& why) {
  ended_ = true;
  damage_ = where(why);
  return std::nullopt;
}

std::optional<BlockReader::Block> BlockReader::next() {
  if (ended_) return std::nullopt;
  block_at_ = position_;
  if (!read(head_, sizeof(Head))) {
    return stop(head_.empty() ? "the recording was not finished" : "the file ends inside of a block");
  }
  Head head;
  std::memcpy(&head, head_.data(), sizeof(head));
  if (head.head_hash != XXH3_64bits(&head, kHashedBytes) || head.magic != kBlockMagic || head.zero != 0) {
    return stop("the head of a block is damaged");
  }
  if (head.sequence != sequence_++) return stop("a block is missing, or twice here");
  if (head.raw_size > kLongestBlock || head.packed_size > ZSTD_compressBound(kLongestBlock)) {
    return stop("a block is longer than blocks can be");
  }
  if (!read(packed_, head.packed_size)) return stop("the file ends inside of a block");
  if (XXH3_64bits(packed_.data(), packed_.size()) != head.packed_hash) return stop("a block is damaged");
  bytes_.resize(head.raw_size);
  const std::size_t size =
      ZSTD_decompressDCtx(context_.get(), bytes_.data(), bytes_.size(), packed_.data(), packed_.size());
  if (ZSTD_isError(size) != 0 || size != head.raw_size) return stop("a block cannot be decompressed");
  if (head.kind == static_cast<std::uint32_t>(BlockKind::end)) {
    ended_ = true;
    if (position_ < file_size_) (void)stop("something follows the end of the recording");
    return std::nullopt;
  }
  return Block{static_cast<BlockKind>(head.kind), bytes_};
}

}  // namespace noised::recording
