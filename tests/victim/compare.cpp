// SPDX-License-Identifier: Apache-2.0
// Gaps and detours are put together where they overlap; in each such group the gaps' time goes to the detour that was
// there, or came next, or was the last.
#include "victim/compare.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace noised::victim {
namespace {

// A stretch in which the victim wanted to run, as far as it knows.
struct Span {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  bool late;  // it came late out of a sleep
};

struct Cause {
  std::string kind;
  std::string name;
  std::uint64_t explained_ns = 0;
  std::uint64_t overhead_ns = 0;
};

// Gaps and detours that overlap, one with the next.
struct Group {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::vector<Span> spans;
  std::vector<const DetourView*> detours;
};

std::uint64_t end_of(const DetourView& detour) { return detour.start_ns + detour.duration_ns; }

std::vector<Span> spans_of(const Account& account) {
  std::vector<Span> spans;
  spans.reserve(account.gaps.size() + account.sleeps.size());
  for (const Gap& gap : account.gaps) spans.push_back({gap.start_ns, gap.end_ns, false});
  for (const Sleep& sleep : account.sleeps) {
    if (sleep.due_ns != sleep.end_ns) spans.push_back({sleep.due_ns, sleep.end_ns, true});
  }
  std::ranges::sort(spans, {}, &Span::start_ns);
  return spans;
}

// Calls visit(Group) for each group, in order of time. Both lists are in order.
template <typename Visit>
void each_group(const std::vector<Span>& spans, const std::vector<DetourView>& detours, Visit visit) {
  auto span = spans.begin();
  auto detour = detours.begin();
  while (span != spans.end() || detour != detours.end()) {
    Group group;
    const std::uint64_t first_span = span == spans.end() ? UINT64_MAX : span->start_ns;
    const std::uint64_t first_detour = detour == detours.end() ? UINT64_MAX : detour->start_ns;
    group.start_ns = std::min(first_span, first_detour);
    group.end_ns = group.start_ns + 1;  // so that the first is within
    for (;;) {
      if (span != spans.end() && span->start_ns < group.end_ns) {
        group.end_ns = std::max(group.end_ns, span->end_ns);
        group.spans.push_back(*span++);
      } else if (detour != detours.end() && detour->start_ns < group.end_ns) {
        group.end_ns = std::max(group.end_ns, end_of(*detour));
        group.detours.push_back(&*detour++);
      } else {
        break;
      }
    }
    visit(group);
  }
}

// Entries are in order of their start, so that what is nested in one comes after it.
std::vector<Cause> causes_of(const DetourView& detour) {
  std::vector<Cause> causes;
  unsigned depth = 0;
  for (const DetourEntryView& entry : detour.entries) {
    if (causes.empty() || entry.depth <= depth) {
      depth = entry.depth;
      causes.push_back({entry.kind, entry.name, 0, 0});
    }
    causes.back().explained_ns += entry.self_ns;
  }
  if (causes.empty()) causes.push_back({"overhead", "overhead", 0, 0});
  std::vector<std::uint64_t> weights;
  weights.reserve(causes.size());
  for (const Cause& cause : causes) weights.push_back(cause.explained_ns);
  const std::vector<std::uint64_t> overheads = divide(detour.overhead_ns, weights);
  for (std::size_t i = 0; i < causes.size(); ++i) causes[i].overhead_ns = overheads[i];
  return causes;
}

// How much of it is in sleeps, as long as they were wanted.
std::uint64_t asleep_ns(const DetourView& detour, const std::vector<Sleep>& sleeps) {
  std::uint64_t sum = 0;
  for (auto sleep = std::ranges::partition_point(sleeps, [&](const Sleep& s) { return s.due_ns <= detour.start_ns; });
       sleep != sleeps.end() && sleep->start_ns < end_of(detour); ++sleep)
    sum += std::min(sleep->due_ns, end_of(detour)) - std::max(sleep->start_ns, detour.start_ns);
  return sum;
}

// How much of the time is in spans.
std::uint64_t within(const std::vector<Span>& spans, std::uint64_t from_ns, std::uint64_t to_ns) {
  std::uint64_t sum = 0;
  for (const Span& span : spans) {
    const std::uint64_t start_ns = std::max(span.start_ns, from_ns);
    sum += std::max(start_ns, std::min(span.end_ns, to_ns)) - start_ns;
  }
  return sum;
}

class Sums {
 public:
  Sums(const Account& account, const CompareOptions& options) : account_(account), options_(options) {}

