// SPDX-License-Identifier: Apache-2.0
// Block by block through a file.
#include "recording/player.h"

#include "pipeline/detour_feed.h"
namespace noised {

Player::Player(BlockReader reader, std::unique_ptr<Playback> playback)
    : reader_(std::move(reader)), playback_(std::move(playback)) {}

Result<Player> Player::open(const std::string& path) {
  auto reader = BlockReader::open(path);
  if (!reader) return reader.error();
  const auto first = reader.value().next();
  if (!first || first->kind != BlockKind::description) {
    const std::string& damage = reader.value().damage();
    return failure(damage.empty() ? path + ": the recording does not begin with its description" : damage,
                   "nothing of it can be shown");
  }
  auto playback = Playback::begin(first->bytes);
  if (!playback) return failure(path + ": " + playback.error().what, playback.error().remedy);
  return Player(std::move(reader).value(), std::move(playback).value());
}

bool Player::step(PlayerVisitor* visitor) {
  if (!damage_.empty()) return false;
  const auto block = reader_.next();
  if (!block) {
    damage_ = reader_.damage();
    return false;
  }
  std::optional<std::string> problem = "a block of no known kind";
  if (block->kind == BlockKind::events) problem = playback_->play(block->bytes, visitor);
  if (problem) damage_ = reader_.where(*problem);
  return !problem;
}

double Player::progress() const {
  const std::uint64_t size = reader_.file_size();
  return size == 0 ? 1 : static_cast<double>(reader_.position()) / static_cast<double>(size);
}

RunDescription Player::run() const {
  const Description& description = playback_->description();
  const StatusView& status = description.base.status;
  RunDescription run{status.host, status.kernel, description.start, status.unsupported};
  if (!damage_.empty()) run.unsupported.push_back("the rest of the recording: " + damage_);
  if (playback_->behind()) {
    run.unsupported.emplace_back(
        "observed time and losses of the last moments: the recording ends between two of its checkpoints, its detours "
        "are newer");
  }
  return run;
}

Report Player::report() const {
  Snapshot snapshot;
  playback_->fill(snapshot);
  return build_report(snapshot, playback_->sources(), run());
}

HistogramView Player::histograms() const {
  Snapshot snapshot;
  playback_->fill(snapshot);
  return build_histograms(snapshot, playback_->sources());
}

StatusView Player::status() const {
  Snapshot snapshot;
  playback_->fill(snapshot);
  StatusView status = playback_->counts().status;
  status.lost = snapshot.lost;
  status.unsupported = run().unsupported;
  return status;
}

namespace {

void show(const Playback& playback, std::size_t cpu, const Ledger& ledger, std::string_view details,
          FeedDetour& shown) {
  ByteReader reader(details);
  EntryDetails next;
  bool more = next_details(reader, next);
  const auto describe = [&](const Ledger&, std::size_t index, FeedDetour& to) {
    while (more && next.entry < index) more = next_details(reader, next);
    if (!more || next.entry != index) return;
    (void)to.add_details(next.text);
    to.entries[to.size - 1U].cut |= next.cut;
  };
  to_feed(playback.cpu_number(cpu), ledger, playback.sources(), describe, shown);
}

}  // namespace

DetourView to_view(const Playback& playback, std::size_t cpu, const Ledger& ledger, std::string_view details) {
  FeedDetour shown;
  show(playback, cpu, ledger, details, shown);
  return to_view(shown, playback.sources());
}

DetourView to_view(const Playback& playback, std::size_t cpu, const Loss& loss, const Ledger& ledger,
                   std::string_view details) {
  FeedDetour shown;
  show(playback, cpu, ledger, details, shown);
  shown.victim = loss.name;
  shown.victim_pid = loss.pid;
  shown.loss = loss.kind;
  return to_view(shown, playback.sources());
}

}  // namespace noised
