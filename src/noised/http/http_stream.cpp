// SPDX-License-Identifier: Apache-2.0
// Relies on libmicrohttpd 0.9.75: a content reader may suspend its own connection and return 0; a suspended connection
// has no timeout and is not freed; MHD_stop_daemon aborts when one is left.
#include "noised/http/http_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <microhttpd.h>

#include "base/clocks.h"

namespace noised::daemon {
namespace {

// Closed connections leave libmicrohttpd's count only when it comes by: with some to spare, a new client need not wait.
constexpr std::size_t kSpare = 8;

// libmicrohttpd 0.9.75 does not see that over TCP when it came together with the last bytes: its epoll set tells of a
// change once, and after a read that was not filled it waits for the next.
bool will_say_no_more(int socket) {
  char next = 0;
  return ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

void HttpConnections::close(Connection& connection) {
  (void)::shutdown(connection.socket, SHUT_RDWR);
  connection.closing = true;
}

// So many more than there should be stay open.
std::size_t HttpConnections::crowd() const {
  const auto open =
      std::count_if(connections_.begin(), connections_.end(), [](const Connection& each) { return !each.closing; });
  const std::size_t most = kLimit - kSpare;
  return static_cast<std::size_t>(open) > most ? static_cast<std::size_t>(open) - most : 0;
}

HttpConnections::Connection* HttpConnections::next_to_go(std::uint64_t now_ns) {
  Connection* next = nullptr;
  for (Connection& each : connections_) {
    if (each.streaming || each.closing || now_ns - each.since_ns < kLeastNs) continue;
    if (next == nullptr || std::pair(each.answering, each.since_ns) < std::pair(next->answering, next->since_ns))
      next = &each;
  }
  return next;
}

void HttpConnections::make_room(std::uint64_t now_ns) {
  for (std::size_t more = crowd(); more > 0; --more) {
    Connection* const next = next_to_go(now_ns);
    if (next == nullptr) return;
    close(*next);
  }
}

std::uint64_t HttpConnections::makes_room_ns() const {
  std::uint64_t first_ns = UINT64_MAX;
  if (crowd() == 0) return first_ns;
  for (const Connection& each : connections_) {
    if (!each.streaming && !each.closing) first_ns = std::min(first_ns, each.since_ns + kLeastNs);
  }
  return first_ns;
}

HttpConnections::Connection* HttpConnections::opened(int socket, std::uint64_t now_ns) {
  connections_.push_back({.socket = socket, .since_ns = now_ns});
  make_room(now_ns);
  return &connections_.back();
}

void HttpConnections::closed(Connection* connection) {
  connections_.remove_if([&](const Connection& each) { return &each == connection; });
}

void HttpConnections::answered(Connection& connection, std::uint64_t now_ns) {
  connection.since_ns = now_ns;
  connection.answering = false;
  connection.answered = true;
}

void HttpConnections::streamed(Connection& connection, bool idle, std::uint64_t now_ns) {
  connection.since_ns = now_ns;
  connection.idle = idle;
}

void HttpConnections::expire(std::uint64_t now_ns) {
  make_room(now_ns);
  for (Connection& each : connections_) {
    if (each.closing) continue;
    const std::uint64_t held_ns = now_ns - each.since_ns;
    if (each.streaming) {
      if (!each.idle && held_ns > kUnreadNs) close(each);
      continue;
    }
    const bool too_long = held_ns > (each.answered ? kNextRequestNs : kFirstRequestNs);
    if (too_long || (held_ns > kFinishedNs && !each.answering && will_say_no_more(each.socket))) close(each);
  }
}

namespace {

// Only HTTP/1.0 clients, which cannot take chunks, use this buffer; the others use the connection's own pool.
constexpr std::size_t kBlockSize = 4096;

// Nobody watches the socket of a suspended stream, so each wake has to look whether its client is still there.
bool client_is_gone(int socket) {
  pollfd state{socket, 0, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace

class HttpStreams::Stream {
 public:
  Stream(HttpStreams& streams, MHD_Connection* connection, HttpConnections::Connection& entry, uid_t user,
         std::unique_ptr<StreamSource> source)
      : streams_(streams), connection_(connection), entry_(entry), user_(user), source_(std::move(source)) {
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    socket_ = info == nullptr ? -1 : info->connect_fd;
    streams_.open_.fetch_add(1, std::memory_order_relaxed);
    ++streams_.open_of_[user_];
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    streams_.open_.fetch_sub(1, std::memory_order_relaxed);
    if (--streams_.open_of_[user_] == 0) streams_.open_of_.erase(user_);
  }

  static ssize_t read(void* stream, std::uint64_t, char* buffer, std::size_t capacity) {
    return static_cast<Stream*>(stream)->fill(buffer, capacity);
  }
  static void free(void* stream) { delete static_cast<Stream*>(stream); }

 private:
  ssize_t fill(char* buffer, std::size_t capacity) {
    std::size_t got = 0;
    try {
      got = source_->read(buffer, capacity);
    } catch (const std::exception&) {
      return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    HttpConnections::streamed(entry_, got == 0, monotonic_ns());
    if (got == StreamSource::kEnd) return MHD_CONTENT_READER_END_OF_STREAM;
    if (got > 0) return static_cast<ssize_t>(got);
    if (client_is_gone(socket_)) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (streams_.stopping_) return MHD_CONTENT_READER_END_OF_STREAM;
    // A wake since the source was read is not lost: it resumes this stream when the thread comes by.
    MHD_suspend_connection(connection_);
    streams_.suspended_.push_back(connection_);
    return 0;
  }

  HttpStreams& streams_;
  MHD_Connection* connection_;
  HttpConnections::Connection& entry_;  // goes after the stream
  uid_t user_;
  std::unique_ptr<StreamSource> source_;
  int socket_ = -1;
};

HttpStreams::HttpStreams() { suspended_.reserve(kLimit); }

std::string HttpStreams::refusal(uid_t user) const {
  if (open_.load(std::memory_order_relaxed) >= kLimit) return "too many streams are open";
  const auto own = open_of_.find(user);
  if (user == 0 || own == open_of_.end() || own->second < kUserLimit) return {};
  return fmt::format("you have {} streams open, as many as one user may: end one", own->second);
}

MHD_Response* HttpStreams::open(MHD_Connection* connection, HttpConnections::Connection& entry, uid_t user,
                                std::unique_ptr<StreamSource> source) {
  auto stream = std::make_unique<Stream>(*this, connection, entry, user, std::move(source));
  MHD_Response* const response =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kBlockSize, Stream::read, stream.get(), Stream::free);
  if (response != nullptr) (void)stream.release();
  return response;
}

void HttpStreams::resume() {
  for (MHD_Connection* const connection : suspended_) MHD_resume_connection(connection);
  suspended_.clear();
}

}  // namespace noised::daemon
