// SPDX-License-Identifier: Apache-2.0
// A daemon that members of its socket's group, strangers and containers ask for what they may not have.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "command.h"
#include "measurement.h"
#include "processes.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"
#include "unit/noised/http_client.h"
#include "views/views.h"
#include "watched_task.h"

namespace noised::live {

using noised::test::RawClient;
using noised::test::TemporaryDirectory;

inline constexpr std::uint16_t kThreatsPort = 20279;
inline constexpr unsigned kMember = 65'534;    // in the group
inline constexpr unsigned kStranger = 60'001;  // not
inline constexpr unsigned kGroup = 65'534;     // nogroup

enum class Who { member, stranger, port, container };
inline constexpr std::array<const char*, 4> kWho = {"member", "stranger", "metrics port", "container"};

struct Attempt {
  Who who;
  std::string request;   // its first line, without the version
  std::string expected;  // what the answer begins with behind HTTP/1.1; "" for no answer at all
};

// As this user and group: of this thread alone, which the C library's own calls would not be.
template <typename Act>
void as_user(unsigned user, unsigned group, Act act) {
  bool became = false;
  std::thread([&] {
    became = ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setresgid, -1, group, -1) == 0 &&
             ::syscall(SYS_setresuid, -1, user, -1) == 0;
    if (became) act();
  }).join();
  REQUIRE(became);
}

class AttackedDaemon {
 public:
  explicit AttackedDaemon(const std::string& mode) : cpu_(probed_cpu()), quiet_(cpu_) {
    std::filesystem::permissions(directory_.path(""), std::filesystem::perms::all);
    directory_.write("noised.conf", "[service]\nsocket_group = 'nogroup'\n");
    process_.emplace(Arguments{kNoised, "--config", directory_.path("noised.conf"), "--mode", mode, "--cpus",
                               std::to_string(cpu_), "--threshold", is_emulated() ? "5us" : "1us", "--socket", socket(),
                               "--web.listen-address", "127.0.0.1:" + std::to_string(kThreatsPort)});
    elsewhere_.emplace(cpu_);
    REQUIRE(eventually([this] { return run({kNoisectl, "--socket", socket(), "status"}).exit_code == 0; }));
  }

  [[nodiscard]] std::string socket() const { return directory_.path("socket"); }
  [[nodiscard]] StatusView status() const {
    auto status = views::parse_status(run({kNoisectl, "--socket", socket(), "status", "--json"}).out);
    if (!status) FAIL(status.error().line());
    return std::move(status).value();
  }
  [[nodiscard]] unsigned cpu() const { return cpu_; }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_.path(name); }
  [[nodiscard]] Background& process() { return *process_; }

  /// The answer, or that none came.
  [[nodiscard]] std::string answer_to(const Attempt& attempt) const {
    if (attempt.who == Who::container) {
      const std::string path = attempt.request.substr(attempt.request.find(' ') + 1);
      const Outcome asked =
          run({"unshare", "--pid", "--fork", "--kill-child", "setpriv", "--reuid=65534", "--regid=65534",
               "--clear-groups", "curl", "-s", "-m", "5", "-i", "--unix-socket", socket(), "http://x" + path});
      return asked.out;
    }
    const std::string text = attempt.request + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    std::string answer;
    const auto ask = [&] {
      try {
        RawClient client = attempt.who == Who::port ? RawClient(kThreatsPort) : RawClient(socket());
        client.send(text);
        answer = client.read_all(5'000);
      } catch (const std::runtime_error&) {  // not even connected
      }
    };
    const unsigned user = attempt.who == Who::member ? kMember : kStranger;
    as_user(user, attempt.who == Who::member ? kGroup : kStranger, ask);
    return answer;
  }

 private:
  TemporaryDirectory directory_;
  unsigned cpu_;
  QuietCpu quiet_;
  std::optional<Background> process_;
  std::optional<Elsewhere> elsewhere_;
};

}  // namespace noised::live
