// SPDX-License-Identifier: Apache-2.0
// One window after the other.
#include "account/blindness.h"

#include <algorithm>
#include <utility>

namespace noised::account {
namespace {

std::uint64_t since(std::uint64_t from, std::uint64_t to) { return to - std::min(from, to); }

}  // namespace

void BlindnessCheck::look(std::uint64_t counted, std::uint64_t now_ns, const Sighted& sighted) {
  if (!pending_) pending_ = Look{counted, now_ns, sighted};
}

// The window's records are those from the drain before its first look to the one after its last: an interrupt that was
// counted in between has its record in one of these drains.
void BlindnessCheck::judge(std::uint64_t progress_ns, std::uint64_t gap_end_ns, const Sighted& sighted) {
  if (!pending_ || progress_ns < pending_->now_ns) return;
  const Look to = *std::exchange(pending_, std::nullopt);
  // A CPU that was offline has a count that went back.
  if (!from_ || gap_end_ns >= from_->now_ns || to.counted < from_->counted) {
    from_ = to;
    return;
  }
  const std::uint64_t counted = to.counted - from_->counted;
  if (counted < kEnough) return;
  const std::uint64_t came = since(from_->sighted.interrupts, sighted.interrupts);
  const bool silent = sighted.eligible > from_->sighted.eligible && sighted.detours == from_->sighted.detours;
  const std::uint64_t unseen = silent ? counted : since(came, counted);
  judged_ += counted;
  if (2 * unseen > counted) unseen_ += unseen;
  from_ = to;
}

}  // namespace noised::account
