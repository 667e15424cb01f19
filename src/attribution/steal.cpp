// SPDX-License-Identifier: Apache-2.0
// Credit and debt, in nanoseconds.
#include "attribution/steal.h"

#include <algorithm>

namespace noised {

void StealAccount::add(std::uint64_t stolen_ns) {
  stolen_ns_ += stolen_ns;
  const std::uint64_t repaid_ns = std::min(debt_ns_, stolen_ns);
  debt_ns_ -= repaid_ns;
  credit_ns_ = std::min(credit_ns_, recent_ns_) + stolen_ns - repaid_ns;
  recent_ns_ = stolen_ns - repaid_ns;
}

std::uint64_t StealAccount::cover(std::uint64_t gap_ns) {
  const std::uint64_t from_credit_ns = std::min(gap_ns, credit_ns_);
  credit_ns_ -= from_credit_ns;
  const std::uint64_t from_debt_ns = std::min(gap_ns - from_credit_ns, step_ns_ - debt_ns_);
  debt_ns_ += from_debt_ns;
  return from_credit_ns + from_debt_ns;
}

}  // namespace noised
