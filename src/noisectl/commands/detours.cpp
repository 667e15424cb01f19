// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/detours.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/clocks.h"
#include "noisectl/client/http_client.h"
#include "noisectl/client/output.h"
#include "noisectl/client/quiet.h"
#include "noisectl/commands/options.h"
#include "noisectl/replay/replay.h"
#include "recording/player.h"
#include "views/detour.h"
#include "views/lost.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::client {
namespace {

// On a terminal, what is longer than its lines goes on below; elsewhere a detour is a line.
std::string line_of(const DetourView& view, bool json, const views::StartClock& clock) {
  constexpr std::size_t kIndent = 7;  // behind the CPU
  return json ? views::to_json(view) : views::wrapped(views::to_text(view, clock), columns_of(stdout), kIndent);
}

// By the offset of now: the clocks stay within what somebody corrects the time of day by.
Result<views::StartClock> clock_of(HttpClient& client, views::ShownClock shown) {
  views::StartClock clock{shown, 0};
  if (shown == views::ShownClock::wall) {
    const std::chrono::nanoseconds today = std::chrono::system_clock::now().time_since_epoch();
    clock.zero_ns = static_cast<std::uint64_t>(today.count()) - monotonic_ns();
  }
  if (shown != views::ShownClock::start) return clock;
  const Result<StatusView> status = ask_status(client);
  if (!status) return status.error();
  clock.zero_ns = monotonic_ns() - status.value().uptime_ns;
  return clock;
}

// A recording has both, as of its beginning.
Result<views::StartClock> clock_of(const recording::Playback& playback, views::ShownClock shown) {
  const recording::ClockReading& began = playback.description().base.clock;
  if (shown == views::ShownClock::boot) return views::StartClock{};
  if (began.realtime_ns == 0) return failure("this recording does not say when it began", "leave --clock out");
  return views::StartClock{
      shown, shown == views::ShownClock::wall ? began.realtime_ns - began.monotonic_ns : began.monotonic_ns};
}

/// Prints the lines of a detour stream, up to a number of detours.
class DetourPrinter {
 public:
  DetourPrinter(const DetoursOptions& options, const views::StartClock& clock)
      : options_(options), clock_(clock), left_(options.count) {}

  /// False ends the stream.
  bool line(std::string_view line) {
    if (line.empty()) return true;
    const auto lost = views::parse_lost_line(line);
    Result<std::string> shown = show(line, lost);
    if (!shown) {
      problem_ = shown.error();
      return false;
    }
    if (!output_.write(shown.value() + "\n")) return false;
    // A reader of a live stream wants each line now; a listing of what is kept is one piece.
    if (options_.follow && !output_.flush()) return false;
    return lost || !left_ || --*left_ > 0;
  }

  Status finish() {
    Status done = output_.finish();
    return problem_ ? Status(*problem_) : done;
  }

 private:
  [[nodiscard]] Result<std::string> show(std::string_view line, std::optional<std::uint64_t> lost) const {
    if (options_.json) return std::string(line);
    if (lost) return views::lost_line_text(*lost);
    const Result<DetourView> detour = views::parse_detour(line);
    if (!detour) return detour.error();
    return line_of(detour.value(), false, clock_);
  }

  const DetoursOptions& options_;
  views::StartClock clock_;
  Output output_{stdout};
  std::optional<std::uint64_t> left_;
  std::optional<Error> problem_;
};

/// Prints the detours of a recording that were asked for.
class DetourLines : public recording::PlayerVisitor {
 public:
  DetourLines(const DetoursOptions& options, const recording::Playback& playback, const views::StartClock& clock)
      : options_(options), playback_(playback), clock_(clock), left_(options.count) {}

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override {
    if (is_wanted(ledger)) print(to_view(playback_, cpu, ledger, details));
  }
  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override {
    if (is_wanted(ledger)) print(to_view(playback_, cpu, loss, ledger, details));
  }
  [[nodiscard]] bool done() const { return done_; }
  Status finish() { return output_.finish(); }

 private:
  [[nodiscard]] bool is_wanted(const account::DetourLedger& ledger) const {
    return !done_ && ledger.detour.end_ns - ledger.detour.start_ns >= options_.min_ns;
  }
  void print(const DetourView& view) {
    done_ = !output_.write(line_of(view, options_.json, clock_) + "\n") || (left_ && --*left_ == 0);
  }

