// SPDX-License-Identifier: Apache-2.0
#include "export/ctf/ctf.h"

#include "base/files.h"
#include "export/ctf/ctf_loops.h"
#include "export/ctf/ctf_metadata.h"
#include "export/ctf/ctf_tasks.h"
#include "export/new_file.h"

namespace noised::exports {

Status export_ctf(const Play& play, const std::string& out, const Progress& progress) {
  allow_open_files();
  auto played = play();
  if (!played) return played.error();
  recording::Player& player = played.value();
  auto directory = NewDirectory::create(out);
  if (!directory) return directory.error();
  auto metadata = directory.value()->file("metadata");
  if (!metadata) return metadata.error();
  const auto write = player.playback().watches_tasks() ? write_ctf_tasks : write_ctf_loops;
  const auto moved = write(player, *directory.value(), progress);
  if (!moved) return moved.error();
  metadata.value().write(ctf_metadata(player, moved.value()));
  if (Status finished = metadata.value().finish(); !finished) return finished;
  directory.value()->keep();
  return exported_whole(player);
}

}  // namespace noised::exports
