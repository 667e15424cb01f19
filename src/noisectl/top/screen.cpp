// SPDX-License-Identifier: Apache-2.0
// The loop of the live view: take what the threads have, draw, wait for a key, a signal or news. It never waits for the
// daemon.
#include "noisectl/top/screen.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "noisectl/client/output.h"
#include "noisectl/client/quiet.h"
#include "noisectl/top/feed.h"
#include "noisectl/top/follower.h"
#include "noisectl/top/layout.h"
#include "noisectl/top/model.h"
#include "noisectl/top/sampler.h"
#include "noisectl/top/terminal.h"

namespace noised::client {
namespace {

using Clock = std::chrono::steady_clock;

// Chains of the opened source are looked at this often: fluent to the eye, and 1,000 of them take 1 ms to sort.
constexpr std::chrono::milliseconds kChainsInterval{250};

// A clock's nanoseconds are signed; half of them, 146 years, never end either.
std::chrono::nanoseconds span(std::uint64_t ns) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(ns, std::uint64_t{1} << 62)));
}

/// Milliseconds to wait, rounded up so as not to wake just before the moment.
int wait_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

/// A daemon's samples and detours.
class DaemonFeed : public TopFeed {
 public:
  DaemonFeed(std::unique_ptr<TopSampler> sampler, std::unique_ptr<TopFollower> follower)
      : sampler_(std::move(sampler)), follower_(std::move(follower)) {}

  [[nodiscard]] int fd() const override { return sampler_->fd(); }
  std::optional<Result<TopSample>> take() override { return sampler_->take(); }
  void pause(bool paused) override { sampler_->pause(paused); }
  void follow(std::optional<TopKey> source) override { follower_->follow(std::move(source)); }
  std::optional<TopChainsView> view() override { return follower_->view(); }

 private:
  std::unique_ptr<TopSampler> sampler_;
  std::unique_ptr<TopFollower> follower_;
};

// Paused, news is left where it is: a recording's last sample does not come again.
void take_news(TopFeed& feed, TopModel& model) {
  if (std::optional<Result<TopSample>> news = model.paused() ? std::nullopt : feed.take()) {
    if (*news)
      model.add(std::move(*news).value());
    else
      model.unreachable(news->error().line());
  }
  if (!model.opened()) return;
  if (std::optional<TopChainsView> chains = feed.view()) model.add(std::move(*chains));
}

/// False to quit.
bool answer_keys(const TopTerminal& terminal, TopModel& model) {
  while (const std::optional<TopInput> input = terminal.input()) {
    const auto page = std::max<long>(1, static_cast<long>(visible_rows(model, terminal.height())));
    if (const long rows = input->rows + input->pages * page; rows != 0) model.move(rows);
    if (input->character != 0 && !model.press(input->character)) return false;
  }
  return true;
}

/// Until a key, a signal, the terminal's end or `end` ends it.
void loop(TopFeed& feed, const TopTerminal& terminal, const StopSignals& stop, Clock::time_point end) {
  TopModel model;
  while (Clock::now() < end) {
    take_news(feed, model);
    model.fit(visible_rows(model, terminal.height()));
    terminal.draw(lay_out(model, terminal.width(), terminal.height()));
    std::array<pollfd, 3> wake{
        {{STDIN_FILENO, POLLIN, 0}, {stop.fd(), POLLIN, 0}, {model.paused() ? -1 : feed.fd(), POLLIN, 0}}};
    poll(wake.data(), wake.size(), wait_ms(model.opened() ? std::min(end, Clock::now() + kChainsInterval) : end));
    // A terminal that hung up stays readable for ever.
    if (wake[1].revents != 0 || (wake[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return;
    if (!answer_keys(terminal, model)) return;
    feed.pause(model.paused());
    feed.follow(model.opened());
  }
}

}  // namespace

Status need_terminal() {
  if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) return success();
  return usage_error("top needs a terminal", "use 'noisectl detours' or 'noisectl report'");
}

Status show_top(const TopOptions& options, const StopSignals& stop, TopFeed& feed) {
  Result<std::unique_ptr<TopTerminal>> terminal = TopTerminal::open();
  if (!terminal) return terminal.error();
  const Clock::time_point end =
      options.duration_ns ? Clock::now() + span(*options.duration_ns) : Clock::time_point::max();
  loop(feed, *terminal.value(), stop, end);
  return success();
}

Status run_top(const TopOptions& options) {
  if (Status terminal = need_terminal(); !terminal) return terminal;
  keep_off_probed(options.socket);
  const StopSignals stop;
  Result<std::unique_ptr<TopSampler>> sampler = TopSampler::start(options.socket, span(options.interval_ns));
  if (!sampler) return sampler.error();
  Result<std::unique_ptr<TopFollower>> follower = TopFollower::start(options.socket);
  if (!follower) return follower.error();
  DaemonFeed feed(std::move(sampler).value(), std::move(follower).value());
  return show_top(options, stop, feed);
}

}  // namespace noised::client
