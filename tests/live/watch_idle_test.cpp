// SPDX-License-Identifier: Apache-2.0
// A task woken on an idle CPU: what that CPU did before the task ran is named.
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "processes.h"
#include "report_checks.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

// Packets of the loopback device are received on this CPU, whoever sends them, as long as it lives.
class SteeredLoopback {
 public:
  explicit SteeredLoopback(unsigned cpu) {
    std::ifstream file(kFile);
    if (!std::getline(file, before_)) SKIP("no receive packet steering here: " << kFile);
    std::string mask = fmt::format("{:x}", 1U << (cpu % 32));
    for (unsigned word = cpu / 32; word != 0; --word) mask += ",00000000";
    if (!write(mask)) SKIP("receive packet steering is not to be set here: " << kFile);
  }
  ~SteeredLoopback() { write(before_); }
  SteeredLoopback(const SteeredLoopback&) = delete;
  SteeredLoopback& operator=(const SteeredLoopback&) = delete;

 private:
  static bool write(const std::string& mask) { return static_cast<bool>(std::ofstream(kFile) << mask << std::flush); }

  static constexpr const char* kFile = "/sys/class/net/lo/queues/rx-0/rps_cpus";
  std::string before_;
};

// A process on a CPU that takes what comes, and blocks otherwise.
class Receiver {
 public:
  explicit Receiver(unsigned cpu)
      : in_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), out_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(in_.get(), generic, length) == 0);
    REQUIRE(getsockname(in_.get(), generic, &length) == 0);
    REQUIRE(connect(out_.get(), generic, length) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const CpuSet there({cpu});
    sched_setaffinity(0, there.bytes(), there.get());
    std::array<char, 64> data{};
    while (recv(in_.get(), data.data(), data.size(), 0) >= 0) {
    }
    _exit(1);
  }
  ~Receiver() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send_burst() const {
    std::array<char, 64> data{};
    for (int at = 0; at < 400; ++at) (void)send(out_.get(), data.data(), data.size(), 0);
  }

 private:
  Descriptor in_;
  Descriptor out_;
  pid_t pid_ = -1;
};

struct Waits {
  std::uint64_t count = 0;
  std::uint64_t not_told = 0;  // of all tasks: the stream was too slow for them
  std::uint64_t total_ns = 0;
  std::uint64_t overhead_ns = 0;
  std::map<std::string, std::uint64_t> named_ns;  // by "kind:name"
  std::map<std::string, std::uint64_t> having;    // so many waits have it
};

Waits waits_in(const std::string& text, pid_t pid) {
  Waits waits;
  for (const std::string& line : lines_of(text)) {
    const Json loss = Json::parse(line);
    if (is_lost_line(loss)) waits.not_told += loss.at("lost_detours").get<std::uint64_t>();
    if (is_lost_line(loss) || loss.value("loss", "") != "queued" || loss.value("pid", 0) != pid) continue;
    ++waits.count;
    waits.total_ns += loss.at("duration_ns").get<std::uint64_t>();
    waits.overhead_ns += loss.at("overhead_ns").get<std::uint64_t>();
    std::map<std::string, std::uint64_t> here;
    for (const Json& entry : loss.at("entries"))
      here[entry.at("kind").get<std::string>() + ":" + entry.at("name").get<std::string>()] +=
          entry.at("self_ns").get<std::uint64_t>();
    for (const auto& [name, ns] : here) {
      waits.named_ns[name] += ns;
      ++waits.having[name];
    }
  }
  return waits;
}

// What this task waited after wakeups while `act` ran, which wakes it so often.
template <typename Act>
Waits waits_of(const WatchingDaemon& daemon, pid_t pid, std::uint64_t wakeups, Act act) {
  Background follower(daemon.command({"detours", "--follow", "--json"}));
  REQUIRE(eventually([&] { return !follower.out().empty(); }));
  act();
  // 300 ms after the last wakeup, 13 of 50 waits had been told once (emulated).
  const auto told_all = [&] {
    const std::string text = follower.out();
    return waits_in(text.substr(0, text.rfind('\n') + 1), pid).count >= wakeups;
  };
  if (!eventually(told_all)) UNSCOPED_INFO("not every wait was told");
  follower.signal(SIGINT);
  return waits_in(follower.wait().out, pid);
}

std::string waits_text(const Waits& waits) {
  std::string text = fmt::format("{} waits, {} ns: {} overhead; not told {}", waits.count, waits.total_ns,
                                 waits.overhead_ns, waits.not_told);
  for (const auto& [name, ns] : waits.named_ns) text += fmt::format(", {} {} ({})", ns, name, waits.having.at(name));
  return text;
}

}  // namespace

TEST_CASE("watch: a softirq that woke a task and goes on is what the task waits for") {
  constexpr std::uint64_t kBursts = 100;
  const unsigned cpu = probed_cpu();
  const SteeredLoopback steered(cpu);
  const WatchingDaemon daemon;
  const Elsewhere elsewhere(cpu);
  const Receiver receiver(cpu);
  const Waits waits = waits_of(daemon, receiver.pid(), kBursts, [&] {
    for (std::uint64_t burst = 0; burst < kBursts; ++burst) {
      receiver.send_burst();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  INFO(waits_text(waits));
  CHECK(waits.count >= 50);
  CHECK(waits.overhead_ns * 10 < waits.total_ns);
  CHECK(waits.named_ns.contains("softirq:NET_RX"));
}

TEST_CASE("watch: a task that another CPU wakes on an idle one waits for it to leave its idle state") {
  constexpr std::uint64_t kWakeups = 50;
  const WatchingDaemon daemon;
  const Elsewhere elsewhere(probed_cpu());
  WatchedTask task(probed_cpu());
  const Waits waits = waits_of(daemon, task.pid(), kWakeups, [&] {
    for (std::uint64_t wakeup = 0; wakeup < kWakeups; ++wakeup) {
      task.work({});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  INFO(waits_text(waits));
  REQUIRE(waits.count >= 40);
  const auto found = waits.having.find("task:leaving idle state");
  REQUIRE(found != waits.having.end());
  CHECK(found->second * 2 > waits.count);
}