  void add(const Group& group) {
    if (group.start_ns < options_.from_ns || group.end_ns > options_.to_ns) return;
    add_spans(group);
    std::uint64_t from_ns = group.start_ns;
    for (std::size_t i = 0; i < group.detours.size(); ++i) {
      const DetourView& detour = *group.detours[i];
      const bool last = i + 1 == group.detours.size();
      const std::uint64_t to_ns = last ? group.end_ns : std::max(from_ns, end_of(detour));
      const std::uint64_t lost_ns = within(group.spans, from_ns, to_ns);
      const std::uint64_t events_ns = add_detour(detour, !group.spans.empty()) - detour.overhead_ns;
      const std::uint64_t suffered_ns = std::min(lost_ns, events_ns + options_.largest_overhead_ns);
      out_.suffered_ns += suffered_ns;
      out_.beside_ns += lost_ns - suffered_ns;
      add_causes(causes_of(detour), suffered_ns, !group.spans.empty());
      from_ns = to_ns;
    }
  }

  Comparison finish() {
    for (auto& [key, row] : rows_) out_.sources.push_back(std::move(row));
    std::ranges::sort(out_.sources, [](const SourceRow& a, const SourceRow& b) {
      if (a.suffered_ns != b.suffered_ns) return a.suffered_ns > b.suffered_ns;
      if (a.reported_ns() != b.reported_ns()) return a.reported_ns() > b.reported_ns();
      return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
    });
    return std::move(out_);
  }

 private:
  void add_spans(const Group& group) {
    const bool reported = !group.detours.empty();
    for (const Span& span : group.spans) {
      const std::uint64_t ns = span.end_ns - span.start_ns;
      (span.late ? out_.late_ns : out_.gap_ns) += ns;
      if (!span.late) ++out_.gaps;
      if (reported) continue;
      (span.late ? out_.late_unreported_ns : out_.unreported_ns) += ns;
      if (!span.late) ++out_.unreported_gaps;
    }
  }

  // Returns what it reports.
  std::uint64_t add_detour(const DetourView& detour, bool suffered) {
    std::uint64_t reported_ns = detour.overhead_ns;
    for (const DetourEntryView& entry : detour.entries) reported_ns += entry.self_ns;
    ++out_.detours;
    out_.incomplete += detour.incomplete ? 1 : 0;
    out_.reported_ns += reported_ns;
    out_.asleep_ns += asleep_ns(detour, account_.sleeps);
    if (!suffered) {
      out_.not_suffered_ns += reported_ns;
      if (detour.duration_ns <= account_.threshold_ns) out_.short_ns += reported_ns;
    }
    return reported_ns;
  }

  void add_causes(const std::vector<Cause>& causes, std::uint64_t suffered_ns, bool suffered) {
    std::vector<std::uint64_t> weights;
    weights.reserve(causes.size());
    for (const Cause& cause : causes) weights.push_back(cause.explained_ns + cause.overhead_ns);
    const std::vector<std::uint64_t> shares = divide(suffered_ns, weights);
    for (std::size_t i = 0; i < causes.size(); ++i) {
      SourceRow& row = rows_[{causes[i].kind, causes[i].name}];
      row.kind = causes[i].kind;
      row.name = causes[i].name;
      ++row.count;
      row.suffered_ns += shares[i];
      row.explained_ns += causes[i].explained_ns;
      row.overhead_ns += causes[i].overhead_ns;
      if (!suffered) row.not_suffered_ns += weights[i];
    }
  }

  const Account& account_;
  const CompareOptions& options_;
  Comparison out_;
  std::map<std::pair<std::string, std::string>, SourceRow> rows_;
};

double over(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double SourceRow::ratio() const { return over(reported_ns(), suffered_ns); }
double Comparison::ratio() const { return over(reported_ns, suffered_ns); }

std::vector<std::uint64_t> divide(std::uint64_t total, const std::vector<std::uint64_t>& weights) {
  using Wide = unsigned __int128;
  Wide sum = 0;
  for (const std::uint64_t weight : weights) sum += weight;
  const bool equal = sum == 0;
  if (equal) sum = weights.size();
  std::vector<std::uint64_t> parts;
  parts.reserve(weights.size());
  Wide so_far = 0;
  std::uint64_t given = 0;
  for (const std::uint64_t weight : weights) {
    so_far += equal ? 1 : weight;
    const auto until = static_cast<std::uint64_t>(so_far * total / sum);  // the last is all of it
    parts.push_back(until - given);
    given = until;
  }
  return parts;
}

Comparison compare(const Account& account, std::vector<DetourView> detours, const CompareOptions& options) {
  std::ranges::sort(detours, {}, &DetourView::start_ns);
  CompareOptions within = options;
  within.from_ns = std::max(options.from_ns, account.first_ns);
  within.to_ns = std::min(options.to_ns, account.last_ns);
  Sums sums(account, within);
  each_group(spans_of(account), detours, [&](const Group& group) { sums.add(group); });
  return sums.finish();
}

}  // namespace noised::victim
