// SPDX-License-Identifier: Apache-2.0
// The HTTP server over a real Unix socket: plain answers, refusals, limits, its thread, and its memory.
#include <catch2/catch_test_macros.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "noised/http/http_server.h"
#include "noised/http/unix_socket.h"
#include "unit/base/temporary_directory.h"
#include "unit/base/texts.h"
#include "unit/noised/http_client.h"

namespace noised {

using namespace noised::daemon;
using noised::test::has;

namespace {

// A server with one route of each plain kind.
struct Server {
  Server() : socket(UnixSocket::listen(directory.path("s")).value()) {
    std::vector<HttpRoute> routes;
    routes.push_back({"/v1/status", PlainHandler([](const HttpRequest&) {
                        return HttpResponse{200, "application/json", R"({"up":true})"};
                      })});
    routes.push_back({"/echo", PlainHandler([](const HttpRequest& request) {
                        const auto min = request.query("min");
                        return HttpResponse{200, "text/plain", min ? "[" + *min + "]" : "none"};
                      })});
    routes.push_back({"/bad", PlainHandler([](const HttpRequest&) { return http_error(400, "bad \"min\"\xff"); })});
    routes.push_back(
        {"/throws", PlainHandler([](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no luck"); })});
    routes.push_back({"/large", PlainHandler([](const HttpRequest&) {
                        return HttpResponse{200, "text/plain", std::string(4 << 20, 'x') + "end"};
                      })});
    routes.push_back({"/mask", PlainHandler([](const HttpRequest&) {
                        sigset_t mask;
                        ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                        const bool all = ::sigismember(&mask, SIGTERM) == 1 && ::sigismember(&mask, SIGINT) == 1 &&
                                         ::sigismember(&mask, SIGUSR1) == 1 && ::sigismember(&mask, SIGPIPE) == 1;
                        return HttpResponse{200, "text/plain", all ? "blocked" : "open"};
                      })});
    auto started = HttpServer::start({{socket.descriptor(), std::move(routes)}}, log);
    REQUIRE(started);
    http = std::move(started).value();
  }
  [[nodiscard]] test::RawClient client() const { return test::RawClient(socket.path()); }
  // The whole answer to one request on a connection of its own.
  [[nodiscard]] std::string ask(const std::string& request) const {
    test::RawClient one = client();
    one.send(request);
    return one.read_all(1000);
  }
  [[nodiscard]] std::string get(const std::string& target) const {
    return ask("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  test::TemporaryDirectory directory;
  Log log{LogLevel::error, -1};
  UnixSocket socket;
  std::unique_ptr<HttpServer> http;
};

std::size_t count_threads() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)entry;
    ++count;
  }
  return count;
}

// The kernel lists a thread for a moment after it was joined.
std::size_t settled_threads() {
  std::size_t least = count_threads();
  for (int look = 0; look < 20; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    least = std::min(least, count_threads());
  }
  return least;
}

}  // namespace

TEST_CASE("a plain route answers with its status, type and body") {
  const Server server;
  const std::string answer = server.get("/v1/status");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(has(answer, "Content-Type: application/json\r\n"));
  CHECK(has(answer, "Content-Length: 11\r\n"));
  CHECK(answer.ends_with("\r\n\r\n{\"up\":true}"));
}

TEST_CASE("HEAD has the headers of GET and no body") {
  const Server server;
  const std::string answer = server.ask("HEAD /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(has(answer, "Content-Length: 11\r\n"));
  CHECK(answer.ends_with("\r\n\r\n"));
}

TEST_CASE("query parameters are decoded") {
  const Server server;
  CHECK(server.get("/echo").ends_with("none"));
  CHECK(server.get("/echo?max=1").ends_with("none"));
  CHECK(server.get("/echo?min=1%20us&x").ends_with("[1 us]"));
  CHECK(server.get("/echo?min=").ends_with("[]"));
  CHECK(server.get("/echo?min").ends_with("[]"));
}

TEST_CASE("several requests share a connection") {
  const Server server;
  test::RawClient client = server.client();
  for (int i = 0; i < 3; ++i) {
    client.get("/v1/status");
    CHECK(has(client.read_until("{\"up\":true}"), "200 OK"));
  }
  client.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\nGET /echo?min=2 HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(has(client.read_until("[2]"), "none"));
  CHECK_FALSE(client.closed());
}

TEST_CASE("what is not served is refused with a short JSON error") {
  const Server server;
  CHECK(server.get("/nothing").starts_with("HTTP/1.1 404 "));
  CHECK(server.get("/nothing").ends_with("\r\n\r\n{\"error\":\"no such path\"}\n"));
  CHECK(server.get("/v1/status/").starts_with("HTTP/1.1 404 "));
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"}) {
    INFO(method);
    const std::string answer = server.ask(std::string(method) + " /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(answer.starts_with("HTTP/1.1 405 "));
    CHECK(has(answer, "Allow: GET, HEAD\r\n"));
  }
  CHECK(server.get("/bad").starts_with("HTTP/1.1 400 "));
  CHECK(server.get("/bad").ends_with("{\"error\":\"bad \\\"min\\\"\xef\xbf\xbd\"}\n"));
  CHECK(server.get("/throws").starts_with("HTTP/1.1 500 "));
  CHECK(server.get("/throws").ends_with("{\"error\":\"internal error\"}"));
}

TEST_CASE("request bodies are refused without being read") {
  const Server server;
  const std::string sized = server.ask("GET /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc");
  CHECK(sized.starts_with("HTTP/1.1 413 "));
  const std::string chunked =
      server.ask("GET /v1/status HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  CHECK(chunked.starts_with("HTTP/1.1 413 "));
  const std::string post = server.ask("POST /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  CHECK(post.starts_with("HTTP/1.1 405 "));
  const std::string empty =
      server.ask("GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  CHECK(empty.starts_with("HTTP/1.1 200 "));
}

TEST_CASE("nonsense closes its own connection and harms no other") {
  const Server server;
  for (const std::string& nonsense :
       {std::string("\r\n\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("\x16\x03\x01\x02\0\x01", 6) + "\r\n\r\n",
        "GET / HTTP/1.1\r\n" + std::string(40'000, 'a') + "\r\n\r\n",
        "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n",
        std::string("GET /v1/status HTTP/1.1\r\n\r\n"), std::string("GET /v1/status HTTP/9.9\r\nHost: x\r\n\r\n"),
        std::string("GET /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")}) {
    test::RawClient client = server.client();
    client.send(nonsense);
    const std::string answer = client.read_until("\r\n\r\n", 300);
    INFO(nonsense.substr(0, 40));
    CHECK_FALSE(has(answer, " 200 "));
    CHECK(server.get("/v1/status").ends_with("{\"up\":true}"));
  }
}

TEST_CASE("a client that sends slowly or leaves early harms no other") {
  const Server server;
  test::RawClient slow = server.client();
  slow.send("GET /v1/st");
  test::RawClient half = server.client();
  half.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  half.disconnect();
  CHECK(server.get("/v1/status").ends_with("{\"up\":true}"));
  slow.send("atus HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(has(slow.read_until("{\"up\":true}"), "200 OK"));
}

TEST_CASE("a large answer arrives whole at a slow reader, while others are served") {
  const Server server;
  test::RawClient slow = server.client();
  slow.send("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(server.get("/v1/status").ends_with("{\"up\":true}"));
  const std::string answer = slow.read_all();
  CHECK(answer.size() > (4 << 20));
  CHECK(answer.ends_with("xend"));
}

TEST_CASE("clients over the connection limit are served, and those that hold theirs longest make room") {
  const Server server;
  std::vector<test::RawClient> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(server.client());
    slow.back().send("GET /v1/st");
  }
  for (int i = 0; i < 10; ++i) CHECK(server.get("/v1/status").ends_with("{\"up\":true}"));
  slow.front().read_all(100);
  CHECK(slow.front().closed());
  slow.back().send("atus HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(has(slow.back().read_until("{\"up\":true}"), "200 OK"));
}

TEST_CASE("there is one server thread, it takes no signals, and it ends with the server") {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::thread([] {}).join();  // a sanitizer's own thread starts with the first of ours
  const std::size_t threads = settled_threads();
  {
    const Server server;
    CHECK(server.get("/mask").ends_with("blocked"));
    std::vector<test::RawClient> clients;
    for (int i = 0; i < 10; ++i) {
      clients.push_back(server.client());
      clients.back().get("/v1/status");
      CHECK(has(clients.back().read_until("true}"), "200 OK"));
    }
    CHECK(settled_threads() == threads + 1);
  }
  CHECK(settled_threads() == threads);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    CHECK(::sigismember(&before, signal) == ::sigismember(&after, signal));
  }
}

TEST_CASE("a descriptor that cannot listen is a failure, not a crash") {
  const Log log(LogLevel::error, -1);
  const auto server = HttpServer::start({{-1, {}}}, log);
  REQUIRE_FALSE(server);
  CHECK(server.error().code == ExitCode::failed);
  CHECK(server.error().line().find("listening socket") != std::string::npos);
}

}  // namespace noised
