// SPDX-License-Identifier: Apache-2.0
// Whose names a member of the socket's group is told; packaging/doc/security.md has the rules.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include <fmt/format.h>

#include "attacked_daemon.h"
#include "command.h"
#include "measurement.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr const char* kCurl = "/usr/bin/curl";  // another user's PATH is not looked at
constexpr const char* kTheirs = "payroll";
constexpr const char* kOurs = "simulation";

// For so long, a task of root's takes the CPU now and then, and one of the member's most of the time: it cannot miss
// it.
class TwoUsers {
 public:
  TwoUsers(unsigned cpu, const char* time)
      : theirs_(noise(cpu, kTheirs, "2ms", time)), ours_(noise(cpu, kOurs, "15ms", time), member()) {}

  static CommandOptions member() {
    CommandOptions options;
    options.user = kMember;
    return options;
  }
  [[nodiscard]] pid_t ours() const { return ours_.pid(); }
  void wait() {
    REQUIRE(theirs_.wait().exit_code == 0);
    REQUIRE(ours_.wait().exit_code == 0);
  }

 private:
  static Arguments noise(unsigned cpu, const char* name, const char* work, const char* time) {
    return {kNoise, "task",     "--cpu", std::to_string(cpu), "--name", name,       "--work",
            work,   "--period", "20ms",  "--duration",        time,     "--policy", "other"};
  }

  Background theirs_;
  Background ours_;
};

bool tells(const std::string& text, const std::string& name) { return text.find(name) != std::string::npos; }

}  // namespace

TEST_CASE("threats: of others' tasks a member is told no name, and of his own he is") {
  AttackedDaemon daemon("probe");
  TwoUsers tasks(daemon.cpu(), "8s");
  const auto asked = [&](const std::string& path, const CommandOptions& as = {}) {
    const Outcome outcome = run({kCurl, "-s", "--unix-socket", daemon.socket(), "http://x" + path}, as);
    REQUIRE(outcome.exit_code == 0);
    return outcome.out;
  };
  REQUIRE(eventually([&] { return tells(asked("/v1/report"), kTheirs) && tells(asked("/v1/report"), kOurs); }));
  REQUIRE(eventually([&] { return tells(asked("/v1/report", TwoUsers::member()), kOurs); }));
  const std::string recording = daemon.path("member.noise");
  const Outcome recorded =
      run({kNoisectl, "--socket", daemon.socket(), "record", "-o", recording, "--duration", "1s"}, TwoUsers::member());
  INFO(recorded.err);
  REQUIRE(recorded.exit_code == 0);
  const std::string replayed = run({kNoisectl, "--replay", recording, "report", "--json"}).out +
                               run({kNoisectl, "--replay", recording, "detours", "--json"}).out;
  CHECK_FALSE(tells(replayed, kTheirs));
  CHECK(tells(replayed, kOurs));
  CHECK(tells(replayed, "\"hidden-"));
  // The latest detours are those of the last moments: they have both while the tasks run.
  for (const char* const path :
       {"/v1/report", "/v1/recent", "/v1/histogram", "/v1/detours", "/v1/detours?longest=20"}) {
    INFO(path);
    std::string all;
    std::string shown;
    CHECK(eventually([&] { return tells(all = asked(path), kTheirs) && tells(all, kOurs); }));
    CHECK_FALSE(tells(all, "hidden-"));
    CHECK(eventually([&] { return tells(shown = asked(path, TwoUsers::member()), "hidden-") && tells(shown, kOurs); }));
    CHECK_FALSE(tells(shown, kTheirs));
  }
  tasks.wait();
}

TEST_CASE("threats: where tasks are watched, a member is told the names of those that are his") {
  AttackedDaemon daemon("watch");
  const auto watched = [&](const std::string& query, const CommandOptions& as = {}) {
    TwoUsers tasks(daemon.cpu(), "2s");
    const std::string of = query == "pids" ? "pids=" + std::to_string(tasks.ours()) + "&" : "";
    const std::string url = "http://x/v1/watch?" + of + "losses=each&duration_ns=1000000000";
    const Outcome told = run({kCurl, "-s", "--unix-socket", daemon.socket(), url}, as);
    REQUIRE(told.exit_code == 0);
    tasks.wait();
    return told.out;
  };
  const std::string all = watched("");
  CHECK(tells(all, kTheirs));
  CHECK(tells(all, kOurs));
  CHECK_FALSE(tells(all, "hidden-"));
  // Not even whether others have tasks of a name.
  for (const char* const name : {kTheirs, kOurs}) {
    INFO(name);
    TwoUsers tasks(daemon.cpu(), "2s");
    const std::string url = fmt::format("http://x/v1/watch?comm={}&duration_ns=1000000000", name);
    const Outcome told = run({kCurl, "-s", "--unix-socket", daemon.socket(), url}, TwoUsers::member());
    REQUIRE(told.exit_code == 0);
    CHECK(tells(told.out, "\"tasks_seen\":0,") == (name == kTheirs));
    tasks.wait();
  }
  for (const char* const query : {"", "pids"}) {
    INFO(query);
    const std::string shown = watched(query, TwoUsers::member());
    CHECK_FALSE(tells(shown, kTheirs));
    CHECK(tells(shown, kOurs));
    CHECK(tells(shown, "hidden-"));
  }
}
