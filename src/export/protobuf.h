// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers, as much of it as is written here.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace noised {

/// Appends fields to a message. Field numbers are those of the message's schema.
class ProtobufWriter {
 public:
  /// uint64, uint32, bool and enum fields.
  void number(unsigned field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
  }
  /// fixed64 fields.
  void fixed(unsigned field, std::uint64_t value) {
    static_assert(std::endian::native == std::endian::little);
    tag(field, kFixed64);
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    bytes_.append(bytes, sizeof(bytes));
  }
  /// double fields.
  void real(unsigned field, double value) { fixed(field, std::bit_cast<std::uint64_t>(value)); }
  /// string fields, whose value must be UTF-8, and messages that were written elsewhere.
  void text(unsigned field, std::string_view value) {
    tag(field, kLengthDelimited);
    varint(value.size());
    bytes_ += value;
  }
  /// Message fields: `fill` writes the fields of the inner message to this writer.
  template <typename Fill>
  void message(unsigned field, Fill fill) {
    tag(field, kLengthDelimited);
    const std::size_t at = bytes_.size();
    bytes_.append(kLengthBytes, '\0');
    fill();
    set_length(at, bytes_.size() - at - kLengthBytes);
  }

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  static constexpr unsigned kVarint = 0;
  static constexpr unsigned kFixed64 = 1;
  static constexpr unsigned kLengthDelimited = 2;
  // A length of four bytes is valid whatever it is, so that it can be filled in afterwards.
  static constexpr std::size_t kLengthBytes = 4;

  void tag(unsigned field, unsigned type) { varint(std::uint64_t{field} << 3U | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    bytes_.push_back(static_cast<char>(value));
  }
  void set_length(std::size_t at, std::size_t length) {
    assert(length < std::size_t{1} << (7 * kLengthBytes));
    for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 7U) {
      bytes_[at + i] = static_cast<char>((length & 0x7fU) | (i + 1 < kLengthBytes ? 0x80U : 0));
    }
  }

  std::string bytes_;
};

}  // namespace noised
