// SPDX-License-Identifier: Apache-2.0
// What lies in the rings, from bytes to records that can be true. Pure: no clock, no I/O.
#pragma once

#include <noised/abi.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace noised::system {

/// Called for each record of a watched CPU's ring; `comm` is null but for tasks, `run` but for those whose counts came
/// with it.
using RecordSink = std::function<void(const noised_record& record, const char* comm, const noised_run_record* run)>;
/// Called for each record of what one CPU did to watched ones.
using OriginSink = std::function<void(const noised_origin& origin)>;

/// Hands the bytes of one record to the sink; bytes of another size as a record that is bad.
void hand_over(const void* data, std::size_t size, const RecordSink& sink);
void hand_over_origin(const void* data, std::size_t size, const OriginSink& sink);

/// Of a task's record.
constexpr std::uint32_t pid_of(const noised_record& record) { return static_cast<std::uint32_t>(record.id); }

enum class Meaning : std::uint8_t {
  interval,  ///< something ran for this time
  unseen,    ///< a mark: a task was switched in at start_ns and never seen to leave
  stopped,   ///< a mark: the loop itself gave the CPU away at start_ns
  stolen,    ///< a mark: in this time the host took so many ns as the id says
  bad,       ///< nothing: no program of ours writes this
};

/// What a record says. The rings are written by programs that a verifier let pass, not by ones that it found right:
/// what is bad is to be counted as lost. `latest_ns`: what is in a ring has ended by then.
Meaning meaning_of(const noised_record& record, const char* comm, std::uint64_t latest_ns);
/// The same for what other CPUs did; false: bad.
bool is_sound(const noised_origin& origin, std::uint64_t latest_ns);

}  // namespace noised::system
