// SPDX-License-Identifier: Apache-2.0
#include "export/ctf.h"

#include "base/open_files.h"
#include "export/ctf_loops.h"
#include "export/ctf_metadata.h"
#include "export/ctf_tasks.h"
#include "export/new_directory.h"

namespace noised {

Status export_ctf(const Play& play, const std::string& out, const Progress& progress) {
  allow_open_files();
  auto played = play();
  if (!played) return played.error();
  Player& player = played.value();
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

}  // namespace noised
