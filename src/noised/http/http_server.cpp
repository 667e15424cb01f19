// SPDX-License-Identifier: Apache-2.0
// The HTTP thread shares its address space with the measuring threads, so memory that it gives back to the kernel would
// interrupt them (a TLB shootdown is an IPI to every CPU that runs a thread of the process).
#include "noised/http/http_server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/clocks.h"
#include "base/text.h"
#include "noised/http/http_stream.h"

namespace noised::daemon {
namespace {

// libmicrohttpd 0.9.75 takes a connection's pool from malloc up to 32 KiB and from mmap above, with a munmap when the
// connection closes. malloc itself is told by the daemon (mallopt) never to give memory back.
constexpr std::size_t kConnectionMemory = 32UL * 1024;
// Without a byte; http_connections.h limits the rest. A monitoring server's connection is idle between two scrapes.
constexpr unsigned kIdleSeconds = 125;
// All of the process is locked in memory, stacks too: the default of 8 MiB would be resident.
constexpr std::size_t kStackSize = 256UL * 1024;
// How often connections are looked at, while there are any.
constexpr int kLookMs = 1000;
constexpr int kTurns = 16;
constexpr std::size_t kServices = 2;

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

HttpResponse not_allowed(const std::string& allow) {
  HttpResponse refusal = http_error(MHD_HTTP_METHOD_NOT_ALLOWED, "only " + allow + " is served here");
  refusal.allow = allow;
  return refusal;
}

// Who connected, as the kernel saw it at that time; nobody over TCP.
ucred peer_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  ucred peer{};
  socklen_t size = sizeof(peer);
  const bool told = ::getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof(peer);
  return told ? peer : ucred{};
}

bool is_roots(MHD_Connection* connection) {
  const ucred peer = peer_of(connection);
  return peer.pid != 0 && peer.uid == 0;
}

MHD_Result queue(MHD_Connection* connection, unsigned status, MHD_Response* response) {
  if (response == nullptr) return MHD_NO;  // no memory: MHD closes the connection
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);  // drops our reference; the connection has its own
  return queued;
}

MHD_Response* make_response(HttpResponse answer) {
  using Body = std::shared_ptr<const std::string>;
  if (!answer.shared_body) answer.shared_body = std::make_shared<const std::string>(std::move(answer.body));
  auto body = std::make_unique<Body>(std::move(answer.shared_body));
  MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
      (*body)->size(), const_cast<char*>((*body)->data()),  // it only reads
      [](void* owned) { delete static_cast<Body*>(owned); }, body.get());
  if (response == nullptr) return nullptr;
  (void)body.release();
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  if (!answer.allow.empty()) (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, answer.allow.c_str());
  return response;
}

MHD_Result send(MHD_Connection* connection, HttpResponse answer) {
  const unsigned status = answer.status;
  return queue(connection, status, make_response(std::move(answer)));
}

}  // namespace

