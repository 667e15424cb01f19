// SPDX-License-Identifier: Apache-2.0
// Most phases are quiet and cost two divisions; nothing is allocated but for a pattern that is new.
#include "analysis/fixed_work/phase_episodes.h"

#include <algorithm>

namespace noised::analysis {

void PhaseSeries::begin() {
  if (!ended_) return;
  ended_ = false;
  std::vector<PhaseSource> sources = std::move(phase_.sources);
  sources.clear();
  phase_ = Phase{};
  phase_.sources = std::move(sources);
}

// A phase has few sources: the place is found by looking at all of them.
PhaseSource& PhaseSeries::source(SourceId id) {
  const auto found = std::find_if(phase_.sources.begin(), phase_.sources.end(),
                                  [id](const PhaseSource& each) { return each.source >= id; });
  if (found != phase_.sources.end() && found->source == id) return *found;
  return *phase_.sources.insert(found, PhaseSource{id, 0, 0, 0});
}

void PhaseSeries::add(const account::DetourLedger& ledger) {
  begin();
  phase_.detour_ns += ledger.detour.end_ns - ledger.detour.start_ns;
  for (std::size_t i = 0; i < kGapKinds.size(); ++i) {
    const std::uint64_t ns = ledger.gap_ns(kGapKinds[i]);
    phase_.gaps[i].activations += ns == 0 ? 0 : 1;
    phase_.gaps[i].self_ns += ns;
  }
  phase_.in_doubt |= ledger.detour.in_doubt;
  std::optional<std::uint8_t> task_depth;  // of the task that has the CPU
  for (const account::LedgerEntry& entry : ledger.entries) {
    if (task_depth && entry.depth <= *task_depth) task_depth.reset();
    PhaseSource& of = source(entry.source);
    ++of.activations;
    of.self_ns += entry.self_ns;
    of.interruptions += task_depth && entry.kind != Kind::work ? 0U : 1U;
    if (!task_depth && entry.kind == Kind::task) task_depth = entry.depth;
  }
}

bool PhaseSeries::sample(std::uint64_t end_ns, std::uint64_t iterations) {
  begin();
  const bool whole = start_ns_.has_value() && iterations != 0 && end_ns > *start_ns_;
  phase_.start_ns = start_ns_.value_or(end_ns);
  phase_.end_ns = end_ns;
  phase_.iterations = iterations;
  phase_.in_doubt |= whole && phase_.detour_ns > phase_.length_ns();
  start_ns_ = end_ns;
  ended_ = true;
  return whole;
}

namespace {

// Whatever follows so many phases without a pause of `reach` of them is no episode, but how things are.
constexpr std::size_t kLongest = 64;

constexpr std::uint64_t kFewPairs = 30;

// Fewer follow the machine faster, and know less well what is usual: with 16, a 32nd of the variance is theirs.
constexpr std::uint64_t kUsual = 16;

void add_sorted(const std::vector<PhaseSource>& from, std::vector<PhaseSource>& to) {
  for (const PhaseSource& each : from) {
    if (each.interruptions == 0) continue;
    const auto found =
        std::find_if(to.begin(), to.end(), [&](const PhaseSource& known) { return known.source >= each.source; });
    if (found != to.end() && found->source == each.source) {
      found->interruptions += each.interruptions;
    } else {
      to.insert(found, each);
    }
  }
}

}  // namespace

void PhaseEpisodes::drop(std::uint64_t& reason, std::uint64_t phases) {
  reason += phases + phases_;
  phases_ = 0;
  forget_quiet();
  unknown_ = reach_;
}

void PhaseEpisodes::forget_quiet() {
  held_ = 0;
  residuals_ns_ = 0;
}

void PhaseEpisodes::interrupt() { drop(left_out_.edges, 0); }

void PhaseEpisodes::append(const Phase& phase) {
  if (phases_ == 0) {
    sources_.clear();
    inside_ns_ = outside_ns_ = 0;
    usual_ns_at_start_.reset();
    if (quiet_.count() >= kUsual) usual_ns_at_start_ = usual_ns_;
  }
  ++phases_;
  inside_ns_ += phase.overhead_ns();
  outside_ns_ += phase.outside_ns();
  silent_ = phase.sources.empty() ? silent_ + 1 : 0;
  add_sorted(phase.sources, sources_);
}

void PhaseEpisodes::close() {
  key_.clear();
  key_.push_back(phases_);
  for (const PhaseSource& each : sources_) {
    key_.push_back(each.source);
    key_.push_back(each.interruptions);
  }
  auto found = patterns_.find(key_);
  if (found == patterns_.end()) {
    if (patterns_.size() == kMostPatterns) {
      left_out_.too_many += phases_;
      phases_ = 0;
      return;
    }
    found = patterns_.emplace(key_, EpisodeSums{}).first;
  }
  if (!usual_ns_at_start_) {
    ++found->second.unjudged;
    left_out_.edges += phases_;
    phases_ = 0;
    return;
  }
  const auto inside_ns = static_cast<double>(inside_ns_);
  const double outside_ns = static_cast<double>(outside_ns_) - phases_ * *usual_ns_at_start_;
  found->second.residual.add(inside_ns + outside_ns);
  found->second.inside.add(inside_ns);
  found->second.outside.add(outside_ns);
  phases_ = 0;
}

void PhaseEpisodes::add_quiet(const Phase& phase) {
  const std::uint64_t residual_ns = phase.outside_ns() + phase.overhead_ns();
  const double usual_ns = usual_ns_;
  quiet_.add(residual_ns);
  const double weight = 1 / static_cast<double>(std::min(quiet_.count(), kUsual));
  usual_ns_ += weight * (static_cast<double>(residual_ns) - usual_ns);
  if (quiet_.count() <= kUsual) return;
  quiet_spread_.add(static_cast<double>(residual_ns) - usual_ns);
  residuals_ns_ += residual_ns;
  if (held_ == last_.size()) {
    residuals_ns_ -= last_[next_].residual_ns;
  } else {
    ++held_;
  }
  last_[next_] = {phase.length_ns(), residual_ns, usual_ns};
  next_ = next_ + 1 == last_.size() ? 0 : next_ + 1;
  if (held_ < last_.size()) return;
  // Now next_ is the place of the first of them.
  const auto duration_ns = static_cast<double>(last_[next_].duration_ns);
  const double residuals_ns =
      static_cast<double>(residuals_ns_) - static_cast<double>(last_.size()) * last_[next_].usual_ns;
  ++pairs_;
  const double before_ns = duration_ns - mean_duration_ns_;
  mean_duration_ns_ += before_ns / static_cast<double>(pairs_);
  mean_residuals_ns_ += (residuals_ns - mean_residuals_ns_) / static_cast<double>(pairs_);
  products_ += before_ns * (residuals_ns - mean_residuals_ns_);
}

void PhaseEpisodes::add(const Phase& phase) {
  if (!begun_) {
    begun_ = true;
    unknown_ = reach_;
  }
  if (phase.in_doubt) {
    drop(left_out_.in_doubt, 1);
    return;
  }
  const bool active = !phase.sources.empty();
  if (unknown_ != 0) {
    unknown_ = active ? reach_ : unknown_ - 1;
    ++left_out_.edges;
    return;
  }
  if (phases_ == 0 && !active) {
    add_quiet(phase);
    return;
  }
  forget_quiet();
  append(phase);
  if (silent_ == reach_) {
    close();
  } else if (phases_ > kLongest * (reach_ + 1)) {
    drop(left_out_.endless, 0);
  }
}

std::optional<double> PhaseEpisodes::length_bias_ns() const {
  if (pairs_ < kFewPairs || mean_duration_ns_ == 0) return std::nullopt;
  return products_ / static_cast<double>(pairs_ - 1) / mean_duration_ns_;
}

}  // namespace noised::analysis
