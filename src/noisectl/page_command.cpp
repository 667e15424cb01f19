// SPDX-License-Identifier: Apache-2.0
#include "noisectl/page_command.h"

#include <memory>
#include <string>

#include "noisectl/page_file.h"
#include "noisectl/page_maker.h"
#include "noisectl/tasks_page_maker.h"

namespace noised::client {

namespace {

Result<MadePage> make_page(const Measured& measured, const Options& options) {
  const auto player = measured.play();
  if (!player) return player.error();
  if (player.value().playback().watches_tasks()) return make_tasks_page(measured);
  const auto parts = collect_page(measured, {options.projected_grain_ns, options.nodes, options.replay.empty()});
  if (!parts) return parts.error();
  return MadePage{page::render(parts.value()->input()), parts.value()->whole};
}

}  // namespace

Status run_page(const Options& options) {
  // Made again when there is something to put into it: until then, who is interrupted leaves nothing behind.
  auto file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  if (file->value().replaces()) file.reset();
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  const auto page = make_page(measured.value(), options);
  if (!page) return page.error();
  if (file == nullptr) file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  const Status replaced = file->value().fill(page.value().text);
  return replaced ? page.value().whole : replaced;
}

}  // namespace noised::client
