// SPDX-License-Identifier: Apache-2.0
// Requests of any bytes to the daemon's own routes, over its Unix socket and over TCP, in one piece or in many. One
// server serves the whole process: what a request leaves behind is there for the next. libmicrohttpd is not
// instrumented; what guides the fuzzer is our part of a request.
#include <sys/eventfd.h>

#include <charconv>
#include <cstring>
#include <thread>

#include <nlohmann/json.hpp>

#include "listening.h"
#include "noised/api/api.h"
#include "noised/api/web.h"

using namespace noised;
using namespace noised::account;
using namespace noised::daemon;
using namespace noised::recording;
using fuzz::check;

namespace {

constexpr unsigned kLook = 64;      // after so many inputs, a good request, and patience
constexpr int kPatienceMs = 4'000;  // for what must come
constexpr int kLaterMs = 50;        // for what comes unless the machine is busy
constexpr int kSoonMs = 2;          // for what may come; a stream that says nothing for so long only follows
constexpr int kPieces = 16;
constexpr int kDescriptors = 16;  // more connections than this are not one that is served and a few that close
constexpr std::string_view kGood = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

// What the routes read, and the thread that answers them in place of the pipeline.
class Measured {
 public:
  Measured() {
    DetourLedger ledger;
    for (std::uint64_t i = 1; i <= 100; ++i) {
      ledger.detour = {i * 1'000'000, i * 1'000'000 + i * 100, false};
      ledger.explained_ns = i * 100;
      ledger.entries.assign(1, {.source = task_, .kind = Kind::task, .self_ns = i * 100, .id = i});
      to_feed(1, ledger, sources_, {}, feed_.stage());
      statistics_.add_source(task_, Kind::task, i * 100);
      statistics_.add_detour({.end_ns = i * 100}, {.explained_ns = i * 100});
      statistics_.add_combination(std::array{task_}, i * 100);
    }
    feed_.commit();
    reloads_.close();  // there is nothing to reload: who asks is told so at once
    phases_.close();   // and no probe that could run phases
  }
  [[nodiscard]] std::vector<HttpRoute> pages() { return web_.routes(); }
  [[nodiscard]] std::vector<HttpRoute> all_routes() {
    std::vector<HttpRoute> routes =
        make_routes({snapshots_, feed_, sources_, run_, settings_, reloads_, recorder_, phases_, names_});
    for (HttpRoute& page : pages()) routes.push_back(std::move(page));
    return routes;
  }

 private:
  void answer(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd asked{snapshots_.asked_descriptor(), POLLIN, 0};
      eventfd_t count = 0;
      if (::poll(&asked, 1, 100) > 0) (void)::eventfd_read(asked.fd, &count);
      if (snapshots_.take_asked()) snapshots_.answer([this](Snapshot& snapshot) { fill(snapshot); });
    }
  }
  void fill(Snapshot& snapshot) const {
    snapshot.cpus.resize(1);
    snapshot.cpus[0].cpu = 1;
    statistics_.copy_to(snapshot.cpus[0].statistics);
  }

  SourceTable sources_;
  SourceId task_ = sources_.intern(Kind::task, "crond");
  CpuStatistics statistics_;
  DetourFeed feed_;
  SnapshotExchange snapshots_;
  ReloadExchange reloads_;
  PhaseExchange phases_;
  RunDescription run_{"node", "6.1", "2026-01-01T00:00:00Z", {}};
  StatusView settings_;
  Recorder recorder_{sources_, settings_, {}};
  NameRule names_{nullptr};
  Web web_{snapshots_, {sources_}, run_, 100, 0};
  std::jthread pipeline_{[this](const std::stop_token& stop) { answer(stop); }};
};

struct Daemon {
  Measured measured;
  Log log{LogLevel::error, -1};
  fuzz::Listening unix_socket{AF_UNIX};
  fuzz::Listening tcp_socket{AF_INET};
  std::unique_ptr<HttpServer> http = start();
  int first_descriptor = unix_socket.connect().descriptor();

  std::unique_ptr<HttpServer> start() {
    auto started = HttpServer::start(
        {{unix_socket.descriptor(), measured.all_routes()}, {tcp_socket.descriptor(), measured.pages()}}, log);
    check(started.ok(), "the server starts");
    return std::move(started).value();
  }
};

// Everything that comes back until the server closes the connection, or only follows. An end that comes together with
// the last bytes is seen a second or two later only (http_connections.cpp): few inputs can wait for that.
std::string read_answer(fuzz::Client& client, bool patient) {
  std::string answer;
  (void)client.read(answer, kSoonMs);
  client.finish();
  bool streams = false;
  do {
    streams = streams || answer.find("application/x-ndjson") != std::string::npos ||
              answer.find("application/octet-stream") != std::string::npos;
  } while (client.read(answer, streams ? kSoonMs : patient ? kPatienceMs : kLaterMs));
  check(client.closed() || streams || !patient, "the server closes what the client has closed", answer);
  return answer;
}

std::string_view value_of(std::string_view head, std::string_view name) {
  const std::size_t at = head.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view value = head.substr(at + name.size());
  return value.substr(0, value.find("\r\n"));
}

// To the first of the requests, which is a GET.
void check_json(std::string_view answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  if (end == std::string_view::npos) return;
  const std::string_view head = answer.substr(0, end + 2);
  std::string_view body = answer.substr(end + 4);
  const std::string_view length = value_of(head, "\r\nContent-Length: ");
  std::size_t size = 0;
  std::from_chars(length.data(), length.data() + length.size(), size);
  if (value_of(head, "\r\nContent-Type: ") != "application/json" || size > body.size()) return;
  body = body.substr(0, size);
  check(nlohmann::json::accept(body), "JSON is JSON", body);
  check(body.find('\n') == body.size() - 1, "JSON is one line", body);
}

void ask(const Daemon& daemon, std::string_view request, bool tcp, std::size_t piece, bool patient) {
  fuzz::Client client = (tcp ? daemon.tcp_socket : daemon.unix_socket).connect();
  check(client.descriptor() < daemon.first_descriptor + kDescriptors, "connections do not pile up");
  std::string_view rest = request;
  for (int i = 1; i < kPieces && piece != 0 && rest.size() > piece && client.send(rest.substr(0, piece)); ++i) {
    rest.remove_prefix(piece);
    std::this_thread::yield();
  }
  client.send(rest);
  const std::string answer = read_answer(client, patient);
  check(answer.empty() || answer.starts_with("HTTP/1."), "the answer is HTTP, or nothing", answer);
  check(answer.find(" 500 ") != std::strlen("HTTP/1.1"), "no handler throws", answer);
  if (request.starts_with("GET ")) check_json(answer);
  if (patient && request == kGood)
    check(answer.starts_with("HTTP/1.1 200 "), "a good request has a good answer", answer);
}

}  // namespace

extern "C" int fuzz_http(const std::uint8_t* data, std::size_t size) {
  static Daemon daemon;
  static unsigned inputs = 0;
  if (size == 0) return 0;
  const bool look = inputs++ % kLook == 0;
  ask(daemon, fuzz::text(data + 1, size - 1), (data[0] & 1U) != 0, data[0] >> 1U, look);
  daemon.http->wake();  // as the daemon does: a stream looks whether its client is gone
  if (look) {
    ask(daemon, kGood, false, 0, true);
    ask(daemon, kGood, true, 0, true);
  }
  return 0;
}