// One listening socket: libmicrohttpd's daemon for it, and what that calls back. Its epoll set is waited for together
// with the others'.
class HttpServer::Service {
 public:
  Service(HttpServer& server, std::vector<HttpRoute> routes) : server_(server), routes_(std::move(routes)) {}
  ~Service() {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Status start(int listening) {
    Descriptor own(::fcntl(listening, F_DUPFD_CLOEXEC, 0));
    if (!own) return failure("cannot duplicate the listening socket: " + errno_text(errno));
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr, nullptr, &Service::answer, this,
        MHD_OPTION_EXTERNAL_LOGGER, &log_message, &server_.log_, MHD_OPTION_LISTEN_SOCKET, own.get(),
        MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(HttpConnections::kLimit), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        kConnectionMemory, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_NOTIFY_CONNECTION,
        &Service::connection_changed, this, MHD_OPTION_NOTIFY_COMPLETED, &Service::request_completed, this,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (daemon_ == nullptr) return failure("cannot start the HTTP server: " + errno_text(errno));
    (void)own.release();  // MHD_stop_daemon closes it
    return success();
  }

  [[nodiscard]] int descriptor() const { return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd; }
  // How long it can wait for its descriptor; -1: for ever.
  [[nodiscard]] int timeout_ms() {
    if (busy_) return 0;
    MHD_UNSIGNED_LONG_LONG milliseconds = kLookMs;
    if (MHD_get_timeout(daemon_, &milliseconds) != MHD_YES && connections_.size() == 0) return -1;
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t room_ns = std::max(connections_.makes_room_ns(), now_ns) - now_ns;
    return static_cast<int>(std::min<std::uint64_t>({milliseconds, kLookMs, room_ns / 1'000'000 + 1}));
  }
  void serve() {
    // At its limit, libmicrohttpd listens again only in the run after the one in which connections were closed.
    // Bounded, so that a flood here leaves time for the other listener.
    busy_ = true;
    for (int turn = 0; turn < kTurns && busy_; ++turn) {
      const std::uint64_t before = changes_;
      MHD_run(daemon_);
      busy_ = changes_ != before && !server_.stopping_;  // at the end, one turn each for what is still open
    }
    connections_.expire(monotonic_ns());
  }

 private:
  static void connection_changed(void* service, MHD_Connection* connection, void** context,
                                 MHD_ConnectionNotificationCode change) {
    Service& self = *static_cast<Service*>(service);
    HttpConnections& connections = self.connections_;
    ++self.changes_;
    if (change == MHD_CONNECTION_NOTIFY_STARTED) {
      const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
      *context = connections.opened(info->connect_fd, monotonic_ns());
    } else {
      connections.closed(static_cast<HttpConnections::Connection*>(*context));
    }
  }

  static HttpConnections::Connection& entry_of(MHD_Connection* connection) {
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return *static_cast<HttpConnections::Connection*>(info->socket_context);
  }

  static void request_completed(void*, MHD_Connection* connection, void**, MHD_RequestTerminationCode) {
    HttpConnections::answered(entry_of(connection), monotonic_ns());
  }

  static MHD_Result answer(void* service, MHD_Connection* connection, const char* path, const char* method, const char*,
                           const char*, std::size_t*, void** request) {
    Service& self = *static_cast<Service*>(service);
    try {
      const HttpRoute* const found = self.find(path);
      if (*request != nullptr) return self.serve_route(connection, found, method);
      // MHD calls twice: with the headers only, then with the whole request. An answer to the first call makes it drop
      // the rest of the request and close the connection, so a body is never read.
      *request = service;
      HttpConnections::asked(entry_of(connection));
      if (const auto refusal = refuse(connection, found, method)) return send(connection, *refusal);
      return MHD_YES;
    } catch (const std::exception& error) {
      self.server_.log_.error("http: {} failed: {}", in_quotes(path), error.what());
      return send(connection, {MHD_HTTP_INTERNAL_SERVER_ERROR, "application/json", R"({"error":"internal error"})"});
    }
  }

  static std::optional<HttpResponse> refuse(MHD_Connection* connection, const HttpRoute* route,
                                            std::string_view method) {
    if (route != nullptr && std::holds_alternative<RootHandler>(route->handler)) {
      if (method != MHD_HTTP_METHOD_POST) return not_allowed("POST");
      if (!is_roots(connection)) return http_error(MHD_HTTP_FORBIDDEN, "only root may do this");
    } else if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
      return not_allowed("GET, HEAD");
    }
    if (has_body(connection)) return http_error(MHD_HTTP_CONTENT_TOO_LARGE, "requests must not have a body");
    return std::nullopt;
  }

  [[nodiscard]] const HttpRoute* find(std::string_view path) const {
    const auto found = std::find_if(routes_.begin(), routes_.end(),
                                    [&](const HttpRoute& candidate) { return candidate.path == path; });
    return found == routes_.end() ? nullptr : &*found;
  }

  MHD_Result serve_route(MHD_Connection* connection, const HttpRoute* route, std::string_view method) {
    if (route == nullptr) return send(connection, http_error(MHD_HTTP_NOT_FOUND, "no such path"));
    const HttpRequest request(connection);
    if (const auto* const plain = std::get_if<PlainHandler>(&route->handler)) {
      return send(connection, (*plain)(request));
    }
    const auto* const root = std::get_if<RootHandler>(&route->handler);
    StreamReply reply = root != nullptr ? root->act(request) : std::get<StreamHandler>(route->handler)(request);
    if (auto* const refusal = std::get_if<HttpResponse>(&reply)) return send(connection, std::move(*refusal));
    if (method == MHD_HTTP_METHOD_HEAD) return send(connection, {MHD_HTTP_OK, route->stream_content_type, ""});
    return open_stream(connection, *route, std::get<std::unique_ptr<StreamSource>>(std::move(reply)));
  }

  MHD_Result open_stream(MHD_Connection* connection, const HttpRoute& route, std::unique_ptr<StreamSource> source) {
    const ucred peer = peer_of(connection);
    const uid_t user = peer.pid == 0 ? HttpStreams::kNobodyKnown : peer.uid;
    if (const std::string refusal = server_.streams_.refusal(user); !refusal.empty())
      return send(connection, http_error(MHD_HTTP_SERVICE_UNAVAILABLE, refusal));
    HttpConnections::Connection& entry = entry_of(connection);
    MHD_Response* const response = server_.streams_.open(connection, entry, user, std::move(source));
    if (response == nullptr) return MHD_NO;  // no memory
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, route.stream_content_type.c_str());
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    // A reader may pause (a pager): HttpConnections ends what is not read. A Unix socket tells when it is gone.
    (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
    HttpConnections::streamed(entry, false, monotonic_ns());
    entry.streaming = true;
    return queue(connection, MHD_HTTP_OK, response);
  }