  const DetoursOptions& options_;
  const recording::Playback& playback_;
  views::StartClock clock_;
  std::optional<std::uint64_t> left_;
  Output output_{stdout};
  bool done_ = false;
};

/// Keeps the longest detours of a recording, the longest first.
class LongestLines : public recording::PlayerVisitor {
 public:
  LongestLines(const DetoursOptions& options, const recording::Playback& playback, const views::StartClock& clock)
      : options_(options), playback_(playback), clock_(clock) {}

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override {
    if (is_wanted(ledger)) keep(to_view(playback_, cpu, ledger, details));
  }
  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override {
    if (is_wanted(ledger)) keep(to_view(playback_, cpu, loss, ledger, details));
  }
  [[nodiscard]] Status print() const {
    Output output(stdout);
    for (const DetourView& view : longest_) {
      if (!output.write(line_of(view, options_.json, clock_) + "\n")) break;
    }
    return output.finish();
  }

 private:
  [[nodiscard]] bool is_wanted(const account::DetourLedger& ledger) const {
    const std::uint64_t ns = ledger.detour.end_ns - ledger.detour.start_ns;
    return ns >= options_.min_ns && (longest_.size() < options_.longest || ns > longest_.back().duration_ns);
  }
  void keep(const DetourView& view) {
    if (longest_.size() == options_.longest) longest_.pop_back();
    longest_.insert(
        std::ranges::upper_bound(longest_, view.duration_ns, std::ranges::greater(), &DetourView::duration_ns), view);
  }

  const DetoursOptions& options_;
  const recording::Playback& playback_;
  views::StartClock clock_;
  std::vector<DetourView> longest_;
};

Status replay_detours(const DetoursOptions& options) {
  if (options.longest != 0) {
    return run_replay(options.replay, [&options](recording::Player& player) {
      const auto clock = clock_of(player.playback(), options.clock);
      if (!clock) return Status(clock.error());
      LongestLines lines(options, player.playback(), clock.value());
      while (player.step(&lines)) {
      }
      return lines.print();
    });
  }
  return run_replay(options.replay, [&options](recording::Player& player) {
    const auto clock = clock_of(player.playback(), options.clock);
    if (!clock) return Status(clock.error());
    DetourLines lines(options, player.playback(), clock.value());
    while (!lines.done() && player.step(&lines)) {
    }
    return lines.finish();
  });
}

class DetoursCommand final : public CommandOf<DetoursOptions> {
 public:
  DetoursCommand() : CommandOf("detours", "the latest detours, one a line") {}

  void describe(CLI::App& sub) override {
    auto* const follow = sub.add_flag("--follow", options.follow, "go on as they happen");
    sub.add_option("--min", min_, "only those at least this long")->type_name("TIME");
    auto* const count = sub.add_option("--count", options.count, "end after so many")
                            ->check(number_from<std::uint64_t>(1))
                            ->type_name("N");
    sub.add_option("--longest", options.longest, "the longest since the start, so many of them")
        ->check(number_from<std::uint32_t>(1))
        ->excludes(follow)
        ->excludes(count)
        ->type_name("N");
    static const std::map<std::string, views::ShownClock> kClocks{
        {"boot", views::ShownClock::boot}, {"wall", views::ShownClock::wall}, {"start", views::ShownClock::start}};
    sub.add_option("--clock", options.clock,
                   "when they began: since boot, by the time of day (UTC), or since the start")
        ->transform(CLI::CheckedTransformer(kClocks).description(""))
        ->type_name("boot|wall|start");
    add_json(sub, options.json);
  }
  Status read() override { return read_time("--min", min_, options.min_ns); }
  Status run() override { return run_detours(options); }

 private:
  std::string min_;
};

}  // namespace

Status run_detours(const DetoursOptions& options) {
  if (!options.replay.empty()) return replay_detours(options);
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  if (options.follow) keep_off_probed(options.socket);
  const StopSignals stop;
  const auto clock = clock_of(client.value(), options.clock);
  if (!clock) return clock.error();
  DetourPrinter printer(options, clock.value());
  const std::string which = options.longest != 0 ? fmt::format("longest={}", options.longest)
                                                 : fmt::format("follow={}", options.follow ? 1 : 0);
  const std::string path = fmt::format("/v1/detours?{}&min_ns={}", which, options.min_ns);
  const Result<StreamEnd> end =
      client.value().stream(path, options.follow ? std::chrono::seconds{0} : kAnswerTime, stop.fd(),
                            [&printer](std::string_view line) { return printer.line(line); });
  if (Status printed = printer.finish(); !printed) return printed;
  if (!end) return end.error();
  if (options.follow && end.value() == StreamEnd::finished)
    return failure("daemon at " + options.socket + " went away", "see its log for the reason");
  return success();
}

std::unique_ptr<Command> detours_command() { return std::make_unique<DetoursCommand>(); }

}  // namespace noised::client
