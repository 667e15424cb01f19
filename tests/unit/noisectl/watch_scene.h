// SPDX-License-Identifier: Apache-2.0
// noisectl in a process of its own, against a daemon that says what a test wants it to.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "base/files.h"
#include "noisectl/commands/watch.h"
#include "unit/base/temporary_directory.h"
#include "unit/views/watch_example.h"
#include "views/watch.h"

namespace noised::test {

inline std::string watch_line(bool final, std::uint64_t elapsed_ns = 10'000'000'000) {
  WatchReport report = examples::watch();
  report.final = final;
  report.elapsed_ns = elapsed_ns;
  return views::to_json(report);
}

/// What asked the fake daemon to watch.
class Asker {
 public:
  Asker(int connection, std::string path) : connection_(connection), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] pid_t pid() const { return std::atoi(path_.c_str() + path_.find("pids=") + 5); }
  void refuse(const std::string& status, const std::string& body) const {
    send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void begin() const { send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
  void line(const std::string& text) const {
    char size[24];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size() + 1);
    send(size + text + "\n\r\n");
  }
  void end() const { send("0\r\n\r\n"); }
  /// Until the other side has closed.
  void wait_for_close() const {
    char byte = 0;
    while (read(connection_, &byte, 1) == 1) {
    }
  }
  /// Until the process that it asked for is no more, not even as a zombie.
  void wait_for_end() const {
    while (kill(pid(), 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }

 private:
  void send(const std::string& text) const { (void)!::send(connection_, text.data(), text.size(), MSG_NOSIGNAL); }

  int connection_;
  std::string path_;
};

/// Takes connections from its creation on; answers them once there is somebody to say what.
class FakeDaemon {
 public:
  explicit FakeDaemon(const std::string& path) : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener_.get(), 4) == 0);
  }
  ~FakeDaemon() {
    shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  void serve(std::function<void(const Asker&)> on_watch) {
    thread_ = std::thread([this, on_watch = std::move(on_watch)] {
      while (serve_one(on_watch)) {
      }
    });
  }

 private:
  [[nodiscard]] bool serve_one(const std::function<void(const Asker&)>& on_watch) const {
    const Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return false;
    std::string request;
    char byte = 0;
    while (request.find("\r\n\r\n") == std::string::npos && read(connection.get(), &byte, 1) == 1) request += byte;
    const std::string path = request.substr(4, request.find(' ', 4) - 4);  // behind "GET "
    const Asker asker(connection.get(), path);
    if (path.starts_with("/v1/watch")) {
      on_watch(asker);
    } else {
      asker.refuse("404 Not Found", "no\n");
    }
    return true;
  }

  Descriptor listener_;
  std::thread thread_;
};

/// noisectl in a child that was forked while the test had one thread.
class Noisectl {
 public:
  Noisectl(const client::TaskWatchOptions& options, const TemporaryDirectory& directory) : directory_(directory) {
    std::fflush(nullptr);  // what the test has still to write is not the child's
    std::cout.flush();
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    redirect(directory.path("out"), STDOUT_FILENO);
    redirect(directory.path("err"), STDERR_FILENO);
    std::signal(SIGPIPE, SIG_IGN);
    const Status done = client::run_watch(options);
    if (!done && !done.error().what.empty()) std::fprintf(stderr, "noisectl: %s\n", done.error().line().c_str());
    std::fflush(nullptr);
    _exit(done ? 0 : static_cast<int>(done.error().code));
  }
  ~Noisectl() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Noisectl(const Noisectl&) = delete;
  Noisectl& operator=(const Noisectl&) = delete;

  void signal(int number) const { kill(pid_, number); }
  /// True if it has not ended.
  [[nodiscard]] bool running() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  /// Its exit code, once it has ended.
  int code() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  [[nodiscard]] std::string out() const { return text("out"); }
  [[nodiscard]] std::string err() const { return text("err"); }

 private:
  static void redirect(const std::string& path, int descriptor) {
    const Descriptor file(open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
    dup2(file.get(), descriptor);
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream content;
    content << std::ifstream(directory_.path(name)).rdbuf();
    return content.str();
  }

  const TemporaryDirectory& directory_;
  pid_t pid_ = -1;
};

}  // namespace noised::test
