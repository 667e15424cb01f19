// SPDX-License-Identifier: Apache-2.0
// At most 64 entries, looked at once a second and when one is added.
#include "service/http_connections.h"

#include <sys/socket.h>

namespace noised {
namespace {

// Closed connections leave libmicrohttpd's count only when it comes by: with some to spare, a new client need not wait.
constexpr std::size_t kSpare = 8;

// libmicrohttpd 0.9.75 does not see that over TCP when it came together with the last bytes: its epoll set tells of a
// change once, and after a read that was not filled it waits for the next.
bool will_say_no_more(int socket) {
  char next = 0;
  return ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

void HttpConnections::close(Connection& connection) {
  (void)::shutdown(connection.socket, SHUT_RDWR);
  connection.closing = true;
}

HttpConnections::Connection* HttpConnections::opened(int socket, std::uint64_t now_ns) {
  connections_.push_back({.socket = socket, .since_ns = now_ns});
  if (connections_.size() + kSpare > kLimit) {
    Connection* oldest = nullptr;
    for (Connection& each : connections_) {
      if (each.streaming || each.closing) continue;
      if (oldest == nullptr || each.since_ns < oldest->since_ns) oldest = &each;
    }
    if (oldest != nullptr && oldest != &connections_.back()) close(*oldest);
  }
  return &connections_.back();
}

void HttpConnections::closed(Connection* connection) {
  connections_.remove_if([&](const Connection& each) { return &each == connection; });
}

void HttpConnections::answered(Connection& connection, std::uint64_t now_ns) {
  connection.since_ns = now_ns;
  connection.answering = false;
  connection.answered = true;
}

void HttpConnections::expire(std::uint64_t now_ns) {
  for (Connection& each : connections_) {
    if (each.streaming || each.closing) continue;
    const std::uint64_t held_ns = now_ns - each.since_ns;
    const bool too_long = held_ns > (each.answered ? kNextRequestNs : kFirstRequestNs);
    if (too_long || (held_ns > kFinishedNs && !each.answering && will_say_no_more(each.socket))) close(each);
  }
}

}  // namespace noised
