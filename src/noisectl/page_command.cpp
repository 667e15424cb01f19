// SPDX-License-Identifier: Apache-2.0
#include "noisectl/page_command.h"

#include <memory>
#include <string>

#include "noisectl/page_file.h"
#include "noisectl/page_maker.h"

namespace noised::client {

Status run_page(const Options& options) {
  // Made again when there is something to put into it: until then, who is interrupted leaves nothing behind.
  auto file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  if (file->value().replaces()) file.reset();
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  const auto parts =
      collect_page(measured.value(), {options.projected_grain_ns, options.nodes, options.replay.empty()});
  if (!parts) return parts.error();
  const std::string text = page::render(parts.value()->input());
  if (file == nullptr) file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  const Status replaced = file->value().fill(text);
  return replaced ? parts.value()->whole : replaced;
}

}  // namespace noised::client
