// SPDX-License-Identifier: Apache-2.0
#include "noised/api/recording_stream.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace noised::daemon {

std::size_t RecordingStream::read(char* buffer, std::size_t capacity) {
  std::size_t written = 0;
  while (written < capacity) {
    const bool ended = recorder_.ended();  // before front(): what is there by then is all there is
    const auto block = recorder_.front();
    if (!block) return written == 0 && ended ? kEnd : written;
    const std::array<std::uint32_t, 2> head = {static_cast<std::uint32_t>(block->bytes.size()),
                                               static_cast<std::uint32_t>(block->kind)};
    const std::string_view head_bytes(reinterpret_cast<const char*>(head.data()), sizeof(head));
    const std::string_view part = at_ < sizeof(head) ? head_bytes.substr(at_) : block->bytes.substr(at_ - sizeof(head));
    const std::size_t length = std::min(part.size(), capacity - written);
    std::memcpy(buffer + written, part.data(), length);
    written += length;
    at_ += length;
    if (at_ == sizeof(head) + block->bytes.size()) {
      at_ = 0;
      recorder_.pop();
    }
  }
  return written;
}

}  // namespace noised::daemon
