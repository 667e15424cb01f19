// SPDX-License-Identifier: Apache-2.0
// The daemon's HTTP server: GET and HEAD on its listening sockets, POST for root, one thread, plain answers and
// streams.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

#include "base/files.h"
#include "noised/http/http_stream.h"
#include "noised/log.h"

struct MHD_Connection;

namespace noised::daemon {

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::shared_ptr<const std::string> shared_body = nullptr;  ///< if there is one, it is sent instead
  std::string allow = "";                                    ///< of a 405: what may be asked instead
};

/// A response {"error": message} with this status.
HttpResponse http_error(unsigned status, const std::string& message);

/// What a handler can ask about its request; valid only while the handler runs.
class HttpRequest {
 public:
  explicit HttpRequest(MHD_Connection* connection) : connection_(connection) {}
  /// The decoded value of a query parameter: "" for "?name" and "?name=", nothing when it is not there.
  [[nodiscard]] std::optional<std::string> query(const std::string& name) const;
  /// Who connected to a Unix socket; 0 over TCP, and where this PID namespace has no number for it.
  [[nodiscard]] pid_t client() const;
  /// The user who did, as the kernel saw him then; (uid_t)-1 or 0 over TCP.
  [[nodiscard]] uid_t user() const;
  /// Whether root did; false over TCP.
  [[nodiscard]] bool is_root() const;

 private:
  MHD_Connection* connection_;
};

/// A source, or a plain answer that refuses (a bad query parameter).
using StreamReply = std::variant<std::unique_ptr<StreamSource>, HttpResponse>;

/// Handlers run on the HTTP thread and must not block; what they throw becomes a 500.
using PlainHandler = std::function<HttpResponse(const HttpRequest&)>;
using StreamHandler = std::function<StreamReply(const HttpRequest&)>;
/// What changes something: by POST only, and only for root, by the credentials of the socket's peer.
struct RootHandler {
  StreamHandler act;
};

struct HttpRoute {
  std::string path;  ///< exact, "/v1/status"
  std::variant<PlainHandler, StreamHandler, RootHandler> handler;
  std::string stream_content_type = "application/x-ndjson";  ///< of a stream; plain answers carry their own
};

/// What is served on one listening, non-blocking socket; the socket stays the caller's.
struct HttpListener {
  int socket = -1;
  std::vector<HttpRoute> routes;
};

/// Serves until destroyed. Its one thread inherits the creating thread's CPU affinity and scheduling policy, and has
/// all signals blocked.
class HttpServer {
 public:
  /// Serves each listener's routes there and nowhere else. `log` must outlive the server.
  static Result<std::unique_ptr<HttpServer>> start(std::vector<HttpListener> listeners, const Log& log);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Ends the streams, closes the connections and joins the thread; up to 100 ms when a client does not read.
  ~HttpServer();

  /// Makes streams read their sources again; any thread. To be called about every 100 ms also without news: it is how
  /// a stream notices that its client is gone. One relaxed load when there are no streams, else a system call.
  void wake();

 private:
  class Service;

  explicit HttpServer(const Log& log);
  Status start_thread();
  void run();
  void serve(int timeout_ms);
  void notify() const;

  const Log& log_;
  HttpStreams streams_;
  std::vector<std::unique_ptr<Service>> services_;
  Descriptor woken_;  // eventfd
  std::atomic<bool> stopping_{false};
  std::optional<pthread_t> thread_;
};

}  // namespace noised::daemon
