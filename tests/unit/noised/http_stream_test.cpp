// SPDX-License-Identifier: Apache-2.0
// Streams: data after a wake, no busy loop without, and nothing left behind by clients that leave or do not read.
#include <catch2/catch_test_macros.hpp>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
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

// What the pipeline is in the daemon: other threads put lines in, streams take them out.
struct Feed {
  void put(const std::string& line) {
    const std::lock_guard hold(mutex);
    lines.push_back(line);
  }
  void finish() {
    const std::lock_guard hold(mutex);
    finished = true;
  }
  std::mutex mutex;
  std::deque<std::string> lines;
  bool finished = false;
  std::atomic<unsigned> reads{0};
  std::atomic<unsigned> sources{0};
};

class FeedSource : public StreamSource {
 public:
  explicit FeedSource(Feed& feed) : feed_(feed) { ++feed_.sources; }
  ~FeedSource() override { --feed_.sources; }
  std::size_t read(char* buffer, std::size_t capacity) override {
    ++feed_.reads;
    const std::lock_guard hold(feed_.mutex);
    if (feed_.lines.empty()) return feed_.finished ? kEnd : 0;
    std::string& line = feed_.lines.front();
    const std::size_t size = std::min(capacity, line.size());
    std::memcpy(buffer, line.data(), size);
    line.erase(0, size);
    if (line.empty()) feed_.lines.pop_front();
    return size;
  }

 private:
  Feed& feed_;
};

class EndlessSource : public StreamSource {
 public:
  explicit EndlessSource(std::atomic<std::size_t>& sent) : sent_(sent) {}
  std::size_t read(char* buffer, std::size_t capacity) override {
    std::memset(buffer, 'x', capacity);
    sent_ += capacity;
    return capacity;
  }

 private:
  std::atomic<std::size_t>& sent_;
};

class ThrowingSource : public StreamSource {
 public:
  std::size_t read(char*, std::size_t) override { throw std::runtime_error("no luck"); }
};

// The news comes just after the source has looked for it, and its wake before the stream is suspended.
class LateSource : public StreamSource {
 public:
  explicit LateSource(std::function<void()> wake) : wake_(std::move(wake)) {}
  std::size_t read(char* buffer, std::size_t) override {
    if (++reads_ > 2) return kEnd;
    if (reads_ == 1) {
      wake_();
      return 0;
    }
    std::memcpy(buffer, "late", 4);
    return 4;
  }

 private:
  std::function<void()> wake_;
  int reads_ = 0;
};