  HttpServer& server_;
  std::vector<HttpRoute> routes_;
  HttpConnections connections_;
  std::uint64_t changes_ = 0;  // connections opened and closed
  bool busy_ = false;          // there may be more to do at once
  MHD_Daemon* daemon_ = nullptr;
};

HttpResponse http_error(unsigned status, const std::string& message) {
  const nlohmann::json body = {{"error", message}};
  using Handler = nlohmann::json::error_handler_t;
  return {status, "application/json", body.dump(-1, ' ', false, Handler::replace) + "\n"};
}

bool HttpRequest::is_root() const { return is_roots(connection_); }

uid_t HttpRequest::user() const { return peer_of(connection_).uid; }

pid_t HttpRequest::client() const { return peer_of(connection_).pid; }

std::optional<std::string> HttpRequest::query(const std::string& name) const {
  const char* value = nullptr;
  std::size_t size = 0;
  if (MHD_lookup_connection_value_n(connection_, MHD_GET_ARGUMENT_KIND, name.c_str(), name.size(), &value, &size) ==
      MHD_NO) {
    return std::nullopt;
  }
  return value == nullptr ? std::string() : std::string(value, size);
}

HttpServer::HttpServer(const Log& log) : log_(log) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::vector<HttpListener> listeners, const Log& log) {
  assert(listeners.size() <= kServices);
  std::unique_ptr<HttpServer> server(new HttpServer(log));
  for (HttpListener& listener : listeners) {
    server->services_.push_back(std::make_unique<Service>(*server, std::move(listener.routes)));
    if (Status started = server->services_.back()->start(listener.socket); !started) return started.error();
  }
  if (Status started = server->start_thread(); !started) return started.error();
  return server;
}

Status HttpServer::start_thread() {
  woken_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!woken_) return failure("eventfd: " + errno_text(errno));
  // A new thread inherits the mask: signals stay with the threads that wait for them.
  sigset_t all;
  sigset_t before;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  (void)::pthread_attr_init(&attributes);
  (void)::pthread_attr_setstacksize(&attributes, kStackSize);
  pthread_t thread{};
  const int error = ::pthread_create(
      &thread, &attributes,
      [](void* server) -> void* {
        (void)::pthread_setname_np(::pthread_self(), "noised/http");
        static_cast<HttpServer*>(server)->run();
        return nullptr;
      },
      this);
  (void)::pthread_attr_destroy(&attributes);
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return failure("cannot start the HTTP thread: " + errno_text(error));
  thread_ = thread;
  return success();
}

void HttpServer::notify() const {
  const std::uint64_t one = 1;
  (void)!::write(woken_.get(), &one, sizeof(one));
}

void HttpServer::wake() {
  if (streams_.any()) notify();
}

void HttpServer::run() {
  while (!stopping_.load(std::memory_order_acquire)) serve(-1);
  // A client that does not read cannot be told; the server then just closes its connection.
  streams_.stop();
  for (int i = 0; i < 100 && streams_.any(); ++i) {
    streams_.resume();
    serve(1);
  }
}

void HttpServer::serve(int timeout_ms) {
  std::array<pollfd, kServices + 1> waiting{};
  waiting[0] = {woken_.get(), POLLIN, 0};
  for (std::size_t i = 0; i < services_.size(); ++i) {
    waiting[i + 1] = {services_[i]->descriptor(), POLLIN, 0};
    const int sooner_ms = services_[i]->timeout_ms();
    if (sooner_ms >= 0 && (timeout_ms < 0 || sooner_ms < timeout_ms)) timeout_ms = sooner_ms;
  }
  (void)::poll(waiting.data(), services_.size() + 1, timeout_ms);
  if ((waiting[0].revents & POLLIN) != 0) {
    std::uint64_t wakes = 0;
    (void)!::read(woken_.get(), &wakes, sizeof(wakes));
    streams_.resume();
  }
  for (const auto& service : services_) service->serve();
}

HttpServer::~HttpServer() {
  if (!thread_) return;
  stopping_.store(true, std::memory_order_release);
  notify();
  (void)::pthread_join(*thread_, nullptr);
}

}  // namespace noised::daemon
