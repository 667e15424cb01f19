// SPDX-License-Identifier: Apache-2.0
// noisectl top on a real terminal (tmux): a source opens and shows its chains, and keys never wait for the daemon.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "command.h"
#include "loads.h"
#include "measurement.h"
#include "noised/http/unix_socket.h"
#include "report_checks.h"
#include "terminal.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::daemon;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

const std::string kLoad = "task:live_tests";  // what wake_on() lets run on the probed CPU

/// A daemon, and `noisectl top` in a terminal.
struct Scene {
  TemporaryDirectory directory;
  std::string socket = directory.path("socket");
  unsigned cpu = probed_cpu();
  Background daemon{{kNoised, "--socket", socket, "--cpus", std::to_string(cpu), "--log-level", "error"}};
  Terminal terminal{directory};

  [[nodiscard]] bool daemon_knows(const std::string& source) const {
    const Outcome report = run({kNoisectl, "--socket", socket, "report", "--json"});
    if (report.exit_code != 0) return false;
    const Json sources = object_in(report.out).at("sources");
    return std::any_of(sources.begin(), sources.end(), [&](const Json& each) {
      return each.at("kind").get<std::string>() + ":" + each.at("name").get<std::string>() == source;
    });
  }

  /// The daemon must know a source: then the list is one with the first sample.
  void start_top(const std::string& source) const {
    REQUIRE(eventually([&] { return daemon_knows(source); }));
    terminal.start(kNoisectl + " --socket " + socket + " top --interval 200ms; echo exit $?; cat");
    REQUIRE(eventually([this] { return terminal.shows("kernel") && terminal.shows(">"); }));
  }

  /// Moves the selection from the top of the list, in an order that stays, to a source.
  void select(const std::string& source) const {
    terminal.press("n");
    REQUIRE(eventually([this] { return terminal.shows("sort: name"); }));
    for (std::string marked = terminal.line_with("> "); marked.find(source) == std::string::npos;) {
      INFO(marked);
      const std::string name = marked.substr(marked.find_last_of(' ', marked.find_last_not_of(' ')));
      terminal.press("j");
      REQUIRE(eventually([&] {
        marked = terminal.line_with("> ");
        return !marked.empty() && marked.find(name) == std::string::npos;
      }));
    }
  }
};

/// A daemon that takes requests and never answers.
class SilentDaemon {
 public:
  explicit SilentDaemon(const std::string& path) : listener_(UnixSocket::listen(path).value()) {}

  /// Waits for a request that comes from now on.
  [[nodiscard]] Descriptor next_request() const {
    while (accept()) {
    }
    Descriptor request;
    REQUIRE(eventually([&] {
      request = accept();
      return static_cast<bool>(request);
    }));
    return request;
  }
  /// Whether who made the request still waits for the answer.
  [[nodiscard]] static bool is_open(const Descriptor& request) {
    std::array<char, 4096> bytes{};
    ssize_t got = 0;
    while ((got = recv(request.get(), bytes.data(), bytes.size(), 0)) > 0) {
    }
    return got < 0 && errno == EAGAIN;
  }

 private:
  [[nodiscard]] Descriptor accept() const {
    return Descriptor(accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK));
  }

  UnixSocket listener_;
};

void press_help(const Terminal& terminal) {
  const bool before = terminal.shows("x max");
  terminal.press("?");
  REQUIRE(eventually([&] { return terminal.shows("x max") != before; }));
}

}  // namespace

TEST_CASE("top opens a source and shows who woke it") {
  const Scene scene;
  const std::jthread load([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) wake_on(scene.cpu, 500);
  });
  scene.start_top(kLoad);
  scene.select(kLoad);
  scene.terminal.press("Enter");
  CHECK(eventually([&] { return scene.terminal.shows(kLoad + " on CPU " + std::to_string(scene.cpu)); }));
  CHECK(eventually([&] { return scene.terminal.shows("woken by live_tests"); }));
  // Wakers are many: the test, or the timer that ends its sleep. What counts grows, with every detour of the load.
  const auto with_it = [&] { return std::strtoull(scene.terminal.line_with("had it").c_str(), nullptr, 10); };
  const std::uint64_t seen = with_it();
  CHECK(seen > 0);
  CHECK(eventually([&] { return with_it() > seen + 100; }));
  CHECK(scene.terminal.shows("shared with"));
  scene.terminal.press("Escape");
  CHECK(eventually([&] { return scene.terminal.line_with("> ").find(kLoad) != std::string::npos; }));
  scene.terminal.press("q");
  CHECK(eventually([&] { return scene.terminal.shows("exit 0"); }));
}

TEST_CASE("keys of top do not wait for a daemon that hangs") {
  (void)probed_cpu();  // root
  const TemporaryDirectory directory;
  const SilentDaemon daemon(directory.path("socket"));
  const Terminal terminal(directory);
  terminal.start(kNoisectl + " --socket " + directory.path("socket") + " top; echo exit $?; cat");
  // A key that waited for the request to end, after 1 s, would never have its effect before that end.
  CHECK(eventually([&] {
    const Descriptor request = daemon.next_request();
    press_help(terminal);
    return SilentDaemon::is_open(request);
  }));
  terminal.press("q");
  CHECK(eventually([&] { return terminal.shows("exit 0"); }));
}

TEST_CASE("top says that the daemon hangs, and goes on when it answers again") {
  const Scene scene;
  scene.start_top("vector:local_timer");
  scene.daemon.signal(SIGSTOP);
  REQUIRE(eventually([&] { return scene.terminal.shows("did not answer"); }));
  scene.terminal.press("Enter");
  CHECK(eventually([&] { return scene.terminal.shows("waiting for detours"); }));
  scene.daemon.signal(SIGCONT);
  CHECK(eventually([&] { return scene.terminal.shows("had it") && !scene.terminal.shows("did not answer"); }));
  scene.daemon.signal(SIGSTOP);
  scene.terminal.press("q");
  CHECK(eventually([&] { return scene.terminal.shows("> "); }));
  scene.terminal.press("q");
  CHECK(eventually([&] { return scene.terminal.shows("exit 0"); }));
  scene.daemon.signal(SIGCONT);
}
