// SPDX-License-Identifier: Apache-2.0
// Which connections are closed, and when, on sockets that no server reads.
#include <catch2/catch_test_macros.hpp>

#include <sys/socket.h>

#include <array>
#include <vector>

#include "base/files.h"
#include "noised/http/http_stream.h"

using namespace noised;
using namespace noised::daemon;

namespace {

constexpr std::uint64_t kMinuteNs = 60'000'000'000;

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    server.reset(ends[0]);
    client.reset(ends[1]);
  }
  [[nodiscard]] bool closed() const {
    char next = 0;
    return ::recv(client.get(), &next, 1, MSG_DONTWAIT) == 0;
  }
  Descriptor server;
  Descriptor client;
};

}  // namespace

TEST_CASE("a request and its answer have their time, and more between two") {
  HttpConnections connections;
  const Pair pair;
  HttpConnections::Connection* const connection = connections.opened(pair.server.get(), kMinuteNs);
  connections.expire(kMinuteNs + HttpConnections::kFirstRequestNs);
  CHECK_FALSE(pair.closed());
  HttpConnections::answered(*connection, 2 * kMinuteNs);
  connections.expire(2 * kMinuteNs + HttpConnections::kNextRequestNs);
  CHECK_FALSE(pair.closed());
  connections.expire(2 * kMinuteNs + HttpConnections::kNextRequestNs + 1);
  CHECK(pair.closed());
  connections.closed(connection);
  CHECK(connections.size() == 0);
}

TEST_CASE("a stream whose client takes nothing ends, and one for which there is nothing does not") {
  HttpConnections connections;
  const Pair unread;
  const Pair idle;
  HttpConnections::Connection* const entry = connections.opened(unread.server.get(), kMinuteNs);
  HttpConnections::Connection* const other = connections.opened(idle.server.get(), kMinuteNs);
  entry->streaming = other->streaming = true;
  HttpConnections::streamed(*entry, false, 10 * kMinuteNs);
  HttpConnections::streamed(*other, true, 10 * kMinuteNs);
  connections.expire(10 * kMinuteNs + HttpConnections::kUnreadNs);
  CHECK_FALSE(unread.closed());
  connections.expire(10 * kMinuteNs + HttpConnections::kUnreadNs + 1);
  CHECK(unread.closed());
  connections.expire(90 * kMinuteNs);
  CHECK_FALSE(idle.closed());
  HttpConnections::streamed(*other, false, 91 * kMinuteNs);
  connections.expire(92 * kMinuteNs);
  CHECK_FALSE(idle.closed());
  connections.expire(93 * kMinuteNs);
  CHECK(idle.closed());
}

TEST_CASE("a client that can ask no more is let go, but not before its answer") {
  constexpr std::uint64_t kSoonNs = kMinuteNs + HttpConnections::kFinishedNs;
  HttpConnections connections;
  const Pair waiting;
  const Pair unfinished;
  const Pair unread;
  const Pair asking;
  for (const Pair* const each : {&waiting, &unfinished, &unread, &asking}) {
    HttpConnections::Connection* const connection = connections.opened(each->server.get(), kMinuteNs);
    if (each == &unread) REQUIRE(::send(each->client.get(), "G", 1, MSG_NOSIGNAL) == 1);
    if (each == &asking) HttpConnections::asked(*connection);
    if (each != &waiting) ::shutdown(each->client.get(), SHUT_WR);
  }
  connections.expire(kSoonNs);
  CHECK_FALSE(unfinished.closed());
  connections.expire(kSoonNs + 1);
  CHECK(unfinished.closed());
  CHECK_FALSE(waiting.closed());
  CHECK_FALSE(unread.closed());
  CHECK_FALSE(asking.closed());
}

namespace {

// As many as there is room for, and so many more, all of the same time.
struct Crowd {
  explicit Crowd(std::size_t more) : pairs(kRoom + more) {
    for (const Pair& pair : pairs) entries.push_back(connections.opened(pair.server.get(), kMinuteNs));
  }
  [[nodiscard]] std::size_t closed() const {
    std::size_t count = 0;
    for (const Pair& pair : pairs) count += pair.closed() ? 1 : 0;
    return count;
  }

  static constexpr std::size_t kRoom = 56;
  HttpConnections connections;
  std::vector<Pair> pairs;
  std::vector<HttpConnections::Connection*> entries;
};

}  // namespace

TEST_CASE("a burst of others leaves a connection its time to ask, and then as many go as are too many") {
  Crowd crowd(5);
  CHECK(crowd.connections.makes_room_ns() == kMinuteNs + HttpConnections::kLeastNs);
  crowd.connections.expire(kMinuteNs + HttpConnections::kLeastNs - 1);
  CHECK(crowd.closed() == 0);
  crowd.connections.expire(kMinuteNs + HttpConnections::kLeastNs);
  CHECK(crowd.closed() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(crowd.pairs[i].closed());
  CHECK(crowd.connections.makes_room_ns() == UINT64_MAX);
  crowd.connections.expire(kMinuteNs + 2 * HttpConnections::kLeastNs);
  CHECK(crowd.closed() == 5);
}

TEST_CASE("one more than there is room for has the oldest closed that has had its time") {
  Crowd crowd(0);
  CHECK(crowd.connections.makes_room_ns() == UINT64_MAX);
  const Pair late;
  crowd.connections.opened(late.server.get(), kMinuteNs + HttpConnections::kLeastNs);
  CHECK(crowd.closed() == 1);
  CHECK(crowd.pairs.front().closed());
  CHECK_FALSE(late.closed());
}

TEST_CASE("those that are answered or stream stay while others are there to make room") {
  Crowd crowd(2);
  crowd.entries[0]->streaming = true;
  HttpConnections::asked(*crowd.entries[1]);
  crowd.connections.expire(kMinuteNs + HttpConnections::kLeastNs);
  CHECK(crowd.closed() == 2);
  CHECK(crowd.pairs[2].closed());
  CHECK(crowd.pairs[3].closed());
  for (HttpConnections::Connection* const entry : crowd.entries) HttpConnections::asked(*entry);
  const Pair late;
  crowd.connections.opened(late.server.get(), kMinuteNs + HttpConnections::kLeastNs);
  // They have had their time, and it has not.
  CHECK(crowd.closed() == 3);
  CHECK(crowd.pairs[1].closed());
  CHECK_FALSE(late.closed());
}
