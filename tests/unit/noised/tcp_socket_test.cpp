// SPDX-License-Identifier: Apache-2.0
// Addresses to listen on: numeric, with a port, or refused.
#include <catch2/catch_test_macros.hpp>

#include "noised/http/tcp_socket.h"

namespace noised {

using namespace noised::daemon;

TEST_CASE("addresses to listen on") {
  for (const char* const good : {"127.0.0.1:10077", "[::1]:1", ":65535", "0.0.0.0:80", "[::]:80"}) {
    INFO(good);
    CHECK(check_listen_address(good));
  }
  for (const char* const bad : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1",
                                "127.0.0.1: 80", "localhost:80", "::1:80", "[::1]", "[127.0.0.1]:80", "1.2.3:99999"}) {
    INFO(bad);
    const Status checked = check_listen_address(bad);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ExitCode::usage);
  }
  CHECK(is_loopback("127.0.0.1:1"));
  CHECK(is_loopback("127.8.0.1:1"));
  CHECK(is_loopback("[::1]:1"));
  CHECK_FALSE(is_loopback(":1"));
  CHECK_FALSE(is_loopback("0.0.0.0:1"));
}

TEST_CASE("without a host, all addresses are listened on") {
  const auto all = listen_tcp(":20078");
  REQUIRE(all);
  CHECK_FALSE(is_loopback(listening_address(all.value())));
  CHECK_FALSE(listen_tcp("127.0.0.1:20078"));
  CHECK_FALSE(listen_tcp("0.0.0.0:20078"));
}

TEST_CASE("an address in use is a failure that names it") {
  const auto first = listen_tcp("127.0.0.1:20077");
  REQUIRE(first);
  CHECK(listening_address(first.value()) == "127.0.0.1:20077");
  const auto second = listen_tcp("127.0.0.1:20077");
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ExitCode::failed);
  CHECK(second.error().line().starts_with("cannot listen on 127.0.0.1:20077: Address already in use: "));
}

TEST_CASE("an IPv6 address is written as it is read") {
  const auto socket = listen_tcp("[::1]:20079");
  if (!socket) SKIP("no IPv6 here");
  CHECK(listening_address(socket.value()) == "[::1]:20079");
}

}  // namespace noised
