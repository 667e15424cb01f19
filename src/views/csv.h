// SPDX-License-Identifier: Apache-2.0
// Comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace noised::views {

/// One record with its line end. Bytes that the RFC does not allow (a task may call itself anything) become '?'.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace noised::views
