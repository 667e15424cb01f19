// SPDX-License-Identifier: Apache-2.0
// Responses without end: how a stream waits for data without a thread, a timer or a busy loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

struct MHD_Connection;
struct MHD_Response;

namespace noised {

/// Where the bytes of a stream come from. Read on the HTTP thread only.
class StreamSource {
 public:
  /// What read() returns when there will never be more.
  static constexpr std::size_t kEnd = SIZE_MAX;

  StreamSource() = default;
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;
  virtual ~StreamSource() = default;

  /// Copies up to `capacity` bytes; 0 for nothing now (asked again after the next wake), kEnd for the end. Must not
  /// block: every other client waits meanwhile.
  virtual std::size_t read(char* buffer, std::size_t capacity) = 0;
};

/// All open streams of a server. A stream with nothing to send is suspended: out of the server's epoll set, at no cost
/// until it is resumed. HTTP thread only, but for any().
class HttpStreams {
 public:
  /// Streams served at once; below the server's connection limit, so that there is always room for plain requests.
  static constexpr unsigned kLimit = 32;

  HttpStreams();

  /// A response that pulls from the source, or null when there are already kLimit streams or memory is short.
  MHD_Response* open(MHD_Connection* connection, std::unique_ptr<StreamSource> source);

  /// True if there are streams; one relaxed load, any thread.
  [[nodiscard]] bool any() const { return open_.load(std::memory_order_relaxed) != 0; }
  /// Has suspended streams read their sources again.
  void resume();
  /// From now on, a stream that is resumed with nothing to send ends.
  void stop() { stopping_ = true; }

 private:
  class Stream;

  std::atomic<unsigned> open_{0};
  std::vector<MHD_Connection*> suspended_;  // each exactly once; MHD keeps a suspended connection alive
  bool stopping_ = false;
};

}  // namespace noised
