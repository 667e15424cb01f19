// SPDX-License-Identifier: Apache-2.0
#include "export/export.h"

#include <array>
#include <map>

#include <fmt/format.h>
#include <noised/abi.h>

#include "account/detour_feed.h"
#include "base/text.h"
#include "recording/bytes.h"

namespace noised::exports {
namespace {

void each_of_entry(const recording::EntryDetails& details, const TakeDetail& take) {
  std::string_view text = details.text;
  while (text.size() >= 2) {
    const auto key = static_cast<unsigned char>(text[0]);
    const std::size_t length = static_cast<unsigned char>(text[1]);
    // It may be of a newer version, whose keys have other names.
    if (key > static_cast<unsigned char>(account::DetailKey::ip) || text.size() < 2 + length) return;
    take(details.entry, to_string(static_cast<account::DetailKey>(key)), text.substr(2, length));
    text.remove_prefix(2 + length);
  }
  if (details.cut) take(details.entry, "cut", "true");
}

struct FlagName {
  unsigned flag;
  Kind only;  // none: means the same for all kinds but tasks
  std::string_view name;
};
constexpr std::array<FlagName, 9> kFlagNames{{{NOISED_FLAG_SPLIT, Kind::none, "split"},
                                              {NOISED_FLAG_YIELDED, Kind::task, "yielded"},
                                              {NOISED_FLAG_UNHANDLED, Kind::irq, "unhandled"},
                                              {NOISED_FLAG_UNSEEN, Kind::task, "unseen"},
                                              {NOISED_FLAG_PREEMPTED, Kind::task, "preempted"},
                                              {NOISED_FLAG_STOPPED, Kind::task, "stopped"},
                                              {NOISED_FLAG_WOKEN_HERE, Kind::task, "woken_here"},
                                              {NOISED_FLAG_IN_KERNEL, Kind::page_fault, "in_kernel"},
                                              {NOISED_FLAG_HANDLING, Kind::page_fault, "handling"}}};

}  // namespace

Status play_all(recording::Player& player, recording::PlayerVisitor& visitor, const Progress& progress,
                const std::function<bool()>& go_on) {
  while (go_on() && player.step(&visitor)) {
    if (!progress(player.progress())) return interrupted();
  }
  return success();
}

Error interrupted() { return failure("interrupted", "nothing was kept"); }

Status exported_whole(const recording::Player& player) {
  if (player.damage().empty()) return success();
  return failure(player.damage(), "everything before that was exported");
}

std::string source_text(const Source& source) {
  return as_utf8(fmt::format("{}:{}", to_string(source.kind), source.name));
}

std::string flags_text(const Interval& interval) {
  std::string text;
  for (const FlagName& each : kFlagNames) {
    const bool is_meant = each.only == Kind::none ? interval.kind != Kind::task : interval.kind == each.only;
    if ((interval.flags & each.flag) == 0 || !is_meant) continue;
    text += (text.empty() ? "" : " ") + std::string(each.name);
  }
  return text;
}

void each_detail(std::string_view details, const TakeDetail& take) {
  recording::ByteReader reader(details);
  recording::EntryDetails next;
  while (recording::next_details(reader, next)) each_of_entry(next, take);
}

LossesByCpu losses_by_cpu(const recording::Playback& playback, const ReportLost& lost) {
  LossesByCpu losses;
  losses.on.resize(playback.description().base.cpus.size(), 0);
  if (lost.by.empty()) return losses;
  std::map<unsigned, std::size_t> places;
  for (std::size_t i = 0; i < losses.on.size(); ++i) places.emplace(playback.cpu_number(i), i);
  for (const ReportLoss& loss : lost.by) {
    if (loss.reason.starts_with("loop_")) continue;
    const auto place = loss.cpu ? places.find(*loss.cpu) : places.end();
    (place == places.end() ? losses.anywhere : losses.on[place->second]) += loss.count;
  }
  return losses;
}

}  // namespace noised::exports
