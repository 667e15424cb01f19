// SPDX-License-Identifier: Apache-2.0
// Fields of events as they are in a stream, as ctf_metadata.cpp describes them to readers.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>

#include "attribution/ledger.h"

namespace noised {

/// Appends a number as it is in the file: little-endian (as x86-64 has it), on a byte's boundary.
template <typename T>
void put(std::string& to, T value) {
  static_assert(std::is_unsigned_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

/// Appends a ledger: how long it was, its parts and its entries.
void put(std::string& to, const Ledger& ledger);

}  // namespace noised
