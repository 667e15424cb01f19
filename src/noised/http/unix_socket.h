// SPDX-License-Identifier: Apache-2.0
// The daemon's listening Unix socket: taken over when stale, refused when in use, removed with its owner.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

#include "base/files.h"

namespace noised::daemon {

/// Checks that a path can be a socket's name (1 to 107 bytes); usage error otherwise.
Status check_socket_path(const std::string& path);

/// Checks that a group exists, by asking wherever this machine keeps groups, which may take its time; empty is good.
Status check_socket_group(const std::string& group);

/// A listening socket and the files around it. Move-only; the destructor removes what was created.
class UnixSocket {
 public:
  /// Creates PATH (mode 0660), its directory if missing (mode 0750) and PATH.lock, and listens, non-blocking. Fails
  /// (exit code 1) when another daemon has PATH, when PATH is not a socket, or when it cannot be created; usage error
  /// for a path that no socket can have. The socket, and its directory if made here, belong to `group` unless that is
  /// empty.
  static Result<UnixSocket> listen(const std::string& path, const std::string& group = "");

  UnixSocket(UnixSocket&& other) noexcept;
  UnixSocket& operator=(UnixSocket&& other) noexcept;
  ~UnixSocket();

  /// The listening descriptor, still owned.
  [[nodiscard]] int descriptor() const { return listening_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Where it is; this directory was created with it, if it was not there.
  [[nodiscard]] std::string directory() const;

 private:
  explicit UnixSocket(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status give_to(const std::string& group) const;
  Status create_directory();
  Status lock();
  [[nodiscard]] Status remove_stale() const;
  Status bind_and_listen();
  [[nodiscard]] std::string lock_path() const { return path_ + ".lock"; }
  void remove_files();

  std::string path_;
  bool created_directory_ = false;  // by this process; else the lock file tells
  Descriptor lock_;                 // held: PATH and PATH.lock are ours to create and remove
  Descriptor listening_;
  dev_t device_ = 0;  // of the socket file, to remove it only if it is still this one
  ino_t inode_ = 0;   // 0: no socket file created
};

}  // namespace noised::daemon
