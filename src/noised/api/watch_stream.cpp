// SPDX-License-Identifier: Apache-2.0
// Read after each drain, it goes on from one state to the next and never waits.
#include "noised/api/watch_stream.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/clocks.h"
#include "system/namespaces.h"
#include "system/proc_tasks.h"
#include "views/losses.h"
#include "views/watch.h"

namespace noised::daemon {
namespace {

// Children and threads are chosen by the kernel's program as they are born; who gets a name, or comes into a cgroup,
// later, is found by looking again. What a look costs: task_selection.h.
constexpr std::uint64_t kLookIntervalNs = 1'000'000'000;
// The last report comes after the last loss, unless a CPU's state stays unknown for so long.
constexpr std::uint64_t kSettlePatienceNs = 1'000'000'000;

}  // namespace

WatchStream::WatchStream(const WatchPlace& place, WatchWish wish, std::size_t group)
    : place_(place), wish_(std::move(wish)), group_(group) {}

// A child that is born between the two passes, of a parent that was still in the group, is found by the second.
WatchStream::~WatchStream() {
  for (int pass = 0; pass < 2; ++pass) {
    for (volatile std::uint8_t& group : place_.groups) {
      if (group == group_) group = 0;
    }
  }
  place_.sessions.close(group_);
}

void WatchStream::choose_tasks(std::uint64_t now_ns) {
  if (wish_.selection.by == system::SelectBy::all) return;
  const bool looks_again = wish_.selection.by != system::SelectBy::pids;
  if (chosen_ns_ != 0 && (!looks_again || now_ns - chosen_ns_ < kLookIntervalNs)) return;
  // Until a look finds nobody new: a task that is not chosen yet has children that are not.
  for (bool found = true; found;) {
    found = false;
    const auto threads = selector_.threads(wish_.selection);
    if (!threads) break;  // it has gone: is_over() or the user tells
    for (const std::uint32_t pid : threads.value()) {
      if (pid >= place_.groups.size() || place_.groups[pid] == group_ || !may_choose(pid)) continue;
      place_.groups[pid] = static_cast<std::uint8_t>(group_);
      found = true;
    }
  }
  chosen_ns_ = now_ns;
}

// Who asks by name is not told whether others have tasks of that name.
bool WatchStream::may_choose(std::uint32_t pid) const {
  if (wish_.selection.by != system::SelectBy::comm || wish_.names.user() == nullptr) return true;
  const auto task = system::ProcTasks("/proc").owned(pid);
  return task && task->user == *wish_.names.user();
}

bool WatchStream::is_over(std::uint64_t now_ns) const {
  if (wish_.duration_ns && now_ns - began_ns_ >= *wish_.duration_ns) return true;
  return wish_.selection.by == system::SelectBy::pids && selector_.ended(wish_.selection);
}

bool WatchStream::may_tell(std::uint64_t now_ns) const {
  return !last_ || !wish_.each_loss || settled_ns_ >= told_ns_ || now_ns - told_ns_ > kSettlePatienceNs;
}

void WatchStream::put_losses() {
  if (!wish_.each_loss || since_ns_ == 0) return;
  const auto held = place_.sources->hold();
  if (!place_.sessions.take_losses(group_, batch_)) return;
  settled_ns_ = batch_.settled_ns;
  LossesView view;
  view.since_ns = since_ns_;
  view.settled_ns = batch_.settled_ns;
  view.running = batch_.running;
  view.dropped = batch_.log.dropped();
  const auto mention = [&](std::uint32_t pid) {
    if (mentioned_.size() <= pid) mentioned_.resize(std::size_t{pid} + 1);
    if (!mentioned_[pid]) view.watched.push_back(pid);
    mentioned_[pid] = true;
  };
  for (const std::uint32_t pid : batch_.log.ran()) mention(pid);
  for (const auto& [pid, start_ns] : batch_.running) mention(pid);
  view.losses.reserve(batch_.log.entries().size());
  for (const account::LossLog::Entry& entry : batch_.log.entries()) {
    LossView& loss = view.losses.emplace_back(LossView{.pid = entry.pid,
                                                       .start_ns = entry.start_ns,
                                                       .duration_ns = entry.duration_ns,
                                                       .incomplete = entry.incomplete,
                                                       .parts = {}});
    for (const account::LossLog::Part& part : batch_.log.parts_of(entry)) {
      loss.parts.emplace_back(part.source, part.ns);
      SourceId& named = named_[SourceTable::slot_of(part.source)];
      if (named == part.source) continue;
      named = part.source;
      const Source& source = place_.sources->at(part.source);
      view.sources.push_back(
          {part.source, std::string(to_string(source.category)), std::string(to_string(source.kind)), source.name});
    }
  }
  wish_.names.apply(view);
  pending_ += views::to_json(view) + '\n';
}

void WatchStream::put_line(WatchReport report) {
  report.selection = describe(wish_.selection);
  report.cpus = place_.cpus;
  report.unsupported = *place_.unsupported;
  report.final = last_;
  if (wish_.own) wish_.names.own_tasks(report);
  wish_.names.apply(report);
  pending_ += views::to_json(report) + '\n';
  asked_ = false;
  ended_ = last_;
}

void WatchStream::step(std::uint64_t now_ns) {
  if (!begun_) {
    if (!place_.sessions.is_open(group_)) return;
    begun_ = true;
    began_ns_ = now_ns;
    choose_tasks(now_ns);
    since_ns_ = monotonic_ns();
  } else if (asked_) {
    if (auto report = place_.sessions.take(group_)) report_ = std::move(report);
    if (report_ && may_tell(now_ns)) put_line(*std::exchange(report_, std::nullopt));
    return;
  } else {
    choose_tasks(now_ns);
    last_ = is_over(now_ns);
    if (!last_ && now_ns - told_ns_ < wish_.interval_ns) return;
  }
  told_ns_ = now_ns;
  asked_ = true;
  place_.sessions.ask(group_);
}

std::size_t WatchStream::read(char* buffer, std::size_t capacity) {
  if (at_ == pending_.size()) {
    if (ended_) return kEnd;
    pending_.clear();
    at_ = 0;
    put_losses();
    step(monotonic_ns());
  }
  const std::size_t length = std::min(capacity, pending_.size() - at_);
  if (length == 0) return 0;
  std::memcpy(buffer, pending_.data() + at_, length);
  at_ += length;
  return length;
}

namespace {

constexpr std::uint64_t kLeastIntervalNs = 10'000'000;
constexpr std::uint64_t kMostIntervalNs = 3'600'000'000'000;

// A number of nanoseconds, if the query has one; usage error where it has something else.
Status read_ns(const HttpRequest& request, const char* name, std::uint64_t least, std::optional<std::uint64_t>& value) {
  const auto text = request.query(name);
  if (!text) return success();
  std::uint64_t ns = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), ns);
  if (error != std::errc{} || end != text->data() + text->size() || ns < least || ns > kMostIntervalNs) {
    return failure(std::string(name) + ": " + std::to_string(least) + " to " + std::to_string(kMostIntervalNs) +
                   " nanoseconds expected, not '" + *text + "'");
  }
  value = ns;
  return success();
}

