// SPDX-License-Identifier: Apache-2.0
#include "export/new_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/quote.h"

namespace noised {

Result<std::unique_ptr<NewDirectory>> NewDirectory::create(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return std::unique_ptr<NewDirectory>(new NewDirectory(path));
  if (errno == EEXIST) return usage_error(path + " exists", "give another name, or remove it");
  return failure(fmt::format("cannot create {}: {}", path, errno_text(errno)));
}

NewDirectory::~NewDirectory() {
  if (kept_) return;
  for (const std::string& file : files_) (void)::unlink(file.c_str());
  (void)::rmdir(path_.c_str());
}

Result<NewFile> NewDirectory::file(const std::string& name) {
  auto file = NewFile::create(files_.emplace_back(path_ + "/" + name));
  if (file) file.value().keep();
  return file;
}

}  // namespace noised
