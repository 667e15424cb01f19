// SPDX-License-Identifier: Apache-2.0
// Shares of time that was told piece by piece.
#include "account/steal_shares.h"

#include <algorithm>

namespace noised::account {

std::uint64_t StealShares::ran(std::uint64_t start_ns, std::uint64_t end_ns) {
  const std::uint64_t from_ns = start_ns == run_start_ns_ ? told_until_ns_ : start_ns;
  const std::uint64_t ns = end_ns - std::min(from_ns, end_ns);
  all_ns_ += ns;
  return ns;
}

std::uint64_t StealShares::runs(std::uint64_t start_ns, std::uint64_t now_ns) {
  const std::uint64_t ns = ran(start_ns, now_ns);
  told_until_ns_ = start_ns == run_start_ns_ ? std::max(told_until_ns_, now_ns) : now_ns;
  run_start_ns_ = start_ns;
  return ns;
}

std::uint64_t StealShares::share_of(std::size_t account, std::uint64_t stolen_ns) const {
  using Wide = unsigned __int128;
  if (all_ns_ == 0) return 0;
  return static_cast<std::uint64_t>(Wide{stolen_ns} * std::min(ran_ns_[account], all_ns_) / all_ns_);
}

void StealShares::clear() {
  all_ns_ = 0;
  std::ranges::fill(ran_ns_, 0);
}

}  // namespace noised::account
