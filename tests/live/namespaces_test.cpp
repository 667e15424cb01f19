// SPDX-License-Identifier: Apache-2.0
// Pids that mean other tasks, and clocks that are not the kernel's: refused with the reason.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "command.h"
#include "unit/base/temporary_directory.h"
#include "unit/base/texts.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;
using noised::test::has;

namespace {

const Arguments kOwnPids = {"unshare", "--pid", "--fork", "--mount-proc"};
const Arguments kOwnClock = {"unshare", "--time", "--monotonic", "1000", "--fork"};

// Skips the test where this machine, or the sandbox that it is in, has no such namespace.
void require(Arguments namespaces) {
  namespaces.emplace_back("true");
  if (run(namespaces).exit_code != 0) SKIP("no namespace by " << namespaces[1] << " here");
}

Outcome run_in(Arguments namespaces, const Arguments& command) {
  namespaces.insert(namespaces.end(), command.begin(), command.end());
  return run(namespaces);
}

Arguments daemon_in(const test::TemporaryDirectory& directory) {
  return {kNoised,
          "--mode",
          "watch",
          "--cpus",
          "all",
          "--duration",
          "1s",
          "--socket",
          directory.path("socket"),
          "--web.listen-address",
          ""};
}

}  // namespace

TEST_CASE("namespaces: a daemon whose pids are not the kernel's does not start") {
  require(kOwnPids);
  const test::TemporaryDirectory directory;
  const Outcome outcome = run_in(kOwnPids, daemon_in(directory));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK(has(outcome.err, "this PID namespace is not the kernel's first"));
}

TEST_CASE("namespaces: a daemon whose clock is not the kernel's does not start") {
  require(kOwnClock);
  const test::TemporaryDirectory directory;
  const Outcome outcome = run_in(kOwnClock, daemon_in(directory));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK(has(outcome.err, "this time namespace shifts CLOCK_MONOTONIC"));
}

TEST_CASE("namespaces: pids of a client's own namespace are refused, and what needs none is watched") {
  require(kOwnPids);
  const WatchingDaemon daemon;
  const Outcome by_pid = run_in(kOwnPids, daemon.command({"watch", "--pid", "1", "--duration", "200ms"}));
  INFO(by_pid.out << by_pid.err);
  CHECK(by_pid.exit_code != 0);
  CHECK(has(by_pid.err, "pids of another PID namespace than noised's mean other tasks here"));
  const Outcome started = run_in(kOwnPids, daemon.command({"watch", "--", "true"}));
  INFO(started.out << started.err);
  CHECK(has(started.err, "pids of another PID namespace"));
  const Outcome by_name = run_in(kOwnPids, daemon.command({"watch", "--comm", "noisectl", "--duration", "200ms"}));
  INFO(by_name.out << by_name.err);
  CHECK(by_name.exit_code == 0);
  CHECK(run(daemon.command({"watch", "--pid", "1", "--duration", "200ms"})).exit_code == 0);
}
