// SPDX-License-Identifier: Apache-2.0
// The HTTP thread shares its address space with the measuring threads, so memory that it gives back to the kernel would
// interrupt them (a TLB shootdown is an IPI to every CPU that runs a thread of the process).
#include "service/http_server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "base/quote.h"

namespace noised {

namespace {

// libmicrohttpd 0.9.75 takes a connection's pool from malloc up to 32 KiB and from mmap above, with a munmap when the
// connection closes. malloc itself is told by the daemon (mallopt) never to give memory back.
constexpr std::size_t kConnectionMemory = 32UL * 1024;
constexpr unsigned kConnections = 64;
constexpr unsigned kIdleSeconds = 15;
// All of the process is locked in memory, stacks too: the default of 8 MiB would be resident.
constexpr std::size_t kStackSize = 256UL * 1024;

void log_message(void* log, const char* format, va_list arguments) {
  std::array<char, 512> text{};
  (void)std::vsnprintf(text.data(), text.size(), format, arguments);
  // Mostly clients that hang up early: no fault of the daemon's.
  static_cast<const Log*>(log)->debug("http: {}", text.data());
}

bool has_body(MHD_Connection* connection) {
  const char* const length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return (length != nullptr && std::string_view(length) != "0") ||
         MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr;
}

MHD_Result queue(MHD_Connection* connection, unsigned status, MHD_Response* response) {
  if (response == nullptr) return MHD_NO;  // no memory: MHD closes the connection
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);  // drops our reference; the connection has its own
  return queued;
}

MHD_Response* make_response(HttpResponse answer) {
  auto body = std::make_unique<std::string>(std::move(answer.body));
  MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), body->data(), [](void* owned) { delete static_cast<std::string*>(owned); }, body.get());
  if (response == nullptr) return nullptr;
  (void)body.release();
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  return response;
}

MHD_Result send(MHD_Connection* connection, HttpResponse answer) {
  const unsigned status = answer.status;
  return queue(connection, status, make_response(std::move(answer)));
}

}  // namespace

// What MHD calls back for each request.
class HttpServer::Dispatch {
 public:
  static MHD_Result answer(void* server, MHD_Connection* connection, const char* path, const char* method, const char*,
                           const char*, std::size_t*, void** request) {
    HttpServer& self = *static_cast<HttpServer*>(server);
    const bool head = std::string_view(method) == MHD_HTTP_METHOD_HEAD;
    try {
      if (*request != nullptr) return route(self, connection, path, head);
      // MHD calls twice: with the headers only, then with the whole request. An answer to the first call makes it drop
      // the rest of the request and close the connection, so a body is never read.
      *request = server;
      if (!head && std::string_view(method) != MHD_HTTP_METHOD_GET) {
        return send(connection, http_error(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are served"));
      }
      if (has_body(connection)) {
        return send(connection, http_error(MHD_HTTP_CONTENT_TOO_LARGE, "requests must not have a body"));
      }
      return MHD_YES;
    } catch (const std::exception& error) {
      self.log_.error("http: {} failed: {}", in_quotes(path), error.what());
      return send(connection, {MHD_HTTP_INTERNAL_SERVER_ERROR, "application/json", R"({"error":"internal error"})"});
    }
  }

 private:
  static MHD_Result route(HttpServer& self, MHD_Connection* connection, std::string_view path, bool head) {
    const auto found = std::find_if(self.routes_.begin(), self.routes_.end(),
                                    [&](const HttpRoute& candidate) { return candidate.path == path; });
    if (found == self.routes_.end()) return send(connection, http_error(MHD_HTTP_NOT_FOUND, "no such path"));
    const HttpRequest request(connection);
    if (const auto* const plain = std::get_if<PlainHandler>(&found->handler)) {
      return send(connection, (*plain)(request));
    }
    StreamReply reply = std::get<StreamHandler>(found->handler)(request);
    if (auto* const refusal = std::get_if<HttpResponse>(&reply)) return send(connection, std::move(*refusal));
    if (head) return send(connection, {MHD_HTTP_OK, found->stream_content_type, ""});
    return open_stream(self, connection, *found, std::get<std::unique_ptr<StreamSource>>(std::move(reply)));
  }

  static MHD_Result open_stream(HttpServer& self, MHD_Connection* connection, const HttpRoute& route,
                                std::unique_ptr<StreamSource> source) {
    MHD_Response* const response = self.streams_.open(connection, std::move(source));
    if (response == nullptr) {
      return send(connection, http_error(MHD_HTTP_SERVICE_UNAVAILABLE, "too many streams are open"));
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, route.stream_content_type.c_str());
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    // A reader may pause (a pager) for as long as it likes; a Unix socket always tells when it is gone.
    (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    return queue(connection, MHD_HTTP_OK, response);
  }
};

HttpResponse http_error(unsigned status, const std::string& message) {
  const nlohmann::json body = {{"error", message}};
  using Handler = nlohmann::json::error_handler_t;
  return {status, "application/json", body.dump(-1, ' ', false, Handler::replace) + "\n"};
}

std::optional<std::string> HttpRequest::query(const std::string& name) const {
  const char* value = nullptr;
  std::size_t size = 0;
  if (MHD_lookup_connection_value_n(connection_, MHD_GET_ARGUMENT_KIND, name.c_str(), name.size(), &value, &size) ==
      MHD_NO) {
    return std::nullopt;
  }
  return value == nullptr ? std::string() : std::string(value, size);
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(int listening, std::vector<HttpRoute> routes, const Log& log) {
  Descriptor own(::fcntl(listening, F_DUPFD_CLOEXEC, 0));
  if (!own) return failure("cannot duplicate the listening socket: " + errno_text(errno));
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(routes), log));

  // A new thread inherits the mask: signals stay with the threads that wait for them.
  sigset_t all;
  sigset_t before;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  // epoll: its arrays live in the daemon, while the poll mode allocates one for each turn of its loop.
  server->daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr, nullptr,
      &Dispatch::answer, server.get(), MHD_OPTION_EXTERNAL_LOGGER, &log_message, &log, MHD_OPTION_LISTEN_SOCKET,
      own.get(), MHD_OPTION_CONNECTION_LIMIT, kConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,
      MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_THREAD_STACK_SIZE, kStackSize,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
  const int error = errno;
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (server->daemon_ == nullptr) return failure("cannot start the HTTP server: " + errno_text(error));
  (void)own.release();  // MHD_stop_daemon closes it
  return server;
}

HttpServer::~HttpServer() {
  if (daemon_ == nullptr) return;
  streams_.stop();
  MHD_stop_daemon(daemon_);
}

}  // namespace noised
