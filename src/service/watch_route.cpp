// SPDX-License-Identifier: Apache-2.0
// Parameters are checked here, so that a stream that was opened has something to tell.
#include "service/watch_route.h"

#include <charconv>
#include <memory>

namespace noised {
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

Result<WatchWish> wish_of(const HttpRequest& request) {
  WatchWish wish;
  std::optional<std::uint64_t> interval_ns;
  if (Status read = read_ns(request, "interval_ns", kLeastIntervalNs, interval_ns); !read) return read.error();
  if (interval_ns) wish.interval_ns = *interval_ns;
  if (Status read = read_ns(request, "duration_ns", 1, wish.duration_ns); !read) return read.error();
  if (const auto each = request.query("losses")) {
    if (*each != "each") return failure("losses: 'each' expected, not '" + *each + "'");
    wish.each_loss = true;
  }
  const auto made = make_selection(request.query("pids"), request.query("comm"), request.query("cgroup"));
  if (!made) return made.error();
  auto settled = TaskSelector().settle(made.value());
  if (!settled) return settled.error();
  wish.selection = std::move(settled).value();
  return wish;
}

}  // namespace

StreamReply open_watch(const WatchPlace& place, const HttpRequest& request) {
  auto wish = wish_of(request);
  if (!wish) return http_error(400, wish.error().line());
  const auto group = place.sessions.open(wish.value().selection.by == SelectBy::all, wish.value().each_loss);
  if (!group) return http_error(423, "too many watch at the same time: wait until one of them has ended");
  return std::make_unique<WatchStream>(place, std::move(wish).value(), *group);
}

}  // namespace noised
