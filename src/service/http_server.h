// SPDX-License-Identifier: Apache-2.0
// The daemon's HTTP server: GET and HEAD on a listening socket, one thread, plain answers and streams.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <noised/result.h>

#include "service/http_stream.h"
#include "service/log.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace noised {

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
};

/// A response {"error": message} with this status.
HttpResponse http_error(unsigned status, const std::string& message);

/// What a handler can ask about its request; valid only while the handler runs.
class HttpRequest {
 public:
  explicit HttpRequest(MHD_Connection* connection) : connection_(connection) {}
  /// The decoded value of a query parameter: "" for "?name" and "?name=", nothing when it is not there.
  [[nodiscard]] std::optional<std::string> query(const std::string& name) const;

 private:
  MHD_Connection* connection_;
};

/// A source, or a plain answer that refuses (a bad query parameter).
using StreamReply = std::variant<std::unique_ptr<StreamSource>, HttpResponse>;

/// Handlers run on the HTTP thread and must not block; what they throw becomes a 500.
using PlainHandler = std::function<HttpResponse(const HttpRequest&)>;
using StreamHandler = std::function<StreamReply(const HttpRequest&)>;

struct HttpRoute {
  std::string path;  ///< exact, "/v1/status"
  std::variant<PlainHandler, StreamHandler> handler;
  std::string stream_content_type = "application/x-ndjson";  ///< of a stream; plain answers carry their own
};

/// Serves until destroyed. Its one thread inherits the creating thread's CPU affinity and scheduling policy, and has
/// all signals blocked.
class HttpServer {
 public:
  /// Serves the routes on a listening, non-blocking socket, which stays the caller's. `log` must outlive the server.
  static Result<std::unique_ptr<HttpServer>> start(int listening, std::vector<HttpRoute> routes, const Log& log);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Ends the streams, closes the connections and joins the thread; up to 100 ms when a client does not read.
  ~HttpServer();

  /// Makes streams read their sources again; any thread. To be called about every 100 ms also without news: it is how
  /// a stream notices that its client is gone. One relaxed load when there are no streams.
  void wake() { streams_.wake(); }

 private:
  class Dispatch;

  HttpServer(std::vector<HttpRoute> routes, const Log& log) : routes_(std::move(routes)), log_(log) {}

  std::vector<HttpRoute> routes_;
  const Log& log_;
  HttpStreams streams_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace noised
