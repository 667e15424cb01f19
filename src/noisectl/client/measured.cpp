// SPDX-License-Identifier: Apache-2.0
// What a daemon records goes to a file without a name: it may be larger than memory, and nothing of it is left behind.
#include "noisectl/client/measured.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/record.h"

namespace noised::client {
namespace {

constexpr std::uint64_t kUsualDurationNs = 10'000'000'000;

}  // namespace

Status check_loops(const MeasureOptions& options, std::string_view mode) {
  if (mode != "watch" || !options.needs_loop) return success();
  return failure(
      "tasks were watched here, and this shows what a loop measured",
      "measure with mode = \"probe\"; of watched tasks there are report (also --html), detours, histogram, top, "
      "watch and export");
}

Result<Measured> Measured::get(const MeasureOptions& options) {
  if (!options.replay.empty()) {
    std::error_code unknown;
    const auto type = std::filesystem::status(options.replay, unknown).type();
    if (type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character) {
      return usage_error(options.replay + " can be read only once",
                         "this command reads a recording again: give a file");
    }
    const auto player = recording::Player::open(options.replay);
    if (!player) return player.error();
    const std::string& mode = player.value().playback().description().base.status.mode;
    if (Status can = check_loops(options, mode); !can)
      return Error{options.replay + ": " + can.error().what, can.error().remedy, can.error().code};
    return Measured(options.replay, Descriptor());
  }
  std::error_code problem;
  const std::filesystem::path directory = std::filesystem::temp_directory_path(problem);
  if (problem) return failure("TMPDIR: " + problem.message(), "set it to a directory, or unset it");
  auto file = nameless_file(directory / "noisectl");
  if (!file) {
    return failure(file.error().what,
                   "what is measured is kept in a file meanwhile; TMPDIR can name another directory");
  }
  const std::string path = fmt::format("/proc/self/fd/{}", file.value().get());
  RecordOptions record{{options}, "", 0};
  if (!record.duration_ns) record.duration_ns = kUsualDurationNs;
  const Status recorded = record_from_daemon(record, [&]() -> Result<recording::BlockWriter> {
    Descriptor writer(::fcntl(file.value().get(), F_DUPFD_CLOEXEC, 0));
    if (!writer) return failure(fmt::format("fcntl: {}", std::strerror(errno)));
    return recording::BlockWriter::begin(std::move(writer), "the recording");
  });
  if (!recorded) return recorded.error();
  return Measured(path, std::move(file).value());
}

void play_all(recording::Player& player, recording::PlayerVisitor* visitor) {
  Progress progress("replaying");
  while (player.step(visitor)) progress.show(player.progress());
}

Status Measured::whole(const recording::Player& player) {
  if (player.damage().empty()) return success();
  return failure(player.damage(), "everything before that was shown");
}

}  // namespace noised::client
