// SPDX-License-Identifier: Apache-2.0
// One file, opened before the privileges go, and written where it is: to put another in its place, the daemon would
// have to be allowed to rename files for all of its life.
#include "noised/last_report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/state_file.h"
#include "base/text.h"
#include "views/views.h"

namespace noised::daemon {

Result<Descriptor> open_last_report(SocketNames names) {
  const mode_t mode = names == SocketNames::all ? 0640 : 0600;
  if (!has_state_directory()) return Descriptor();
  const std::string path = last_report_path();
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
  if (file && ::fchmod(file.get(), mode) == 0) return file;
  return failure("cannot open " + path + ": " + errno_text(errno), "no last report will be left there");
}

Status write_last_report(const Descriptor& file, const Report& report) {
  const std::string text = views::to_json(report) + "\n";
  int error = write_all(file.get(), text);
  if (error == 0 && ::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0) error = errno;
  if (error == 0) return success();
  return failure("cannot write " + last_report_path() + ": " + errno_text(error));
}

}  // namespace noised::daemon
