// SPDX-License-Identifier: Apache-2.0
// The listening TCP socket of the metrics.
#pragma once

#include <string>

#include "base/result.h"

#include "base/files.h"

namespace noised::daemon {

/// Checks "HOST:PORT", where HOST is an IPv4 address, an IPv6 address in brackets, or empty for all; usage error
/// otherwise. No names: an instrument does not wait for a name server.
Status check_listen_address(const std::string& address);

/// Listens there, non-blocking.
Result<Descriptor> listen_tcp(const std::string& address);

/// "ADDRESS:PORT" of a listening socket; what else it is called if it has no such address.
std::string listening_address(const Descriptor& socket);

/// True if only this machine can connect to it.
bool is_loopback(const std::string& address);

}  // namespace noised::daemon
