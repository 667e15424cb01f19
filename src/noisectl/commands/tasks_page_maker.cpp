// SPDX-License-Identifier: Apache-2.0
#include "noisectl/tasks_page_maker.h"

#include <vector>

#include "noisectl/replay_watch.h"
#include "noisectl/visitors.h"
#include "page/longest_detours.h"
#include "page/tasks_page.h"

namespace noised::client {
namespace {

class LongestLosses : public PlayerVisitor {
 public:
  explicit LongestLosses(const Playback& playback) : playback_(playback) {}

  void loss(std::size_t cpu, const Loss& loss, const Ledger& ledger, std::string_view details) override {
    if (!longest_.wants(loss.detour.end_ns - loss.detour.start_ns)) return;
    longest_.add({to_view(playback_, cpu, loss, ledger, details), Category::unexplained});
  }

  [[nodiscard]] std::vector<DetourView> sorted() const {
    std::vector<DetourView> views;
    for (page::LongDetour& each : longest_.sorted()) views.push_back(std::move(each.view));
    return views;
  }

 private:
  const Playback& playback_;
  page::LongestDetours longest_{page::kMostListedLosses};
};

}  // namespace

Result<MadePage> make_tasks_page(const Measured& measured) {
  auto opened = measured.play();
  if (!opened) return opened.error();
  Player& player = opened.value();
  const Playback& playback = player.playback();
  const Selection everybody;
  RecordedTasks tasks(everybody, playback.sources());
  tasks.settle();
  ReplayedAccount account(tasks, playback);
  LongestLosses losses(playback);
  Visitors visitors({&account, &losses});
  play_all(player, &visitors);
  WatchReport watched = account.report(player);
  watched.selection = describe(everybody);
  const std::vector<DetourView> longest = losses.sorted();
  const Description& description = playback.description();
  const std::string text = page::render_tasks(
      {watched, player.report(), player.status(), description, longest, description.base.clock.monotonic_ns});
  return MadePage{text, Measured::whole(player)};
}

}  // namespace noised::client
