// SPDX-License-Identifier: Apache-2.0
// Landlock by its three system calls: the C library has none of them.
#include "noised/file_access.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/files.h"
#include "base/text.h"

namespace noised::daemon {
namespace {

// Of its first version, which is in every kernel that has it; later ones add renaming between directories and
// truncating, which are only possible for what can be opened for writing: nothing.
constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kAll = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1;

Status allow_below(int ruleset, const std::string& path, std::uint64_t access) {
  const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place) return success();
  struct stat file{};
  if (::fstat(place.get(), &file) != 0) return failure("fstat " + path + ": " + errno_text(errno));
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(file.st_mode) ? access : access & LANDLOCK_ACCESS_FS_READ_FILE;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return success();
  return failure("Landlock, for " + path + ": " + errno_text(errno));
}

}  // namespace

Result<bool> close_file_system(const FileAccess& access) {
  landlock_ruleset_attr wanted{};
  wanted.handled_access_fs = kAll;
  const Descriptor ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &wanted, sizeof(wanted), 0)));
  if (!ruleset && (errno == ENOSYS || errno == EOPNOTSUPP)) return false;
  if (!ruleset) return failure("landlock_create_ruleset: " + errno_text(errno));
  const auto allow = [&](const std::vector<std::string>& paths, std::uint64_t what) {
    Status good = success();
    for (const std::string& path : paths) {
      if (good) good = allow_below(ruleset.get(), path, what);
    }
    return good;
  };
  if (Status good = allow(access.read, kRead); !good) return good.error();
  if (Status good = allow(access.remove, LANDLOCK_ACCESS_FS_REMOVE_FILE); !good) return good.error();
  if (Status good = allow(access.remove_directories, LANDLOCK_ACCESS_FS_REMOVE_DIR); !good) return good.error();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failure("no_new_privs: " + errno_text(errno));
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0) return true;
  return failure("landlock_restrict_self: " + errno_text(errno));
}

}  // namespace noised::daemon
