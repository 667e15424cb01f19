// SPDX-License-Identifier: Apache-2.0
// A raw client: sends bytes, reads bytes, so that a test can be as rude as it likes.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/files.h"

namespace noised::test {

class RawClient {
 public:
  explicit RawClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("connect " + path + ": " + std::strerror(errno));
    }
  }

  /// Over TCP, to a port of this machine.
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("connect to port " + std::to_string(port) + ": " + std::strerror(errno));
    }
  }

  bool send(const std::string& bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  void get(const std::string& target) { send("GET " + target + " HTTP/1.1\r\nHost: noised\r\n\r\n"); }

  /// Reads until `text` was received, the server closes, or the time is over; what was received since the last call.
  std::string read_until(const std::string& text, int milliseconds = 2000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    std::string received;
    while (received.find(text) == std::string::npos) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !read_some(received, static_cast<int>(left.count()))) break;
    }
    return received;
  }
  /// Reads until the server closes; empty, with closed() false, when it does not within the time.
  std::string read_all(int milliseconds = 2000) { return read_until(std::string(1, '\xff'), milliseconds); }
  [[nodiscard]] bool closed() const { return closed_; }
  void disconnect() { socket_.reset(); }

 private:
  bool read_some(std::string& received, int milliseconds) {
    pollfd state{socket_.get(), POLLIN, 0};
    if (::poll(&state, 1, milliseconds) <= 0) return false;
    std::array<char, 65536> buffer{};
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    closed_ = got <= 0;
    if (got > 0) received.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  Descriptor socket_;
  bool closed_ = false;
};

}  // namespace noised::test