// Each of the processes is this user's: what descends from them is theirs.
bool are_of(const system::Selection& selection, uid_t user) {
  if (selection.by != system::SelectBy::pids) return false;
  const system::ProcTasks tasks("/proc");
  return std::ranges::all_of(selection.pids, [&](std::uint32_t pid) {
    const auto task = tasks.owned(pid);
    return task && task->user == user;
  });
}

Result<WatchWish> wish_of(const WatchPlace& place, const HttpRequest& request) {
  WatchWish wish;
  wish.names = place.names->for_client(request);
  std::optional<std::uint64_t> interval_ns;
  if (Status read = read_ns(request, "interval_ns", kLeastIntervalNs, interval_ns); !read) return read.error();
  if (interval_ns) wish.interval_ns = *interval_ns;
  if (Status read = read_ns(request, "duration_ns", 1, wish.duration_ns); !read) return read.error();
  if (const auto each = request.query("losses")) {
    if (*each != "each") return failure("losses: 'each' expected, not '" + *each + "'");
    wish.each_loss = true;
  }
  const auto made = system::make_selection(request.query("pids"), request.query("comm"), request.query("cgroup"));
  if (!made) return made.error();
  const bool by_pid = made.value().by == system::SelectBy::pids;
  if (Status same = system::check_client(request.client(), by_pid); !same) return same.error();
  auto settled = system::TaskSelector().settle(made.value());
  if (!settled) return settled.error();
  wish.selection = std::move(settled).value();
  wish.own = wish.names.user() != nullptr && are_of(wish.selection, *wish.names.user());
  return wish;
}

}  // namespace

StreamReply open_watch(const WatchPlace& place, const HttpRequest& request) {
  auto wish = wish_of(place, request);
  if (!wish) return http_error(400, wish.error().line());
  const auto group = place.sessions.open(wish.value().selection.by == system::SelectBy::all, wish.value().each_loss);
  if (!group) return http_error(423, "too many watch at the same time: wait until one of them has ended");
  return std::make_unique<WatchStream>(place, std::move(wish).value(), *group);
}

}  // namespace noised::daemon
