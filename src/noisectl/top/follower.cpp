// SPDX-License-Identifier: Apache-2.0
// First what the daemon keeps, then what it streams, joined at the first detour of the stream.
#include "noisectl/top/follower.h"

#include <chrono>
#include <utility>

#include "views/detour.h"
#include "views/views.h"

namespace noised::client {
namespace {

constexpr std::chrono::milliseconds kFollowerAnswerTime{3000};
constexpr std::chrono::milliseconds kRetryTime{1000};
constexpr const char* kKeptPath = "/v1/detours?follow=0";
constexpr const char* kStreamPath = "/v1/detours?follow=1";

/// A line of a stream: a detour, or how many are missing in its place.
struct Line {
  std::optional<std::uint64_t> missed;
  DetourView detour;
};

void add_to(TopChains& chains, const Line& line) {
  if (line.missed)
    chains.add_missed(*line.missed);
  else
    chains.add(line.detour);
}

/// Gives `take` the lines of a stream, until either ends or `stop` is set; what `take` returns is whether it wants
/// more.
template <typename Take>
Result<StreamEnd> read_lines(HttpClient& client, const char* path, std::chrono::milliseconds timeout, const Event& stop,
                             const Take& take) {
  Status read = success();
  Result<StreamEnd> end = client.stream(path, timeout, stop.fd(), [&](std::string_view text) {
    Line line{views::parse_lost_line(text), {}};
    if (!line.missed) {
      Result<DetourView> detour = views::parse_detour(text);
      if (!detour) {
        read = detour.error();
        return false;
      }
      line.detour = std::move(detour).value();
    }
    const Result<bool> more = take(line);
    if (!more) read = more.error();
    return more.ok() && more.value();
  });
  if (!read) return read.error();
  return end;
}

bool same(const DetourView& a, const DetourView& b) { return a.cpu == b.cpu && a.start_ns == b.start_ns; }

}  // namespace

Result<std::unique_ptr<TopFollower>> TopFollower::start(const std::string& socket) {
  Result<HttpClient> stream = HttpClient::create(socket);
  if (!stream) return stream.error();
  Result<HttpClient> kept = HttpClient::create(socket);
  if (!kept) return kept.error();
  std::unique_ptr<TopFollower> follower(new TopFollower(std::move(stream).value(), std::move(kept).value()));
  if (!follower->changed_) return failure("eventfd", "too many open files? see 'ulimit -n'");
  follower->thread_ = std::thread(&TopFollower::run, follower.get());
  return follower;
}

TopFollower::~TopFollower() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.set();
  if (thread_.joinable()) thread_.join();
}

void TopFollower::follow(std::optional<TopKey> source) {
  const std::lock_guard lock(mutex_);
  if (wanted_ == source) return;
  wanted_ = std::move(source);
  chains_.reset();
  problem_.clear();
  changed_.set();
}

std::optional<TopChainsView> TopFollower::view() {
  const std::lock_guard lock(mutex_);
  if (!wanted_ || (!chains_ && problem_.empty())) return std::nullopt;
  TopChainsView view = chains_ ? chains_->view() : TopChains(*wanted_).view();
  view.problem = problem_;
  return view;
}

void TopFollower::run() {
  leave_signals_to_main_thread();
  for (;;) {
    changed_.clear();
    std::optional<TopKey> source;
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return;
      source = wanted_;
    }
    if (!source) {
      changed_.wait();
      continue;
    }
    report_problem(count(*source));
    (void)changed_.wait(kRetryTime);
  }
}

// A change that is under way makes void what this thread has counted for the source before it.
void TopFollower::publish(TopChains chains) {
  const std::lock_guard lock(mutex_);
  if (changed_.wait(std::chrono::milliseconds{0})) return;
  chains_ = std::move(chains);
  problem_.clear();
}

void TopFollower::report_problem(std::string problem) {
  const std::lock_guard lock(mutex_);
  if (!changed_.wait(std::chrono::milliseconds{0})) problem_ = std::move(problem);
}

Result<TopChains> TopFollower::count_kept(const TopKey& source, const DetourView* until) {
  TopChains chains(source);
  bool joined = false;
  const Result<StreamEnd> end =
      read_lines(kept_, kKeptPath, kFollowerAnswerTime, changed_, [&](const Line& line) -> Result<bool> {
        joined = until != nullptr && !line.missed && same(line.detour, *until);
        if (!joined) add_to(chains, line);
        return !joined;
      });
  if (!end) return end.error();
  // The daemon no longer keeps the stream's first detour: all that it keeps is younger, and will be streamed.
  if (until != nullptr && !joined) return TopChains(source);
  return chains;
}

std::string TopFollower::count(const TopKey& source) {
  // At once, for on a CPU without detours the stream's first may be long in coming.
  Result<TopChains> kept = count_kept(source, nullptr);
  if (!kept) return kept.error().line();
  publish(std::move(kept).value());
  bool joined = false;
  const Result<StreamEnd> end =
      read_lines(stream_, kStreamPath, std::chrono::milliseconds{0}, changed_, [&](const Line& line) -> Result<bool> {
        if (!joined) {
          if (line.missed) return true;  // before the first detour: counted with what is kept
          Result<TopChains> before = count_kept(source, &line.detour);
          if (!before) return before.error();
          publish(std::move(before).value());
          joined = true;
        }
        const std::lock_guard lock(mutex_);
        if (chains_) add_to(*chains_, line);
        return true;
      });
  if (!end) return end.error().line();
  return "the daemon ended its stream of detours";
}

}  // namespace noised::client
