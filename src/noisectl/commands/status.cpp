// SPDX-License-Identifier: Apache-2.0
// noisectl status: the daemon's own state, or that of the one that was recorded.
#include "noisectl/client/answer.h"
#include "noisectl/client/measured.h"
#include "noisectl/commands/options.h"
#include "noisectl/replay/replay.h"
#include "views/lost.h"
#include "views/views.h"

namespace noised::client {
namespace {

struct StatusOptions : SharedOptions {
  bool json = false;
};

class StatusCommand final : public CommandOf<StatusOptions> {
 public:
  StatusCommand() : CommandOf("status", "the daemon's own state, and what it cannot see") {}

  void describe(CLI::App& sub) override { add_json(sub, options.json); }
  Status run() override {
    if (!options.replay.empty()) {
      return run_replay(options.replay, [this](recording::Player& player) {
        play_all(player);
        const StatusView status = player.status();
        return print_text(options.json ? views::to_json(status) : views::to_text(status));
      });
    }
    return show_answer(
        options.socket, "/v1/status", options.json, views::parse_status,
        [](const StatusView& status) { return print_text(views::to_text(status)); },
        [](const StatusView& status) { return views::check_not_blind(status.lost); });
  }
};

}  // namespace

std::unique_ptr<Command> status_command() { return std::make_unique<StatusCommand>(); }

}  // namespace noised::client
