// SPDX-License-Identifier: Apache-2.0
// The listening socket: created with its directory, taken over when stale, refused when in use, and gone afterwards.
#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "noised/http/unix_socket.h"
#include "unit/base/temporary_directory.h"

namespace noised {

using namespace noised::daemon;

namespace {

namespace fs = std::filesystem;

mode_t mode_of(const std::string& path) {
  struct stat found{};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

Descriptor bound_socket(const std::string& path, bool listening) {
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  if (listening) REQUIRE(::listen(made.get(), 1) == 0);
  return made;
}

bool can_connect(const std::string& path) {
  const Descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

Error refusal_at(const std::string& path) {
  const auto made = UnixSocket::listen(path);
  REQUIRE_FALSE(made);
  CHECK(made.error().line().find('\n') == std::string::npos);
  CHECK_FALSE(made.error().remedy.empty());
  return made.error();
}

}  // namespace

TEST_CASE("socket, lock file and directory are created with their modes, and removed") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("run/noised.sock");
  for (const mode_t umask : {022U, 0U, 077U}) {
    const mode_t before = ::umask(umask);
    auto made = UnixSocket::listen(path);
    ::umask(before);
    REQUIRE(made);
    CHECK(made.value().path() == path);
    CHECK(can_connect(path));
    CHECK(mode_of(path) == 0660);
    CHECK(mode_of(directory.path("run")) == (0750U & ~umask));
    CHECK(fs::exists(path + ".lock"));
    {
      const UnixSocket owner = std::move(made).value();
      CHECK(can_connect(path));
    }
    CHECK_FALSE(fs::exists(directory.path("run")));
  }
}

TEST_CASE("a directory that was there, or is not empty, stays") {
  const test::TemporaryDirectory directory;
  {
    REQUIRE(UnixSocket::listen(directory.path("a.sock")));
  }
  CHECK(fs::is_empty(directory.path()));
  {
    const auto made = UnixSocket::listen(directory.path("run/a.sock"));
    REQUIRE(made);
    directory.write("run/other", "");
  }
  CHECK(fs::exists(directory.path("run/other")));
  CHECK_FALSE(fs::exists(directory.path("run/a.sock")));
  CHECK_FALSE(fs::exists(directory.path("run/a.sock.lock")));
}

TEST_CASE("a second daemon on the same path is refused and disturbs nothing") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("run/noised.sock");
  const auto first = UnixSocket::listen(path);
  REQUIRE(first);
  const Error error = refusal_at(path);
  CHECK(error.code == ExitCode::failed);
  CHECK(error.what == "another noised already listens on " + path);
  CHECK(error.remedy.find("--socket") != std::string::npos);
  CHECK(can_connect(path));
  CHECK(fs::exists(path + ".lock"));
}

TEST_CASE("a listener that holds no lock is refused too, also when its backlog is full") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("noised.sock");
  const Descriptor other = bound_socket(path, true);
  CHECK(refusal_at(path).what == "another noised already listens on " + path);
  std::vector<Descriptor> waiting;
  for (int i = 0; i < 8; ++i) {
    Descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    (void)::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    waiting.push_back(std::move(client));
  }
  CHECK(refusal_at(path).what == "another noised already listens on " + path);
  CHECK(fs::exists(path));
  CHECK_FALSE(fs::exists(path + ".lock"));
}

TEST_CASE("a stale socket and a stale lock file are taken over") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("noised.sock");
  {
    const Descriptor dead = bound_socket(path, true);
  }
  directory.write("noised.sock.lock", "");
  REQUIRE(fs::exists(path));
  REQUIRE_FALSE(can_connect(path));
  {
    const auto made = UnixSocket::listen(path);
    REQUIRE(made);
    CHECK(can_connect(path));
  }
  CHECK(fs::is_empty(directory.path()));
}

TEST_CASE("a directory that a crashed daemon made is removed by the next one") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("run/noised.sock");
  const pid_t child = ::fork();
  if (child == 0) {
    const auto made = UnixSocket::listen(path);
    ::_exit(made ? 0 : 1);  // without its destructor
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  REQUIRE(fs::exists(path));
  REQUIRE(fs::exists(path + ".lock"));
  {
    REQUIRE(UnixSocket::listen(path));
  }
  CHECK_FALSE(fs::exists(directory.path("run")));
}

