// SPDX-License-Identifier: Apache-2.0
// noised: the daemon.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "model/json_parts.h"
#include "noised/daemon.h"
#include "noised/low_noise.h"
#include "noised/ticker.h"
#include "recording/player.h"
#include "views/lost.h"
#include "views/views.h"

namespace {

int fail(const noised::Error& error) {
  // Not fmt::print, which throws when standard error takes nothing.
  std::fputs(fmt::format("noised: {}\n", error.line()).c_str(), stderr);
  return static_cast<int>(error.code);
}

int print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  return fail(noised::failure(fmt::format("write to standard output: {}", std::strerror(errno)),
                              "check where it leads: a full disk, or a reader that has gone"));
}

int print_report(const noised::Report& report, std::optional<noised::daemon::ReportFormat> format) {
  const bool json = format == noised::daemon::ReportFormat::json;
  const int printed = print(json ? noised::views::to_json(report) + "\n" : noised::views::to_text(report));
  if (printed != 0) return printed;
  const noised::Status sighted = noised::views::check_not_blind(report.lost);
  return sighted ? 0 : fail(sighted.error());
}

int replay(const noised::daemon::Options& options) {
  auto player = noised::recording::Player::open(options.replay);
  if (!player) return fail(player.error());
  while (player.value().step()) {
  }
  const int printed = print_report(player.value().report(), options.report);
  if (player.value().damage().empty()) return printed;
  return fail(noised::failure(player.value().damage(), "everything before that was shown"));
}

}  // namespace

int main(int argc, char** argv) {
  noised::daemon::keep_heap();
  const auto options = noised::daemon::parse_options(argc, argv);
  if (!options) return fail(options.error());
  if (options.value().output) return print(*options.value().output);
  if (!options.value().replay.empty()) return replay(options.value());
  noised::daemon::Log log(options.value().config.log_level);
  noised::daemon::block_stop_signals();

  auto daemon = noised::daemon::Daemon::start(options.value(), log);
  if (!daemon) return fail(daemon.error());
  if (noised::Status ran = daemon.value()->run(); !ran) return fail(ran.error());
  const noised::Result<noised::Report> report = daemon.value()->finish();
  daemon.value().reset();
  if (!report) return fail(report.error());
  return options.value().report ? print_report(report.value(), options.value().report) : 0;
}