struct StreamServer {
  StreamServer() : socket(UnixSocket::listen(directory.path("s")).value()) {
    std::vector<HttpRoute> routes;
    routes.push_back({"/v1/status", PlainHandler([](const HttpRequest&) { return HttpResponse{200, "a/b", "up"}; })});
    routes.push_back({"/feed", StreamHandler([this](const HttpRequest& request) -> StreamReply {
                        if (request.query("min") == "x") return http_error(400, "bad min");
                        return std::make_unique<FeedSource>(feed);
                      })});
    routes.push_back({"/endless", StreamHandler([this](const HttpRequest&) -> StreamReply {
                        return std::make_unique<EndlessSource>(sent);
                      })});
    routes.push_back({"/throws", StreamHandler([](const HttpRequest&) -> StreamReply {
                        return std::make_unique<ThrowingSource>();
                      })});
    routes.push_back({"/late", StreamHandler([this](const HttpRequest&) -> StreamReply {
                        return std::make_unique<LateSource>([this] { http->wake(); });
                      })});
    auto started = HttpServer::start({{socket.descriptor(), std::move(routes)}}, log);
    REQUIRE(started);
    http = std::move(started).value();
  }
  [[nodiscard]] test::RawClient client() const { return test::RawClient(socket.path()); }
  [[nodiscard]] test::RawClient stream(const std::string& target = "/feed") const {
    test::RawClient one = client();
    one.get(target);
    REQUIRE(one.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
    return one;
  }

  test::TemporaryDirectory directory;
  Feed feed;
  std::atomic<std::size_t> sent{0};
  Log log{LogLevel::error, -1};
  UnixSocket socket;
  std::unique_ptr<HttpServer> http;
};

bool becomes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void sleep_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

double process_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

TEST_CASE("a stream sends what there is, then what comes with each wake, then ends") {
  StreamServer server;
  server.feed.put("one\n");
  test::RawClient client = server.client();
  client.get("/feed");
  const std::string head = client.read_until("one\n");
  CHECK(has(head, "Content-Type: application/x-ndjson\r\n"));
  CHECK(has(head, "Transfer-Encoding: chunked\r\n"));
  for (const char* line : {"two\n", "three\n"}) {
    server.feed.put(line);
    server.http->wake();
    CHECK(has(client.read_until(line), line));
  }
  server.feed.finish();
  server.http->wake();
  CHECK(client.read_all().ends_with("0\r\n\r\n"));
  CHECK(client.closed());
  CHECK(becomes_true([&] { return server.feed.sources == 0; }));
}

TEST_CASE("a stream with nothing to send neither spins nor keeps others waiting") {
  StreamServer server;
  const test::RawClient client = server.stream();
  CHECK(becomes_true([&] { return server.feed.reads > 0; }));
  const unsigned reads = server.feed.reads;
  const double before = process_cpu_seconds();
  sleep_ms(200);
  CHECK(server.feed.reads == reads);
  CHECK(process_cpu_seconds() - before < 0.05);
  test::RawClient other = server.client();
  other.get("/v1/status");
  CHECK(has(other.read_until("up"), "200 OK"));
  server.http->wake();
  CHECK(becomes_true([&] { return server.feed.reads == reads + 1; }));
}

TEST_CASE("a wake between reading the source and suspending the stream is not lost") {
  const StreamServer server;
  test::RawClient client = server.client();
  client.get("/late");
  CHECK(has(client.read_all(), "late"));
  CHECK(client.closed());
}

TEST_CASE("HTTP/1.0 clients get a stream without chunks") {
  StreamServer server;
  server.feed.put("one\n");
  test::RawClient client = server.client();
  client.send("GET /feed HTTP/1.0\r\n\r\n");
  CHECK(has(client.read_until("one\n"), "one\n"));
  server.feed.put("two\n");
  server.feed.finish();
  server.http->wake();
  CHECK(client.read_all() == "two\n");
  CHECK(client.closed());
}

TEST_CASE("a line larger than every buffer arrives whole") {
  StreamServer server;
  const std::string line = std::string(300'000, 'y') + "\n";
  test::RawClient client = server.stream();
  server.feed.put(line);
  server.feed.finish();
  server.http->wake();
  std::string answer = client.read_all();
  CHECK(client.closed());
  CHECK(static_cast<std::size_t>(std::count(answer.begin(), answer.end(), 'y')) == 300'000);
}

TEST_CASE("a stream can be refused by its handler; HEAD opens none") {
  StreamServer server;
  test::RawClient client = server.client();
  client.get("/feed?min=x");
  CHECK(has(client.read_until("bad min"), "HTTP/1.1 400 "));
  client.send("HEAD /feed HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(has(client.read_until("\r\n\r\n"), "HTTP/1.1 200 "));
  CHECK(becomes_true([&] { return server.feed.sources == 0; }));
}

TEST_CASE("a source that throws ends its own stream only") {
  StreamServer server;
  test::RawClient client = server.client();
  client.get("/throws");
  const std::string answer = client.read_all();
  CHECK(client.closed());
  CHECK_FALSE(answer.ends_with("0\r\n\r\n"));  // a client can tell that it is not complete
  test::RawClient other = server.client();
  other.get("/v1/status");
  CHECK(has(other.read_until("up"), "200 OK"));
}

TEST_CASE("a client that has gone is noticed at the next wake, without new data") {
  StreamServer server;
  test::RawClient client = server.stream();
  CHECK(becomes_true([&] { return server.feed.sources == 1; }));
  client.disconnect();
  CHECK(becomes_true([&] {
    server.http->wake();
    return server.feed.sources == 0;
  }));
}

TEST_CASE("a client that does not read holds back only itself") {
  StreamServer server;
  test::RawClient client = server.stream("/endless");
  std::size_t sent = 0;
  CHECK(becomes_true([&] {
    const std::size_t before = std::exchange(sent, server.sent.load());
    sleep_ms(20);
    return before == sent && sent > 0;
  }));
  const double before = process_cpu_seconds();
  for (int i = 0; i < 10; ++i) {
    server.http->wake();
    sleep_ms(10);
  }
  CHECK(server.sent == sent);
  CHECK(process_cpu_seconds() - before < 0.05);
  test::RawClient other = server.client();
  other.get("/v1/status");
  CHECK(has(other.read_until("up"), "200 OK"));
  CHECK(client.read_until("nothing like this", 100).size() > 100'000);
  CHECK(server.sent > sent);
}

// A connection has the user of the thread that made it.
TEST_CASE("one user has a share of the streams, and root as many as there are") {
  if (::geteuid() != 0) SKIP("other users' connections are made by root");
  StreamServer server;
  REQUIRE(::chmod(server.directory.path("").c_str(), 0755) == 0);
  REQUIRE(::chmod(server.socket.path().c_str(), 0666) == 0);
  std::vector<test::RawClient> clients;
  const auto as_user = [&](long user, const std::function<void()>& act) {
    std::thread([&] {
      // Of this thread alone: the C library's own would be of all.
      if (::syscall(SYS_setresuid, -1L, user, -1L) != 0) return;
      act();
    }).join();
  };
  const auto stream_answer = [&] {
    test::RawClient one = server.client();
    one.get("/feed");
    const std::string answer = one.read_until("\r\n\r\n") + one.read_until("as many as one user may", 100);
    clients.push_back(std::move(one));
    return answer;
  };
  for (const long user : {60'001L, 60'002L}) {
    INFO("user " << user);
    unsigned opened = 0;
    std::string last;
    as_user(user, [&] {
      for (unsigned i = 0; i < HttpStreams::kUserLimit; ++i)
        opened += stream_answer().starts_with("HTTP/1.1 200 ") ? 1U : 0U;
      last = stream_answer();
    });
    CHECK(opened == HttpStreams::kUserLimit);
    CHECK(last.starts_with("HTTP/1.1 503 "));
    CHECK(has(last, "as many as one user may"));
  }
  CHECK(server.feed.sources == 2 * HttpStreams::kUserLimit);
  for (unsigned i = 0; i <= HttpStreams::kUserLimit; ++i) CHECK(stream_answer().starts_with("HTTP/1.1 200 "));
  clients.clear();
  CHECK(becomes_true([&] {
    server.http->wake();
    return server.feed.sources == 0;
  }));
  std::string again;
  as_user(60'001, [&] { again = stream_answer(); });
  CHECK(again.starts_with("HTTP/1.1 200 "));
}

TEST_CASE("streams over their limit are refused, and there is room again when one goes") {
  if (::geteuid() != 0) SKIP("only root may have all of them");
  StreamServer server;
  std::vector<test::RawClient> clients;
  for (unsigned i = 0; i < HttpStreams::kLimit; ++i) clients.push_back(server.stream());
  test::RawClient over = server.client();
  over.get("/feed");
  const std::string answer = over.read_until("too many streams");
  CHECK(answer.starts_with("HTTP/1.1 503 "));
  CHECK(server.feed.sources == HttpStreams::kLimit);
  clients.pop_back();
  CHECK(becomes_true([&] {
    server.http->wake();
    return server.feed.sources == HttpStreams::kLimit - 1;
  }));
  const test::RawClient next = server.stream();
  CHECK(becomes_true([&] { return server.feed.sources == HttpStreams::kLimit; }));
}

TEST_CASE("stopping ends every stream properly, also one that nobody reads") {
  StreamServer server;
  test::RawClient waiting = server.stream();
  const test::RawClient stuck = server.stream("/endless");
  CHECK(becomes_true([&] { return server.feed.reads > 0; }));
  server.http.reset();
  CHECK(waiting.read_all().ends_with("0\r\n\r\n"));
  CHECK(waiting.closed());
  CHECK(server.feed.sources == 0);
}

TEST_CASE("wakes from another thread while clients come and go lose nothing") {
  StreamServer server;
  std::atomic<bool> done{false};
  std::thread waker([&] {
    while (!done) {
      server.http->wake();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (int round = 0; round < 100; ++round) {
    test::RawClient client = server.stream();
    test::RawClient rude = server.client();
    rude.send("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string line = "line " + std::to_string(round) + "\n";
    server.feed.put(line);
    CHECK(has(client.read_until(line), line));
    client.disconnect();
    rude.disconnect();
    REQUIRE(becomes_true([&] { return server.feed.sources == 0; }));
  }
  server.http->wake();
  done = true;
  waker.join();
}

}  // namespace noised
