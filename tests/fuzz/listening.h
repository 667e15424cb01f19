// SPDX-License-Identifier: Apache-2.0
// Listening sockets for fuzzers of a server, and the client's end of a connection.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/files.h"
#include "fuzz.h"

namespace noised::fuzz {

/// Calls until libFuzzer's alarm does not interrupt it.
template <typename Call>
int again(Call call) {
  int result = -1;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

/// The client's end.
class Client {
 public:
  explicit Client(Descriptor socket) : socket_(std::move(socket)) {
    // Closing resets a TCP connection: it ends at once, and its port is free for the next.
    const linger at_once{1, 0};
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// False if the server takes no more.
  bool send(std::string_view bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  void finish() { (void)::shutdown(socket_.get(), SHUT_WR); }
  /// Adds what comes next to `received`; false if nothing did within the time, or the server closed the connection.
  bool read(std::string& received, int milliseconds) {
    pollfd state{socket_.get(), POLLIN, 0};
    if (again([&] { return ::poll(&state, 1, milliseconds); }) <= 0) return false;
    std::array<char, 16384> buffer;
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    closed_ = got <= 0;
    if (got > 0) received.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  Descriptor socket_;
  bool closed_ = false;
};

/// A listening socket where the kernel likes, so that no two fuzzers want the same place: AF_UNIX or AF_INET.
class Listening {
 public:
  explicit Listening(int family) : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    address_.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) reinterpret_cast<sockaddr_in*>(&address_)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sa_family_t);
    check(::bind(socket_.get(), address, size) == 0 && ::listen(socket_.get(), SOMAXCONN) == 0, "the socket listens");
    check(::getsockname(socket_.get(), address, &size_) == 0, "the socket has an address");
  }

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] Client connect() const {
    Descriptor client(::socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* const address = reinterpret_cast<const sockaddr*>(&address_);
    const int connected = again([&] { return ::connect(client.get(), address, size_); });
    check(connected == 0, "the server accepts", std::strerror(errno));
    return Client(std::move(client));
  }

 private:
  Descriptor socket_;
  sockaddr_storage address_{};
  socklen_t size_ = sizeof(address_);
};

}  // namespace noised::fuzz
