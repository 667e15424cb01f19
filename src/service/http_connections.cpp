// SPDX-License-Identifier: Apache-2.0
// At most 64 entries, looked at once a second and when one is added.
#include "service/http_connections.h"

#include <sys/socket.h>

namespace noised {
namespace {

// Closed connections leave libmicrohttpd's count only when it comes by: with some to spare, a new client need not wait.
constexpr std::size_t kSpare = 8;

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
  connection.answered = true;
}

void HttpConnections::expire(std::uint64_t now_ns) {
  for (Connection& each : connections_) {
    const std::uint64_t allowed_ns = each.answered ? kNextRequestNs : kFirstRequestNs;
    if (!each.streaming && !each.closing && now_ns - each.since_ns > allowed_ns) close(each);
  }
}

}  // namespace noised
