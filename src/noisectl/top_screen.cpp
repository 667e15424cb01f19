// SPDX-License-Identifier: Apache-2.0
// The loop of the live view: take what the threads have, draw, wait for a key, a signal or news. It never waits for the
// daemon.
#include "noisectl/top_screen.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "noisectl/quiet.h"
#include "noisectl/stop_signals.h"
#include "noisectl/top_follower.h"
#include "noisectl/top_layout.h"
#include "noisectl/top_model.h"
#include "noisectl/top_sampler.h"
#include "noisectl/top_terminal.h"

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

void take_news(TopSampler& sampler, TopFollower& follower, TopModel& model) {
  if (std::optional<Result<TopSample>> news = sampler.take(); news && !model.paused()) {
    if (*news)
      model.add(std::move(*news).value());
    else
      model.unreachable(news->error().line());
  }
  if (!model.opened()) return;
  if (std::optional<TopChainsView> chains = follower.view()) model.add(std::move(*chains));
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
void loop(TopSampler& sampler, TopFollower& follower, const TopTerminal& terminal, const StopSignals& stop,
          Clock::time_point end) {
  TopModel model;
  while (Clock::now() < end) {
    take_news(sampler, follower, model);
    model.fit(visible_rows(model, terminal.height()));
    terminal.draw(lay_out(model, terminal.width(), terminal.height()));
    std::array<pollfd, 3> wake{{{STDIN_FILENO, POLLIN, 0}, {stop.fd(), POLLIN, 0}, {sampler.fd(), POLLIN, 0}}};
    poll(wake.data(), wake.size(), wait_ms(model.opened() ? std::min(end, Clock::now() + kChainsInterval) : end));
    // A terminal that hung up stays readable for ever.
    if (wake[1].revents != 0 || (wake[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return;
    if (!answer_keys(terminal, model)) return;
    sampler.pause(model.paused());
    follower.follow(model.opened());
  }
}

}  // namespace

Status run_top(const Options& options) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
    return usage_error("top needs a terminal", "use 'noisectl detours --follow' or 'noisectl report'");
  keep_off_probed(options.socket);
  const StopSignals stop;
  Result<std::unique_ptr<TopSampler>> sampler = TopSampler::start(options.socket, span(options.interval_ns));
  if (!sampler) return sampler.error();
  Result<std::unique_ptr<TopFollower>> follower = TopFollower::start(options.socket);
  if (!follower) return follower.error();
  Result<std::unique_ptr<TopTerminal>> terminal = TopTerminal::open();
  if (!terminal) return terminal.error();
  const Clock::time_point end =
      options.duration_ns ? Clock::now() + span(*options.duration_ns) : Clock::time_point::max();
  loop(*sampler.value(), *follower.value(), *terminal.value(), stop, end);
  return success();
}

}  // namespace noised::client
