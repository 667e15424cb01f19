// SPDX-License-Identifier: Apache-2.0
// A stream of one CPU: events in packets, as ctf_metadata.cpp describes them to readers.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "account/attributor.h"
#include "base/result.h"
#include "export/new_file.h"

namespace noised::exports {

// Fields of events as they are in a stream, as ctf_metadata.cpp describes them to readers.

/// Appends a number as it is in the file: little-endian (as x86-64 has it), on a byte's boundary.
template <typename T>
void put(std::string& to, T value) {
  static_assert(std::is_unsigned_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

/// Appends a ledger: how long it was, its parts and its entries.
void put(std::string& to, const account::DetourLedger& ledger);

/// A writer of our own, not libbabeltrace2: the format is these few fields and a page of metadata. The library would
/// have us be a source that is asked for messages, through a graph with a muxer and a sink that it finds at run time
/// as plugins, which the package would have to depend on; that is more code than this, and more that can fail.
class CtfStream {
 public:
  CtfStream(NewFile file, unsigned cpu) : file_(std::move(file)), cpu_(cpu) {}

  /// Appends an event. One that would go back in time, which readers refuse, gets the time of the one before it and is
  /// counted; its fields say when it was.
  void event(std::uint16_t id, std::uint64_t time_ns, std::string_view fields);
  /// How many events were lost on this CPU until now.
  void lost(std::uint64_t events) { lost_ = events; }
  /// Writes what is left; the first error of all, if there was one.
  Status finish();

  [[nodiscard]] bool good() const { return file_.good(); }
  [[nodiscard]] std::uint64_t last_ns() const { return last_ns_; }
  [[nodiscard]] std::uint64_t moved() const { return moved_; }

 private:
  void write_packet(std::uint64_t first_ns, std::uint64_t last_ns, std::string_view events, std::uint64_t lost);
  void packet();

  NewFile file_;
  unsigned cpu_;
  std::string events_;          // of the packet
  std::uint64_t first_ns_ = 0;  // of the packet
  std::uint64_t last_ns_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t lost_told_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace noised::exports
