// SPDX-License-Identifier: Apache-2.0
// A child makes the noise, a stream shows it, marks tell where the one begins and ends in the other.
#include "noisectl/commands/selftest_session.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "noisectl/client/quiet.h"
#include "noisectl/commands/selftest.h"
#include "selftest/child.h"
#include "views/detour.h"
#include "views/views.h"

namespace noised::client {
namespace {

using selftest::Child;
using selftest::Identity;
using selftest::Truth;

// The marks and a stream that is behind add this much to a generator's own time, at most.
constexpr std::chrono::seconds kPatience{30};

bool readable(int fd) {
  pollfd asked{fd, POLLIN, 0};
  return poll(&asked, 1, 0) > 0;
}

/// Readable when either of two descriptors is; a negative one never is.
Result<Descriptor> either(int one, int other) {
  Descriptor both(epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {one, other}) {
    if (fd < 0) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return failure(std::string("epoll_ctl: ") + errno_text(errno));
  }
  return both;
}

bool shows_task(const DetourView& detour, std::string_view name) {
  return std::any_of(detour.entries.begin(), detour.entries.end(),
                     [name](const DetourEntryView& entry) { return entry.kind == "task" && entry.name == name; });
}

/// Keeps what the stream shows of one CPU, and tells the child when its marks are seen.
class Follower {
 public:
  Follower(Child& child, unsigned cpu, Observation& observation)
      : child_(child), cpu_(cpu), observation_(observation), unshown_(cpu, observation.losses.unshown) {}

  /// False ends the stream: the second mark was seen.
  bool line(std::string_view line) {
    if (line.empty()) return true;
    if (views::parse_lost_line(line)) {
      unshown_.missing();
      return true;
    }
    Result<DetourView> detour = views::parse_detour(line);
    if (!detour) {
      problem_ = detour.error();
      return false;
    }
    const DetourView& view = detour.value();
    unshown_.shown(view.cpu, view.start_ns, view.start_ns + view.duration_ns);
    return detour.value().cpu != cpu_ || keep(std::move(detour.value()));
  }

  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  bool keep(DetourView detour) {
    if (!begun_ && shows_task(detour, selftest::kBeginMark)) {
      begun_ = true;
      child_.go();
    }
    ended_ = begun_ && shows_task(detour, selftest::kEndMark);
    observation_.detours.push_back(std::move(detour));
    if (ended_) child_.stop();
    return !ended_;
  }

  Child& child_;
  unsigned cpu_;
  Observation& observation_;
  std::optional<Error> problem_;
  Unshown unshown_;
  bool begun_ = false;
  bool ended_ = false;
};

std::uint64_t total(const ReportLost& lost) { return lost.events + lost.detours + lost.unpaired + lost.missed_runs; }

Status follow(HttpClient& client, Child& child, int stop_fd, std::chrono::milliseconds timeout, unsigned cpu,
              Observation& observation) {
  const Result<Descriptor> stop = either(stop_fd, child.fd());
  if (!stop) return stop.error();
  Follower follower(child, cpu, observation);
  const Result<StreamEnd> end = client.stream("/v1/detours?follow=1", timeout, stop.value().get(),
                                              [&follower](std::string_view line) { return follower.line(line); });
  if (!end) return end.error();
  if (follower.problem()) return *follower.problem();
  if (readable(stop_fd)) return failure("interrupted");
  if (end.value() == StreamEnd::finished) return failure("the daemon went away", "see its log for the reason");
  return success();
}

bool sees(const StatusView& status, const std::vector<Identity>& sources) {
  return !sources.empty() && std::all_of(sources.begin(), sources.end(), [&](const Identity& source) {
    return std::any_of(status.programs.begin(), status.programs.end(), [&](const ProgramView& program) {
      return program.kind == source.kind && !program.attached.empty();
    });
  });
}

}  // namespace

Result<Observation> observe(HttpClient& client, const selftest::Mode& mode, const selftest::GeneratorOptions& options,
                            int stop_fd) {
  const Result<StatusView> before = ask_status(client);
  if (!before) return before.error();
  Observation observation;
  Result<Child> child = Child::start(mode, options);
  if (!child) return child.error();
  const auto noise =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(options.duration_ns));
  if (Status followed = follow(client, child.value(), stop_fd, noise + kPatience, options.cpu, observation); !followed)
    return followed.error();
  Result<Truth> truth = child.value().truth();
  if (!truth) {
    observation.not_made = truth.error().what;
    return observation;
  }
  observation.truth = std::move(truth.value());
  observation.truth.mode = mode.name;
  observation.truth.cpu = options.cpu;
  const Result<StatusView> after = ask_status(client);
  if (!after) return after.error();
  observation.losses.counted =
      total(after.value().lost) - std::min(total(after.value().lost), total(before.value().lost));
  adapt_to(after.value(), observation.truth);
  return observation;
}

void adapt_to(const StatusView& status, Truth& truth) {
  if (!truth.unsupported.empty() || sees(status, truth.sources)) return;
  if (sees(status, truth.fallback)) {
    truth.sources = truth.fallback;
    if (truth.fallback_kernel) truth.kernel = truth.fallback_kernel;
    return;
  }
  truth.unsupported = "the daemon does not see the kind " + truth.sources.front().kind + " here";
}

}  // namespace noised::client
