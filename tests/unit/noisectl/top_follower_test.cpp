// SPDX-License-Identifier: Apache-2.0
// What the daemon keeps and what it streams, joined: every detour counts once, whatever the two have in common.
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "base/files.h"
#include "noisectl/top/follower.h"
#include "unit/base/temporary_directory.h"
#include "views/detour.h"
#include "views/views.h"

using namespace noised;
using client::TopChainsView;
using client::TopFollower;

namespace {

/// Answers `follow=0` with what is kept, and `follow=1` with the beginning of a stream that stays open, or ends.
class Server {
 public:
  Server(const std::string& path, std::string kept, std::string stream, bool ends = false)
      : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener_.get(), 8) == 0);
    thread_ = std::thread([this, kept = std::move(kept), stream = std::move(stream), ends] {
      for (;;) {
        Descriptor client = next();
        if (!client) return;
        const bool follow = request(client).find("follow=1") != std::string::npos;
        if (follow) ++streams_;
        const std::string answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + (follow ? stream : kept);
        send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        if (follow && !ends) open_.push_back(std::move(client));
      }
    });
  }
  ~Server() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  /// How many streams were asked for.
  [[nodiscard]] int streams() const { return streams_; }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  [[nodiscard]] Descriptor next() const { return Descriptor(accept(listener_.get(), nullptr, nullptr)); }
  [[nodiscard]] static std::string request(const Descriptor& client) {
    std::string text;
    char byte = 0;
    while (text.find("\r\n\r\n") == std::string::npos && read(client.get(), &byte, 1) == 1) text += byte;
    return text;
  }

  Descriptor listener_;
  std::vector<Descriptor> open_;
  std::atomic<int> streams_{0};
  std::thread thread_;
};

const client::TopKey kCrond{1, "task:crond"};

std::string lines(const std::vector<std::uint64_t>& starts) {
  std::string all;
  for (const std::uint64_t start : starts) {
    DetourView detour;
    detour.cpu = 1;
    detour.start_ns = start;
    detour.duration_ns = 100;
    detour.entries = {{"task", "crond", 100, 0, {}}};
    all += views::to_json(detour) + "\n";
  }
  return all;
}

std::string missed(std::uint64_t detours) { return views::lost_line_json(detours) + "\n"; }

/// The first view that is as wanted; the test fails if none is within 10 s.
template <typename Wanted>
TopChainsView view_when(TopFollower& follower, Wanted wanted) {
  std::string problem;
  for (int turn = 0; turn < 1000; ++turn) {
    const std::optional<TopChainsView> view = follower.view();
    if (view && wanted(*view)) return *view;
    if (view) problem = view->problem;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL("no such view; the last problem: " << problem);
  return {};
}

struct Fixture {
  test::TemporaryDirectory directory;
  std::string path = directory.path("socket");
};

}  // namespace

TEST_CASE_METHOD(Fixture, "kept and streamed detours are joined at the stream's first", "[noisectl]") {
  const Server server(path, missed(2) + lines({1000, 2000, 3000, 4000}),
                      missed(1) + lines({3000, 4000, 5000}) + missed(7));
  auto follower = TopFollower::start(path);
  REQUIRE(follower);
  CHECK_FALSE(follower.value()->view());
  follower.value()->follow(kCrond);
  // The stream's loss before its first detour is one of the two that came with what is kept.
  const TopChainsView view = view_when(*follower.value(), [](const TopChainsView& each) { return each.missed == 9; });
  CHECK(view.detours == 5);
  CHECK(view.detours_with == 5);
  CHECK(view.span_ns == 4100);
  CHECK(view.problem.empty());
}

TEST_CASE_METHOD(Fixture, "what is kept but younger than the stream's first is not counted twice", "[noisectl]") {
  const Server server(path, lines({4000, 5000}), lines({3000, 4000, 5000}) + missed(7));
  auto follower = TopFollower::start(path);
  REQUIRE(follower);
  follower.value()->follow(kCrond);
  CHECK(view_when(*follower.value(), [](const TopChainsView& each) { return each.missed == 7; }).detours == 3);
}

TEST_CASE_METHOD(Fixture, "on a silent CPU what is kept is shown at once; another source starts anew", "[noisectl]") {
  const Server server(path, lines({1000, 2000}), "");
  auto follower = TopFollower::start(path);
  REQUIRE(follower);
  follower.value()->follow(kCrond);
  CHECK(view_when(*follower.value(), [](const TopChainsView&) { return true; }).detours_with == 2);
  const client::TopKey other{1, "task:other"};
  follower.value()->follow(other);
  const TopChainsView view = view_when(*follower.value(), [](const TopChainsView&) { return true; });
  CHECK(view.source == other);
  CHECK(view.detours_with == 0);
  follower.value()->follow(std::nullopt);
  CHECK_FALSE(follower.value()->view());
}

TEST_CASE_METHOD(Fixture, "a stream that ends, or says nonsense, is a problem and is tried again", "[noisectl]") {
  const auto problem_of = [this](const std::string& stream) {
    const Server server(path, lines({1000}), stream, true);
    auto follower = TopFollower::start(path);
    REQUIRE(follower);
    follower.value()->follow(kCrond);
    const TopChainsView view =
        view_when(*follower.value(), [](const TopChainsView& each) { return !each.problem.empty(); });
    CHECK(view.detours == 1);
    view_when(*follower.value(), [&server](const TopChainsView&) { return server.streams() >= 2; });
    unlink(path.c_str());
    return view.problem;
  };
  CHECK(problem_of("") == "the daemon ended its stream of detours");
  CHECK(problem_of("no detour\n").find("detour") != std::string::npos);
}
