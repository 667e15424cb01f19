// SPDX-License-Identifier: Apache-2.0
#include "base/open_files.h"

#include <sys/resource.h>

#include <cerrno>

namespace noised {

void allow_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // what is still too much fails where it is opened, with a remedy
}

std::string open_remedy(int error) {
  if (error != EMFILE) return {};
  return "there is a file for each CPU: let an administrator raise the limit of open files (ulimit -Hn)";
}

}  // namespace noised
