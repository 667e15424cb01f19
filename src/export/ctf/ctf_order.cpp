// SPDX-License-Identifier: Apache-2.0
// A drain may bring very many spans before the first of their detours: a heap, so that each costs the logarithm of
// them.
#include "export/ctf/ctf_order.h"

#include <algorithm>

namespace noised::exports {

// Of two with the same times, that which was told last is the outer one.
bool CtfOrder::begins_later(const Waiting& a, const Waiting& b) {
  const Interval& one = a.span.interval;
  const Interval& other = b.span.interval;
  if (one.start_ns != other.start_ns) return one.start_ns > other.start_ns;
  if (one.end_ns != other.end_ns) return one.end_ns < other.end_ns;
  if (a.span.what != b.span.what) return a.span.what > b.span.what;
  return a.number < b.number;
}

void CtfOrder::add(CtfSpan span) {
  waiting_.push_back({std::move(span), added_++});
  std::push_heap(waiting_.begin(), waiting_.end(), begins_later);
}

void CtfOrder::end_until(std::uint64_t until_ns) {
  for (; !open_.empty() && open_.back().interval.end_ns <= until_ns; open_.pop_back()) tell_(open_.back(), true);
}

// Intervals nest, so that mostly the new one is the innermost.
void CtfOrder::begin_next() {
  std::pop_heap(waiting_.begin(), waiting_.end(), begins_later);
  CtfSpan span = std::move(waiting_.back().span);
  waiting_.pop_back();
  end_until(span.interval.start_ns);
  tell_(span, false);
  const auto later = std::find_if(open_.rbegin(), open_.rend(),
                                  [&](const CtfSpan& other) { return other.interval.end_ns >= span.interval.end_ns; });
  open_.insert(later.base(), std::move(span));
}

void CtfOrder::release(std::uint64_t before_ns) {
  while (!waiting_.empty() && waiting_.front().span.interval.start_ns < before_ns) begin_next();
  if (before_ns > 0) end_until(before_ns - 1);
}

void CtfOrder::finish() {
  while (!waiting_.empty()) begin_next();
  end_until(UINT64_MAX);
}

}  // namespace noised::exports
