// SPDX-License-Identifier: Apache-2.0
// The open connections of one listener, so that slow clients cannot keep others out for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

namespace noised {

/// libmicrohttpd's timeout begins again with each byte: a client that sends one now and then holds its connection for
/// ever. Here a request, with its answer, has a fixed time; and where connections run short, the one that has held its
/// longest makes room. Closing is by shutdown(2), which libmicrohttpd then sees. HTTP thread only.
class HttpConnections {
 public:
  /// The most that one listener serves at once.
  static constexpr std::size_t kLimit = 64;
  /// From the first byte that could have come to the last of the answer; a monitoring server keeps its connection for
  /// the time between two scrapes, so a later request on the same has longer.
  static constexpr std::uint64_t kFirstRequestNs = 10'000'000'000;
  static constexpr std::uint64_t kNextRequestNs = 130'000'000'000;
  /// For libmicrohttpd to see by itself that a client will say no more.
  static constexpr std::uint64_t kFinishedNs = 1'000'000'000;

  struct Connection {
    int socket = -1;
    std::uint64_t since_ns = 0;  ///< when it was opened, or its last answer was complete
    bool answering = false;      ///< a request is here, and its answer not complete
    bool answered = false;       ///< at least once
    bool streaming = false;      ///< takes as long as it likes
    bool closing = false;        ///< shut down, not gone yet
  };

  /// A connection was opened; if there is hardly room for another, the oldest is closed. Pointers stay valid until
  /// closed().
  Connection* opened(int socket, std::uint64_t now_ns);
  void closed(Connection* connection);
  /// A request is here: whatever its client does, it is answered.
  static void asked(Connection& connection) { connection.answering = true; }
  /// An answer is complete: its connection waits for the next request.
  static void answered(Connection& connection, std::uint64_t now_ns);
  /// Closes what took too long, and what can ask no more.
  void expire(std::uint64_t now_ns);

  [[nodiscard]] std::size_t size() const { return connections_.size(); }

 private:
  static void close(Connection& connection);

  std::list<Connection> connections_;
};

}  // namespace noised
