// SPDX-License-Identifier: Apache-2.0
// Streams of the Common Trace Format, read as ctf_metadata.cpp describes them.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "unit/export/scene.h"

namespace noised::test {

/// Numbers, one after the other.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T take() {
    T value{};
    REQUIRE(bytes_.size() >= sizeof(T));
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view take(std::size_t size) {
    REQUIRE(bytes_.size() >= size);
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

/// Tells each event of a CPU's stream, which come in order of time: event(id, time_ns, Bytes& fields) takes its fields.
/// Returns how many the stream says were lost.
template <typename Event>
std::uint64_t read_ctf_stream(const std::string& path, unsigned cpu, Event event) {
  const std::string content = content_of(path);
  Bytes packets(content);
  std::uint64_t discarded = 0;
  std::uint64_t last_ns = 0;
  for (std::uint64_t sequence = 0; !packets.empty(); ++sequence) {
    REQUIRE(packets.take<std::uint32_t>() == 0xc1fc1fc1);
    REQUIRE(packets.take<std::uint32_t>() == 0);
    const auto begin = packets.take<std::uint64_t>();
    const auto end = packets.take<std::uint64_t>();
    const auto bits = packets.take<std::uint64_t>();
    REQUIRE(packets.take<std::uint64_t>() == bits);
    REQUIRE(packets.take<std::uint64_t>() == sequence);
    discarded = packets.take<std::uint64_t>();
    REQUIRE(packets.take<std::uint32_t>() == cpu);
    REQUIRE(begin >= last_ns);
    Bytes events(packets.take(bits / 8 - 60));
    if (events.empty()) continue;  // there only to tell losses
    while (!events.empty()) {
      const auto id = events.take<std::uint16_t>();
      const auto time_ns = events.take<std::uint64_t>();
      REQUIRE(time_ns >= last_ns);
      last_ns = time_ns;
      event(id, time_ns, events);
    }
    REQUIRE(last_ns == end);
  }
  return discarded;
}

}  // namespace noised::test
