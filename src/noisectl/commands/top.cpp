// SPDX-License-Identifier: Apache-2.0
// noisectl top: the live view, of a daemon or of a recording.
#include <cmath>

#include "noisectl/commands/options.h"
#include "noisectl/replay/replay.h"
#include "noisectl/top/screen.h"

namespace noised::client {
namespace {

class TopCommand final : public CommandOf<TopOptions> {
 public:
  TopCommand() : CommandOf("top", "live view of who takes the CPUs away") {}

  void describe(CLI::App& sub) override {
    add_duration(sub, duration_, "end after this time");
    sub.add_option("--interval", interval_, "time between two updates (1s)")->type_name("TIME");
    sub.add_option("--speed", options.speed, "of a recording: so many times as fast as it happened (1)")
        ->needs(sub.get_parent()->get_option("--replay"))
        ->type_name("N");
  }
  Status read() override {
    if (Status read = read_interval(interval_, options.interval_ns); !read) return read;
    return read_duration(duration_, options.duration_ns);
  }
  [[nodiscard]] Status check_replay() const override {
    if (std::isfinite(options.speed) && options.speed > 0) return success();
    return usage_error("--speed: a recording is played forward", "give a number above 0, such as 10");
  }
  Status run() override { return options.replay.empty() ? run_top(options) : run_replay_top(options); }

 private:
  std::string duration_;
  std::string interval_;
};

}  // namespace

std::unique_ptr<Command> top_command() { return std::make_unique<TopCommand>(); }

}  // namespace noised::client
