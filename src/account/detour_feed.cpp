// SPDX-License-Identifier: Apache-2.0
// Keeping and handing out recent detours.
#include "account/detour_feed.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <noised/abi.h>

#include "account/longest_detours.h"

namespace noised::account {

DetourFeed::DetourFeed(std::size_t a_drain, std::size_t cpus)
    : longest_(std::make_unique<LongestDetours>(cpus)),
      staged_(a_drain),
      kept_(2 * a_drain),
      position_of_(2 * a_drain, 0) {}

DetourFeed::~DetourFeed() = default;

void DetourFeed::note(const FeedDetour& detour) { longest_->add(detour); }

void DetourFeed::for_each_longest_source(const std::function<void(SourceId)>& visit) const {
  longest_->for_each_source(visit);
}

std::vector<FeedDetour> DetourFeed::longest(std::size_t count) { return longest_->read(count); }

FeedDetour& DetourFeed::stage() {
  FeedDetour& slot = staged_[staged_next_];
  staged_next_ = (staged_next_ + 1) % staged_.size();
  ++staged_count_;
  return slot;
}

void DetourFeed::commit() {
  longest_->commit();
  if (staged_count_ == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const std::uint64_t held = std::min<std::uint64_t>(staged_count_, staged_.size());
  end_ += staged_count_ - held;  // positions of the detours that staging had no room for stay empty
  for (std::uint64_t i = held; i != 0; --i, ++end_) {
    kept_[end_ % kept_.size()] = staged_[(staged_next_ + staged_.size() - i) % staged_.size()];
    position_of_[end_ % kept_.size()] = end_ + 1;
  }
  staged_count_ = 0;
}

DetourFeed::Batch DetourFeed::read(std::uint64_t from, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  Batch batch;
  const std::uint64_t oldest = end_ > kept_.size() ? end_ - kept_.size() : 0;
  if (from < oldest) {
    batch.lost = from == 0 ? 0 : oldest - from;
    from = oldest;
  }
  for (; from < end_ && batch.detours.size() < limit; ++from) {
    if (position_of_[from % kept_.size()] == from + 1) {
      batch.detours.push_back(kept_[from % kept_.size()]);
    } else {
      ++batch.lost;
    }
  }
  batch.next = from;
  return batch;
}

std::uint64_t DetourFeed::end() {
  const std::lock_guard lock(mutex_);
  return end_;
}

namespace {

// Room for the gap entries (overhead has none), and for one "other" of each kind that intervals can have.
constexpr std::size_t kGapEntries = kGapKinds.size() - 1;
constexpr std::size_t kOthers = static_cast<std::size_t>(Kind::hypervisor);
constexpr std::size_t kNamed = FeedDetour::kEntries - kGapEntries - kOthers;
constexpr std::size_t kLongestDetail = 255;

constexpr std::array<std::string_view, static_cast<std::size_t>(DetailKey::ip) + 1> kDetailNames = {
    "pid",         "waker",     "waker_pid",  "waker_cpu",     "waker_context",
    "mover",       "mover_pid", "mover_cpu",  "mover_context", "service",
    "work",        "sender",    "sender_pid", "sender_cpu",    "sender_context",
    "sender_code", "function",  "sends",      "address",       "ip",
};

void add_to(FeedDetour& detour, SourceId source, std::size_t room, const LedgerEntry& entry,
            const SourceTable& sources) {
  const auto end = detour.entries.begin() + detour.size;
  auto found = std::find_if(detour.entries.begin(), end, [&](const auto& e) { return e.source == source; });
  if (found == end) {
    if (detour.size >= room) {
      add_to(detour, sources.other(entry.kind), FeedDetour::kEntries, entry, sources);
      return;
    }
    detour.entries[detour.size++] = {
        .source = source, .depth = entry.depth, .flags = entry.flags, .self_ns = entry.self_ns};
    return;
  }
  found->depth = std::min(found->depth, entry.depth);
  found->flags |= entry.flags;
  found->intervals += 1;
  found->self_ns += entry.self_ns;
}

void show_details(const FeedDetour& detour, const FeedDetour::Entry& entry, DetourEntryView& shown) {
  const char* at = detour.text.data() + entry.text_at;
  const char* const end = at + entry.text_size;
  while (at != end) {
    const auto key = static_cast<DetailKey>(at[0]);
    const auto length = static_cast<unsigned char>(at[1]);
    shown.detail.emplace_back(to_string(key), std::string(at + 2, length));
    at += 2 + length;
  }
}

}  // namespace

std::string_view to_string(DetailKey key) { return kDetailNames[static_cast<std::size_t>(key)]; }

bool is_name_of_task(std::string_view key) {
  for (const DetailKey each : {DetailKey::waker, DetailKey::mover, DetailKey::sender}) {
    if (key == to_string(each)) return true;
  }
  return false;
}

FeedDetour& FeedDetour::operator=(const FeedDetour& other) {
  if (this == &other) return *this;
  cpu = other.cpu;
  victim_pid = other.victim_pid;
  victim = other.victim;
  loss = other.loss;
  incomplete = other.incomplete;
  size = other.size;
  text_size = other.text_size;
  start_ns = other.start_ns;
  duration_ns = other.duration_ns;
  overhead_ns = other.overhead_ns;
  std::copy_n(other.entries.begin(), size, entries.begin());
  std::copy_n(other.text.begin(), text_size, text.begin());
  return *this;
}

void FeedDetour::add_detail(DetailKey key, std::string_view value) {
  if (value.empty()) return;
  Entry& entry = entries[size - 1U];
  const std::size_t length = std::min(value.size(), kLongestDetail);
  if (text_size + length + 2 > kText) {
    entry.cut = true;
    return;
  }
  if (entry.text_size == 0) entry.text_at = text_size;
  text[text_size] = static_cast<char>(key);
  text[text_size + 1U] = static_cast<char>(length);
  std::memcpy(text.data() + text_size + 2, value.data(), length);
  text_size = static_cast<std::uint16_t>(text_size + length + 2);
  entry.text_size = static_cast<std::uint16_t>(entry.text_size + length + 2);
}

void FeedDetour::add_detail(DetailKey key, std::uint64_t value) {
  const fmt::format_int text_of_value(value);
  add_detail(key, std::string_view(text_of_value.data(), text_of_value.size()));
}

bool FeedDetour::add_details(std::string_view packed) {
  while (!packed.empty()) {
    const auto key = static_cast<unsigned char>(packed[0]);
    if (key >= kDetailNames.size() || packed.size() < 2) return false;
    const auto length = static_cast<unsigned char>(packed[1]);
    if (packed.size() < std::size_t{2} + length) return false;
    add_detail(static_cast<DetailKey>(key), packed.substr(2, length));
    packed.remove_prefix(std::size_t{2} + length);
  }
  return true;
}

void to_feed(unsigned cpu, const DetourLedger& ledger, const SourceTable& sources, const DescribeEntry& describe,
             FeedDetour& detour) {
  detour.size = 0;
  detour.text_size = 0;
  detour.victim_pid = 0;
  detour.cpu = cpu;
  detour.incomplete = ledger.detour.in_doubt;
  detour.start_ns = ledger.detour.start_ns;
  detour.duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
  detour.overhead_ns = ledger.overhead_ns;
  if (ledger.entries.size() + kGapEntries <= FeedDetour::kEntries) {
    for (std::size_t index = 0; index < ledger.entries.size(); ++index) {
      const LedgerEntry& entry = ledger.entries[index];
      detour.entries[detour.size++] = {
          .source = entry.source, .depth = entry.depth, .flags = entry.flags, .self_ns = entry.self_ns};
      if (describe) describe(ledger, index, detour);
    }
  } else {
    for (const LedgerEntry& entry : ledger.entries) add_to(detour, entry.source, kNamed, entry, sources);
  }
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) {
    if (kind != Kind::overhead) detour.entries[detour.size++] = {.source = sources.gap(kind), .self_ns = ns};
  });
}

DetourView to_view(const FeedDetour& detour, const SourceTable& sources) {
  DetourView view;
  view.cpu = detour.cpu;
  view.start_ns = detour.start_ns;
  view.duration_ns = detour.duration_ns;
  view.incomplete = detour.incomplete;
  view.overhead_ns = detour.overhead_ns;
  if (detour.victim_pid != 0) {
    view.pid = detour.victim_pid;
    view.task = sources.at(detour.victim).name;
    view.loss = to_string(detour.loss);
  }
  for (std::size_t i = 0; i < detour.size; ++i) {
    const FeedDetour::Entry& entry = detour.entries[i];
    const Source& source = sources.at(entry.source);
    DetourEntryView shown{std::string(to_string(source.kind)), source.name, entry.self_ns, entry.depth, {}};
    show_details(detour, entry, shown);
    if (entry.intervals > 1) shown.detail.emplace_back("intervals", std::to_string(entry.intervals));
    if (source.kind != Kind::task && (entry.flags & NOISED_FLAG_SPLIT) != 0) shown.detail.emplace_back("split", "true");
    if (entry.cut) shown.detail.emplace_back("cut", "true");
    view.entries.push_back(std::move(shown));
  }
  return view;
}

}  // namespace noised::account
