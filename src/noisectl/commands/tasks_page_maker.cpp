// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/tasks_page_maker.h"

#include <vector>

#include "noisectl/commands/visitors.h"
#include "noisectl/replay/replay_watch.h"
#include "page/collector.h"
#include "page/tasks_page.h"

namespace noised::client {
namespace {

class LongestLosses : public recording::PlayerVisitor {
 public:
  explicit LongestLosses(const recording::Playback& playback) : playback_(playback) {}

  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override {
    if (!longest_.wants(loss.detour.end_ns - loss.detour.start_ns)) return;
    longest_.add({to_view(playback_, cpu, loss, ledger, details), Category::unexplained});
  }

  [[nodiscard]] std::vector<DetourView> sorted() const {
    std::vector<DetourView> views;
    for (page::LongDetour& each : longest_.sorted()) views.push_back(std::move(each.view));
    return views;
  }

 private:
  const recording::Playback& playback_;
  page::LongestDetours longest_{page::kMostListedLosses};
};

}  // namespace

Result<MadePage> make_tasks_page(const Measured& measured) {
  auto opened = measured.play();
  if (!opened) return opened.error();
  recording::Player& player = opened.value();
  const recording::Playback& playback = player.playback();
  const system::Selection everybody;
  RecordedTasks tasks(everybody, playback.sources());
  tasks.settle();
  ReplayedAccount account(tasks, playback);
  LongestLosses losses(playback);
  Visitors visitors({&account, &losses});
  play_all(player, &visitors);
  WatchReport watched = account.report(player);
  watched.selection = describe(everybody);
  const std::vector<DetourView> longest = losses.sorted();
  const recording::Description& description = playback.description();
  const std::string text = page::render_tasks(
      {watched, player.report(), player.status(), description, longest, description.base.clock.monotonic_ns});
  return MadePage{text, Measured::whole(player)};
}

}  // namespace noised::client
