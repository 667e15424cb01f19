// SPDX-License-Identifier: Apache-2.0
// Numbers in as few bytes as they need: seven bits a byte, the lowest first.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace noised::recording {

/// Writes into memory of somebody else's. The caller sees to it that there is room: left().
class ByteWriter {
 public:
  static constexpr std::size_t kLongestNumber = 10;

  ByteWriter() = default;
  explicit ByteWriter(std::span<char> room) : room_(room) {}

  void byte(std::uint8_t value) {
    assert(size_ < room_.size());
    room_[size_++] = static_cast<char>(value);
  }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) byte(static_cast<std::uint8_t>(value | 0x80U));
    byte(static_cast<std::uint8_t>(value));
  }
  /// `to` as its distance from `from`, small in both directions.
  void distance(std::uint64_t from, std::uint64_t to) {
    const std::uint64_t ahead = to - from;
    number((ahead << 1U) ^ (ahead >> 63U == 0 ? 0 : ~std::uint64_t{0}));
  }
  /// Its length first.
  void text(std::string_view value) {
    number(value.size());
    assert(value.size() <= left());
    std::memcpy(room_.data() + size_, value.data(), value.size());
    size_ += value.size();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t left() const { return room_.size() - size_; }

 private:
  std::span<char> room_;
  std::size_t size_ = 0;
};

/// Reads what ByteWriter wrote. Once something is wrong, good() is false and everything read is zero or empty.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (at_ == bytes_.size()) return fail();
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::size_t at = at_;  // of its own: the member would be stored, and loaded again, at every byte
    for (unsigned shift = 0; shift < 64 && at < bytes_.size(); shift += 7) {
      const std::uint64_t next = static_cast<std::uint8_t>(bytes_[at++]);
      if (shift == 63 && next > 1) break;
      value |= (next & 0x7fU) << shift;
      if (next < 0x80) {
        at_ = at;
        return value;
      }
    }
    return fail();
  }
  std::uint64_t distance(std::uint64_t from) {
    const std::uint64_t folded = number();
    return from + ((folded >> 1U) ^ (~(folded & 1U) + 1));
  }
  /// Valid as long as the bytes are.
  std::string_view text() {
    const std::uint64_t length = number();
    if (length > bytes_.size() - at_) {
      fail();
      return {};
    }
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::uint8_t fail() {
    good_ = false;
    at_ = bytes_.size();
    return 0;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace noised::recording
