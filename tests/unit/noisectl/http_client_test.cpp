// SPDX-License-Identifier: Apache-2.0
// Requests over a Unix socket against canned answers, down to daemons that hang, refuse, or vanish.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/client/http_client.h"
#include "noisectl/commands/detours.h"
#include "noisectl/commands/report.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using client::HttpClient;
using client::StreamEnd;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLong{10'000};

/// Answers each of so many connections with these pieces, waits until the client closes if told so, then closes.
class CannedServer {
 public:
  enum class Then { close, wait };

  CannedServer(const std::string& path, std::vector<std::string> pieces, Then then = Then::close, int connections = 1)
      : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener_, 1) == 0);
    thread_ = std::thread([this, pieces = std::move(pieces), then, connections] {
      for (int time = 0; time < connections; ++time) serve(pieces, then);
    });
  }
  ~CannedServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

 private:
  void serve(const std::vector<std::string>& pieces, Then then) const {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    std::string request;
    char byte = 0;
    while (request.find("\r\n\r\n") == std::string::npos && read(connection, &byte, 1) == 1) request += byte;
    for (const std::string& piece : pieces) send(connection, piece.data(), piece.size(), MSG_NOSIGNAL);
    while (then == Then::wait && read(connection, &byte, 1) == 1) {
    }
    close(connection);
  }

  int listener_;
  std::thread thread_;
};

std::string chunk(const std::string& text) {
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

const std::string kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

struct Streamed {
  std::vector<std::string> lines;
  Result<StreamEnd> end;
};

Streamed stream(const std::string& socket, std::size_t enough = 100, int stop_fd = -1, milliseconds timeout = kLong) {
  Result<HttpClient> client = HttpClient::create(socket);
  REQUIRE(client.ok());
  std::vector<std::string> lines;
  Result<StreamEnd> end = client.value().stream("/v1/detours", timeout, stop_fd, [&](std::string_view line) {
    lines.emplace_back(line);
    return lines.size() < enough;
  });
  return {std::move(lines), std::move(end)};
}

Result<std::string> get(const std::string& socket, milliseconds timeout = kLong) {
  return HttpClient::create(socket).value().get("/v1/report", timeout);
}

}  // namespace

TEST_CASE("an answer comes back whole", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const CannedServer server(directory.path("s"), {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "01234", "56789"});
  const Result<std::string> body = get(directory.path("s"));
  REQUIRE(body.ok());
  CHECK(body.value() == "0123456789");
}

TEST_CASE("a proxy of the environment is not for a local socket", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const CannedServer server(directory.path("s"), {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  const Result<std::string> body = get(directory.path("s"));
  unsetenv("http_proxy");
  CHECK(body.ok());
}

TEST_CASE("without a daemon the error says how to start one", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const std::string socket = directory.path("s");
  const std::string expected =
      "no daemon at " + socket + ": start one with 'noised --cpus LIST --socket " + socket + "'";
  CHECK(get(socket).error().line() == expected);
  {
    const CannedServer server(socket, {});
  }  // leaves its socket behind, as a killed daemon does
  CHECK(get(socket).error().line() == expected);
  CHECK(get(socket).error().code == ExitCode::failed);
  CHECK(stream(socket).end.error().line() == expected);
}

TEST_CASE("a refusal is shown with its reason, and none of it as a line of the stream", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const std::string refusal = "HTTP/1.1 404 Not Found\r\nContent-Length: 14\r\n\r\nno such\x1bpath\n\n";
  {
    const CannedServer server(directory.path("a"), {refusal});
    CHECK(get(directory.path("a")).error().what ==
          "daemon at " + directory.path("a") + " answered 404 to /v1/report (no such?path)");
  }
  const CannedServer server(directory.path("b"), {refusal});
  const Streamed streamed = stream(directory.path("b"));
  CHECK(streamed.lines.empty());
  CHECK(streamed.end.error().what.find("answered 404") != std::string::npos);
}

TEST_CASE("lines are whole although chunks are not", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const CannedServer server(directory.path("s"),
                            {kChunked, chunk("on"), chunk("e\ntwo"), chunk("\nthree\nre"), chunk("st"), "0\r\n\r\n"});
  const Streamed streamed = stream(directory.path("s"));
  REQUIRE(streamed.end.ok());
  CHECK(streamed.end.value() == StreamEnd::finished);
  CHECK(streamed.lines == std::vector<std::string>{"one", "two", "three", "rest"});
}

TEST_CASE("a daemon that vanishes within a stream is an error, after the lines it sent", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const CannedServer server(directory.path("s"), {kChunked, chunk("one\nhalf a li")});
  const Streamed streamed = stream(directory.path("s"));
  REQUIRE_FALSE(streamed.end.ok());
  CHECK(streamed.end.error().what == "daemon at " + directory.path("s") + " went away");
  CHECK(streamed.lines == std::vector<std::string>{"one"});
}

TEST_CASE("a daemon that closes without an answer went away", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const CannedServer server(directory.path("s"), {});
  CHECK(get(directory.path("s")).error().what == "daemon at " + directory.path("s") + " went away");
}

TEST_CASE("a daemon that does not answer is not waited for", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const CannedServer server(directory.path("s"), {}, CannedServer::Then::wait);
  CHECK(get(directory.path("s"), milliseconds{50}).error().what ==
        "daemon at " + directory.path("s") + " did not answer in time");
}

TEST_CASE("a stream without an end ends by the reader, by a signal's descriptor, or in time", "[noisectl]") {
  const test::TemporaryDirectory directory;
  const std::string socket = directory.path("s");
  const CannedServer server(socket, {kChunked, chunk("one\ntwo\nthree\n")}, CannedServer::Then::wait);
  SECTION("reader") {
    const Streamed streamed = stream(socket, 2);
    REQUIRE(streamed.end.ok());
    CHECK(streamed.end.value() == StreamEnd::stopped);
    CHECK(streamed.lines == std::vector<std::string>{"one", "two"});
  }
  SECTION("descriptor") {
    const int readable = eventfd(1, EFD_CLOEXEC);
    const Streamed streamed = stream(socket, 100, readable, milliseconds{0});
    close(readable);
    REQUIRE(streamed.end.ok());
    CHECK(streamed.end.value() == StreamEnd::stopped);
  }
  SECTION("time") {
    const Streamed streamed = stream(socket, 100, -1, milliseconds{100});
    REQUIRE_FALSE(streamed.end.ok());
    CHECK(streamed.end.error().what.find("did not answer in time") != std::string::npos);
    CHECK(streamed.lines.size() == 3);
  }
}

TEST_CASE("what is not HTTP, and what is not noised, is said", "[noisectl]") {
  const test::TemporaryDirectory directory;
  {
    const CannedServer server(directory.path("a"), {"hello\n"});
    CHECK(get(directory.path("a")).error().remedy == "is this the socket of noised?");
  }
  const CannedServer server(directory.path("b"), {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"});
  client::ReportOptions options;
  options.socket = directory.path("b");
  CHECK(client::run_report(options).error().what == "report.schema: missing");
}

TEST_CASE("following ends in an error when the daemon ends the stream", "[noisectl]") {
  const test::TemporaryDirectory directory;
  client::DetoursOptions options;
  options.follow = true;
  options.socket = directory.path("s");
  // It asks which CPUs are measured, too.
  const CannedServer server(options.socket, {kChunked, "0\r\n\r\n"}, CannedServer::Then::close, 2);
  const Status done = client::run_detours(options);
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().what == "daemon at " + options.socket + " went away");
  CHECK(done.error().code == ExitCode::failed);
}
