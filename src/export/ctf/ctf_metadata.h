// SPDX-License-Identifier: Apache-2.0
// What readers are told of the streams, in the language of CTF 1.8 (TSDL).
#pragma once

#include "model/types.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "account/task_run.h"
#include "recording/player.h"

namespace noised::exports {

/// Ids of events. Those of an interval are ctf_entry() and ctf_exit() of its kind; where tasks were watched,
/// ctf_whole().
enum : std::uint16_t {
  kCtfObservedSince,
  kCtfNotObservedEntry,
  kCtfNotObservedExit,
  kCtfDetourEntry,
  kCtfDetourExit,
  kCtfRun,
  kCtfRunning,
  kCtfFirstLoss,
  kCtfFirstInterval = 16,
};
constexpr std::uint16_t ctf_entry(Kind kind) {
  return static_cast<std::uint16_t>(kCtfFirstInterval + 2 * static_cast<std::uint16_t>(kind));
}
constexpr std::uint16_t ctf_exit(Kind kind) { return static_cast<std::uint16_t>(ctf_entry(kind) + 1); }

constexpr std::uint16_t ctf_whole(Kind kind) { return ctf_entry(kind); }
constexpr std::uint16_t ctf_loss(account::LossKind kind) {
  return static_cast<std::uint16_t>(kCtfFirstLoss + static_cast<std::uint16_t>(kind));
}

/// The metadata of what was played. `moved`: events that have a later time than they should.
std::string ctf_metadata(const recording::Player& player, std::uint64_t moved);

/// Text between quotes as TSDL has it; control characters and what is no UTF-8 appear as \xNN.
std::string ctf_literal(std::string_view text);

}  // namespace noised::exports
