// SPDX-License-Identifier: Apache-2.0
// A lock file decides who may create or remove the socket: without it, two daemons that start at once could each find
// the other's fresh socket stale and remove it.
#include "noised/http/unix_socket.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace noised::daemon {
namespace {

constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;  // 107 bytes and the terminating zero
constexpr mode_t kSocketMode = 0660;
constexpr mode_t kDirectoryMode = 0750;
constexpr int kUnixBacklog = 64;  // as many as the HTTP server serves at once

Error cannot(const std::string& what, const std::string& path, int error) {
  return failure(fmt::format("cannot {} {}: {}", what, path, errno_text(error)),
                 "run noised as root, or choose a path you can write with --socket PATH");
}

Error in_use(const std::string& path) {
  return failure("another noised already listens on " + path, "stop it, or choose another path with --socket PATH");
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Only root, or a member, may: a service is better run with that group.
Status give(const std::string& path, gid_t to, const std::string& group) {
  struct stat now{};
  if (::stat(path.c_str(), &now) == 0 && now.st_gid == to) return success();
  if (::chown(path.c_str(), static_cast<uid_t>(-1), to) == 0) return success();
  return failure(fmt::format("cannot give {} to group {}: {}", path, in_quotes(group), errno_text(errno)),
                 "run noised with that group: Group= in a drop-in of its unit, which its run directory follows");
}

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

// 0 when something accepts connections there, else the errno of connect(2).
int try_connect(const std::string& path) {
  const Descriptor client(new_socket());
  if (!client) return errno;
  const sockaddr_un address = address_of(path);
  if (::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return 0;
  // A full backlog: whoever owns it is alive, if busy.
  return errno == EAGAIN ? 0 : errno;
}

}  // namespace

Status check_socket_path(const std::string& path) {
  if (path.empty()) return usage_error("the socket path is empty", "write a path such as /run/noised/noised.sock");
  const bool control = std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (control || path.ends_with('/')) {
    return usage_error("socket path " + in_quotes(path) + " cannot name a file",
                       "write such as /run/noised/noised.sock");
  }
  if (path.size() > kLongestPath) {
    return usage_error(fmt::format("socket path {} has {} bytes", in_quotes(path), path.size()),
                       fmt::format("Linux allows {}; choose a shorter one with --socket PATH", kLongestPath));
  }
  return success();
}

Status check_socket_group(const std::string& group) {
  if (group.empty() || ::getgrnam(group.c_str()) != nullptr) return success();
  return usage_error("socket_group: there is no group " + in_quotes(group),
                     "create it (groupadd --system NAME), or name one that exists");
}

Result<UnixSocket> UnixSocket::listen(const std::string& path, const std::string& group) {
  if (auto good = check_socket_path(path); !good) return good.error();
  UnixSocket made(path);
  // On an early return, the destructor of `made` removes what there is so far.
  if (auto locked = made.lock(); !locked) return locked.error();
  if (auto free = made.remove_stale(); !free) return free.error();
  if (auto bound = made.bind_and_listen(); !bound) return bound.error();
  if (auto given = made.give_to(group); !given) return given.error();
  return made;
}

Status UnixSocket::give_to(const std::string& group) const {
  if (group.empty()) return success();
  if (Status exists = check_socket_group(group); !exists) return exists;
  const gid_t wanted = ::getgrnam(group.c_str())->gr_gid;
  if (Status given = give(path_, wanted, group); !given) return given;
  return created_directory_ ? give(directory(), wanted, group) : success();
}

Status UnixSocket::create_directory() {
  if (::mkdir(directory().c_str(), kDirectoryMode) == 0) {
    created_directory_ = true;
  } else if (errno != EEXIST && errno != EISDIR) {
    if (errno != ENOENT && errno != ENOTDIR) return cannot("create the directory", directory(), errno);
    return failure(fmt::format("cannot create the directory {}: {}", directory(), errno_text(errno)),
                   "create the directories above it first, or choose another path with --socket PATH");
  }
  return success();
}

Status UnixSocket::lock() {
  for (;;) {
    if (auto created = create_directory(); !created) return created;
    Descriptor file(::open(lock_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    // Another daemon's end may remove the directory in between: then it is to be made again.
    if (!file && errno == ENOENT && ::access(directory().c_str(), F_OK) != 0) continue;
    if (!file) return cannot("create", lock_path(), errno);
    // Said in the lock file: of daemons that start at once, the one that made the directory may not be the one that
    // gets the lock, and has to remove it. It also outlives a crash.
    if (created_directory_ && ::write(file.get(), "directory created by noised\n", 28) < 0) {
      return cannot("write", lock_path(), errno);
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      return errno == EWOULDBLOCK ? in_use(path_) : cannot("lock", lock_path(), errno);
    }
    struct stat held{};
    struct stat named{};
    const bool still_there = ::fstat(file.get(), &held) == 0 && ::stat(lock_path().c_str(), &named) == 0 &&
                             held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    // A daemon that ends removes its lock file while holding it; a lock on a removed file protects nothing.
    if (!still_there) continue;
    lock_ = std::move(file);
    return success();
  }
}

Status UnixSocket::remove_stale() const {
  struct stat found{};
  if (::lstat(path_.c_str(), &found) != 0) {
    return errno == ENOENT ? success() : Status(cannot("look at", path_, errno));
  }
  if (!S_ISSOCK(found.st_mode)) {
    return failure(path_ + " exists and is not a socket", "remove it, or choose another path with --socket PATH");
  }
  const int error = try_connect(path_);
  if (error == 0) return in_use(path_);
  if (error != ECONNREFUSED && error != ENOENT) return cannot("connect to", path_, error);
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return cannot("remove the stale socket", path_, errno);
  return success();
}

Status UnixSocket::bind_and_listen() {
  listening_.reset(new_socket());
  if (!listening_) return cannot("create a socket for", path_, errno);
  // bind(2) gives the file the socket's mode less the umask: set before, it is never wider than it should be, and
  // set again after, it is not narrower. Until listen(2), nobody can connect anyway.
  const sockaddr_un address = address_of(path_);
  if (::fchmod(listening_.get(), kSocketMode) != 0 ||
      ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return cannot("create", path_, errno);
  }
  struct stat created{};
  if (::lstat(path_.c_str(), &created) != 0) return cannot("look at", path_, errno);
  device_ = created.st_dev;
  inode_ = created.st_ino;
  if (::chmod(path_.c_str(), kSocketMode) != 0) return cannot("set the mode of", path_, errno);
  if (::listen(listening_.get(), kUnixBacklog) != 0) return cannot("listen on", path_, errno);
  return success();
}

std::string UnixSocket::directory() const {
  const std::size_t slash = path_.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path_.substr(0, slash);
}

void UnixSocket::remove_files() {
  struct stat named{};
  if (inode_ != 0 && ::lstat(path_.c_str(), &named) == 0 && named.st_ino == inode_ && named.st_dev == device_) {
    (void)::unlink(path_.c_str());
  }
  inode_ = 0;
  struct stat held{};
  if (lock_ && ::fstat(lock_.get(), &held) == 0 && held.st_size > 0) created_directory_ = true;
  if (lock_) (void)::unlink(lock_path().c_str());
  // Fails, as it should, when something else is in it by now.
  if (created_directory_) (void)::rmdir(directory().c_str());
  created_directory_ = false;
  listening_.reset();
  lock_.reset();
}

UnixSocket::UnixSocket(UnixSocket&& other) noexcept
    : path_(std::move(other.path_)),
      created_directory_(std::exchange(other.created_directory_, false)),
      lock_(std::move(other.lock_)),
      listening_(std::move(other.listening_)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)) {}

UnixSocket& UnixSocket::operator=(UnixSocket&& other) noexcept {
  if (this != &other) {
    remove_files();
    path_ = std::move(other.path_);
    created_directory_ = std::exchange(other.created_directory_, false);
    lock_ = std::move(other.lock_);
    listening_ = std::move(other.listening_);
    device_ = other.device_;
    inode_ = std::exchange(other.inode_, 0);
  }
  return *this;
}

UnixSocket::~UnixSocket() { remove_files(); }

}  // namespace noised::daemon
