// SPDX-License-Identifier: Apache-2.0
// Numeric addresses by getaddrinfo(3).
#include "noised/http/tcp_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/text.h"

namespace noised::daemon {
namespace {

// Those that wait while 64 are served; a handshake that finds no room is tried again after a second.
constexpr int kTcpBacklog = 1024;

struct FreeAddress {
  void operator()(addrinfo* address) const { ::freeaddrinfo(address); }
};
using Address = std::unique_ptr<addrinfo, FreeAddress>;

Error not_an_address(const std::string& text) {
  return usage_error(in_quotes(text) + " is not an address to listen on",
                     "write such as 127.0.0.1:10077, [::1]:10077, or :10077 for all addresses");
}

bool is_port(const std::string& text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

Result<Address> resolve(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return not_an_address(text);
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // Without brackets the colons of an IPv6 address could be the port's.
  if (!is_port(port) || (!bracketed && host.find_first_of(":[]") != std::string::npos)) return not_an_address(text);
  addrinfo hints{};
  hints.ai_family = bracketed ? AF_INET6 : host.empty() ? AF_UNSPEC : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) {
    return not_an_address(text);
  }
  return Address(found);
}

// None, with errno, if that fails.
Descriptor listen_at(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  const int on = 1;
  const int off = 0;
  // A daemon that was just stopped leaves connections in TIME_WAIT.
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6) (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 || ::listen(socket.get(), kTcpBacklog) != 0) {
    const int error = errno;
    socket.reset();
    errno = error;
  }
  return socket;
}

bool is_loopback(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address.ai_addr);
    return (ntohl(v4->sin_addr.s_addr) >> 24U) == 127;
  }
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address.ai_addr);
  return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) != 0;
}

}  // namespace

Status check_listen_address(const std::string& address) {
  auto resolved = resolve(address);
  return resolved ? success() : Status(resolved.error());
}

Result<Descriptor> listen_tcp(const std::string& address) {
  auto resolved = resolve(address);
  if (!resolved) return resolved.error();
  // Without a host there is an address of each family: an IPv6 socket takes both, where the machine has IPv6.
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* at = resolved.value().get(); at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) continue;
      Descriptor socket = listen_at(*at);
      if (socket) return socket;
      error = errno;
    }
  }
  if (error == EAFNOSUPPORT) {  // RestrictAddressFamilies= of the unit
    return failure(fmt::format("cannot listen on {}: the unit lets noised open no port of its own", address),
                   "start noised.socket, or set listen = \"\" in [service]");
  }
  return failure(fmt::format("cannot listen on {}: {}", address, errno_text(error)),
                 "choose another address with --web.listen-address, or none with --web.listen-address \"\"");
}

std::string listening_address(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(socket.get(), any, &size) != 0 || (any->sa_family != AF_INET && any->sa_family != AF_INET6) ||
      ::getnameinfo(any, size, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) !=
          0) {
    return "a socket without an address";
  }
  const bool bracketed = any->sa_family == AF_INET6;
  return fmt::format("{}{}{}:{}", bracketed ? "[" : "", host.data(), bracketed ? "]" : "", port.data());
}

bool is_loopback(const std::string& address) {
  auto resolved = resolve(address);
  return resolved && is_loopback(*resolved.value());
}

}  // namespace noised::daemon