TEST_CASE("a held lock decides even before there is a socket") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("noised.sock");
  const Descriptor lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
  CHECK(refusal_at(path).what == "another noised already listens on " + path);
  CHECK(fs::exists(path + ".lock"));
}

TEST_CASE("what is not a socket is left alone") {
  const test::TemporaryDirectory directory;
  directory.write("noised.sock", "precious");
  const Error error = refusal_at(directory.path("noised.sock"));
  CHECK(error.code == ExitCode::failed);
  CHECK(error.what == directory.path("noised.sock") + " exists and is not a socket");
  CHECK(fs::file_size(directory.path("noised.sock")) == 8);
  CHECK_FALSE(fs::exists(directory.path("noised.sock.lock")));
}

TEST_CASE("a path that cannot be written is named with its errno and a remedy") {
  const test::TemporaryDirectory directory;
  directory.write("file", "");
  const Error below_file = refusal_at(directory.path("file/noised.sock"));
  CHECK(below_file.code == ExitCode::failed);
  CHECK(below_file.line().find(directory.path("file")) != std::string::npos);
  CHECK(below_file.line().find("Not a directory") != std::string::npos);
  CHECK(below_file.line().find("--socket PATH") != std::string::npos);
  const Error no_parent = refusal_at(directory.path("a/b/noised.sock"));
  CHECK(no_parent.what == "cannot create the directory " + directory.path("a/b") + ": No such file or directory");
  CHECK(refusal_at("/proc/noised.sock").what.starts_with("cannot create /proc/noised.sock.lock: "));
  CHECK_FALSE(fs::exists(directory.path("a")));
}

TEST_CASE("a path that no socket can have is a usage error") {
  const test::TemporaryDirectory directory;
  for (const std::string& path : {std::string(), directory.path("x") + "/", std::string("/tmp/a\0b", 8),
                                  std::string("/tmp/a\nb"), directory.path(std::string(108, 'x'))}) {
    INFO(path);
    CHECK(refusal_at(path).code == ExitCode::usage);
  }
  CHECK(fs::is_empty(directory.path()));
  const std::string longest = directory.path(std::string(107 - directory.path().size(), 'x'));
  REQUIRE(longest.size() == 107);
  CHECK(UnixSocket::listen(longest));
  CHECK(check_socket_path(longest + "x").error().code == ExitCode::usage);
}

TEST_CASE("a socket that replaced ours is not removed") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("noised.sock");
  Descriptor other;
  {
    const auto made = UnixSocket::listen(path);
    REQUIRE(made);
    fs::remove(path);
    // Another file first, so that the inode number of ours is not given out again.
    directory.write("filler", "");
    other = bound_socket(path, true);
  }
  CHECK(can_connect(path));
}

TEST_CASE("of daemons that start at once, exactly one listens") {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("run/noised.sock");
  for (int round = 0; round < 20; ++round) {
    constexpr int kDaemons = 4;
    int go[2];
    int hold[2];
    REQUIRE(::pipe(go) == 0);
    REQUIRE(::pipe(hold) == 0);
    for (int i = 0; i < kDaemons; ++i) {
      if (::fork() == 0) {
        char byte = 0;
        ::close(go[1]);
        ::close(hold[1]);
        (void)!::read(go[0], &byte, 1);  // until the parent closes its end
        int outcome = 1;
        {
          const auto made = UnixSocket::listen(path);
          if (made) {
            outcome = 0;
            (void)!::read(hold[0], &byte, 1);
          } else if (made.error().what.find("another noised") == std::string::npos) {
            outcome = 2;
          }
        }
        ::_exit(outcome);
      }
    }
    ::close(go[0]);
    ::close(hold[0]);
    ::close(go[1]);
    int outcomes[3] = {};
    for (int i = 0; i < kDaemons; ++i) {
      if (i == kDaemons - 1) {
        // The losers may be gone before the winner listens.
        for (int tries = 0; tries < 2000 && !can_connect(path); ++tries) ::usleep(1000);
        CHECK(can_connect(path));
        ::close(hold[1]);
      }
      int status = 0;
      REQUIRE(::wait(&status) > 0);
      REQUIRE(WIFEXITED(status));
      ++outcomes[WEXITSTATUS(status)];
    }
    CHECK(outcomes[0] == 1);
    CHECK(outcomes[2] == 0);
    CHECK_FALSE(fs::exists(directory.path("run")));
  }
}

}  // namespace noised
