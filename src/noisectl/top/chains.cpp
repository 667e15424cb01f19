// SPDX-License-Identifier: Apache-2.0
// Intervals with the same chain become one line, whatever their pids.
#include "noisectl/top/chains.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "views/detour.h"

namespace noised::client {
namespace {

using Detail = std::pair<std::string, std::string>;

// Of one interval, not of the way to it.
bool is_remark(const Detail& detail) { return detail.first == "split" || detail.first == "cut"; }

// Differs from run to run of the same program: shown if all have the same, but no reason for a line of its own.
bool is_particular(const Detail& detail) {
  const auto& [key, value] = detail;
  return key == "pid" || key.ends_with("_pid") || key == "sends" || (key == "ip" && value.starts_with("0x"));
}

// What both have.
void keep_common(std::vector<Detail>& details, const std::vector<Detail>& others) {
  std::erase_if(details,
                [&](const Detail& each) { return std::find(others.begin(), others.end(), each) == others.end(); });
}

// How many intervals the daemon summed in this entry; nothing if it is one interval.
std::optional<std::uint64_t> summed_intervals(const DetourEntryView& entry) {
  for (const auto& [key, value] : entry.detail) {
    if (key != "intervals") continue;
    std::uint64_t count = 1;
    std::from_chars(value.data(), value.data() + value.size(), count);
    return count;
  }
  return std::nullopt;
}

void add_to(TopChain& sums, std::uint64_t count, std::uint64_t self_ns) {
  sums.count += count;
  sums.total_ns += self_ns;
}

std::string shown(const DetourEntryView& chain) {
  const std::string text = views::chain_text(chain);
  return text.empty() ? "no chain known" : text;
}

}  // namespace

void TopChains::add(const DetourView& detour) {
  first_ns_ = std::min(first_ns_, detour.start_ns);
  last_ns_ = std::max(last_ns_, detour.start_ns + detour.duration_ns);
  if (detour.cpu != source_.cpu) return;
  ++detours_;
  bool with = false;
  for (const DetourEntryView& entry : detour.entries) {
    if (label_of(entry.kind, entry.name) != source_.label) continue;
    with = true;
    add_interval(entry);
  }
  // The cost of tracing is told of the detour as a whole.
  if (detour.overhead_ns > 0 && source_.label == label_of("overhead", "overhead")) {
    with = true;
    add_interval({"overhead", "overhead", detour.overhead_ns, 0, {}});
  }
  if (!with) return;
  ++detours_with_;
  add_partners(detour);
}

void TopChains::add_interval(const DetourEntryView& entry) {
  if (const auto intervals = summed_intervals(entry)) return add_to(summed_, *intervals, entry.self_ns);
  DetourEntryView chain{entry.kind, entry.name, 0, 0, entry.detail};
  std::erase_if(chain.detail, is_remark);
  DetourEntryView plain = chain;
  std::erase_if(plain.detail, is_particular);
  const std::string key = views::chain_text(plain);
  auto found = chains_.find(key);
  if (found == chains_.end() && chains_.size() < kMost) found = chains_.emplace(key, Kept{chain, TopChain{}}).first;
  if (found != chains_.end()) keep_common(found->second.chain.detail, chain.detail);
  TopChain& sums = found == chains_.end() ? other_ : found->second.sums;
  add_to(sums, 1, entry.self_ns);
  sums.max_ns = std::max(sums.max_ns, entry.self_ns);
}

void TopChains::add_partners(const DetourView& detour) {
  std::map<std::string, std::uint64_t> self_ns;
  for (const DetourEntryView& entry : detour.entries) self_ns[label_of(entry.kind, entry.name)] += entry.self_ns;
  self_ns.erase(source_.label);
  bool other = false;
  for (const auto& [label, ns] : self_ns) {
    auto found = partners_.find(label);
    if (found == partners_.end() && partners_.size() < kMost)
      found = partners_.emplace(label, TopPartner{label, 0, 0}).first;
    const bool held = found != partners_.end();
    TopPartner& sums = held ? found->second : other_partner_;
    sums.total_ns += ns;
    // A detour with two that have no place is still one detour.
    if (held || !other) ++sums.detours;
    other = other || !held;
  }
}

TopChainsView TopChains::view() const {
  TopChainsView view{source_, {}, {}, detours_, detours_with_, missed_, 0, {}};
  if (last_ns_ > first_ns_) view.span_ns = last_ns_ - first_ns_;
  for (const auto& [key, kept] : chains_) {
    view.chains.push_back(kept.sums);
    view.chains.back().text = shown(kept.chain);
  }
  if (summed_.count > 0) {
    view.chains.push_back(summed_);
    view.chains.back().text = "chain not told: in detours of very many intervals";
  }
  std::sort(view.chains.begin(), view.chains.end(), [](const TopChain& a, const TopChain& b) {
    return std::tie(b.total_ns, a.text) < std::tie(a.total_ns, b.text);
  });
  if (other_.count > 0) {
    view.chains.push_back(other_);
    view.chains.back().text = fmt::format("other: beyond the first {} chains", kMost);
  }
  for (const auto& [label, partner] : partners_) view.partners.push_back(partner);
  std::sort(view.partners.begin(), view.partners.end(), [](const TopPartner& a, const TopPartner& b) {
    return std::tie(b.detours, b.total_ns, a.label) < std::tie(a.detours, a.total_ns, b.label);
  });
  if (other_partner_.detours > 0) {
    view.partners.push_back(other_partner_);
    view.partners.back().label = fmt::format("other: beyond the first {} sources", kMost);
  }
  return view;
}

}  // namespace noised::client
