// SPDX-License-Identifier: Apache-2.0
// noisectl watch against a fake daemon: what it asks, what it prints, and what a command that it runs is spared.
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "noisectl/commands/watch.h"
#include "unit/noisectl/watch_scene.h"

using namespace noised;
using namespace noised::exports;
using test::Asker;
using test::FakeDaemon;
using test::Noisectl;
using test::watch_line;

namespace {

client::TaskWatchOptions watch(const test::TemporaryDirectory& directory, std::vector<std::string> run = {}) {
  client::TaskWatchOptions options;
  options.socket = directory.path("s");
  options.run = std::move(run);
  return options;
}

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

bool shows_part(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

void wait_until(const std::function<bool()>& true_now) {
  while (!true_now()) std::this_thread::sleep_for(std::chrono::milliseconds{5});
}

void wait_for_file(const std::string& path) {
  wait_until([&] { return std::filesystem::exists(path); });
}

std::string page(bool final) { return views::to_text(views::parse_watch(watch_line(final)).value()); }

// Tells all of it: at once, and when the command has ended.
void tell_to_the_end(const Asker& asker) {
  asker.begin();
  asker.line(watch_line(false));
  asker.wait_for_end();
  asker.line(watch_line(true));
  asker.end();
}

}  // namespace

TEST_CASE("the daemon is asked for what was selected", "[noisectl]") {
  client::TaskWatchOptions options;
  CHECK(client::watch_path(options, {}) == "/v1/watch?interval_ns=1000000000");
  CHECK(client::watch_path(options, {1, 23}) == "/v1/watch?pids=1,23&interval_ns=1000000000");
  options.duration_ns = 5;
  options.comm = "a b&c/%\xff";
  CHECK(client::watch_path(options, {}) == "/v1/watch?comm=a%20b%26c/%25%FF&interval_ns=1000000000&duration_ns=5");
  options.comm.clear();
  options.cgroup = "/slurm/job_7+x";
  CHECK(client::watch_path(options, {}) == "/v1/watch?cgroup=/slurm/job_7%2Bx&interval_ns=1000000000&duration_ns=5");
}

TEST_CASE("a watch prints the final report, as text or as it came", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  client::TaskWatchOptions options = watch(directory);
  options.pids = {12, 13};
  std::string expected;
  SECTION("text") { expected = page(true); }
  SECTION("JSON") {
    options.json = true;
    expected = watch_line(true) + "\n";
  }
  SECTION("lines of JSON") {
    options.json = true;
    options.follow = true;
    expected = watch_line(false, 0) + "\n" + watch_line(true) + "\n";
  }
  SECTION("lines, and the page") {
    options.follow = true;
    expected = views::summary_line(views::parse_watch(watch_line(false, 0)).value()) + "\n" +
               views::summary_line(examples::watch()) + "\n\n" + page(true);
  }
  Noisectl noisectl(options, directory);
  std::string asked;
  daemon.serve([&asked](const Asker& asker) {
    asked = asker.path();
    asker.begin();
    asker.line(watch_line(false, 0));
    asker.line(watch_line(true));
    asker.wait_for_close();
  });
  CHECK(noisectl.code() == 0);
  CHECK(asked == "/v1/watch?pids=12,13&interval_ns=1000000000");
  CHECK(noisectl.out() == expected);
  CHECK(noisectl.err().empty());
}

TEST_CASE("a watch that is interrupted prints what was told until then", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  client::TaskWatchOptions options = watch(directory);
  options.follow = true;
  Noisectl noisectl(options, directory);
  daemon.serve([](const Asker& asker) {
    asker.begin();
    asker.line(watch_line(false));
    asker.wait_for_close();
  });
  wait_until([&] { return !noisectl.out().empty(); });
  noisectl.signal(SIGINT);
  CHECK(noisectl.code() == 0);
  CHECK(shows_part(noisectl.out(), "\n\n" + page(false)));
}

TEST_CASE("a watch that the daemon cuts short, refuses or garbles is an error", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  Noisectl noisectl(watch(directory), directory);
  std::string printed;
  std::string error;
  std::function<void(const Asker&)> answer;
  SECTION("gone") {
    answer = [](const Asker& asker) {
      asker.begin();
      asker.line(watch_line(false));
    };
    printed = page(false);
    error = "went away: the report ends early, with what was told until then\n";
  }
  SECTION("ended without the last line") {
    answer = [](const Asker& asker) {
      asker.begin();
      asker.line(watch_line(false));
      asker.end();
    };
    printed = page(false);
    error = "went away: the report ends early, with what was told until then\n";
  }
  SECTION("refused") {
    answer = [](const Asker& asker) { asker.refuse("404 Not Found", "{\"error\":\"no tasks are watched\"}\n"); };
    error = "answered 404 to /v1/watch?interval_ns=1000000000 (no tasks are watched): ";
  }
  SECTION("another program's line") {
    answer = [](const Asker& asker) {
      asker.begin();
      asker.line("{}");
      asker.wait_for_close();
    };
    error = "noisectl: watch.schema: missing";
  }
  daemon.serve(answer);
  CHECK(noisectl.code() == 1);
  CHECK(noisectl.out() == printed);
  CHECK(shows_part(noisectl.err(), error));
}

TEST_CASE("a command that is watched keeps its output and its exit code", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  client::TaskWatchOptions options = watch(directory, shell("echo its own; exit 7"));
  std::string in_file;
  SECTION("report on standard error") {}
  SECTION("report in a file") {
    options.output = directory.path("report");
    options.json = true;
    in_file = watch_line(true) + "\n";
  }
  Noisectl noisectl(options, directory);
  daemon.serve(tell_to_the_end);
  CHECK(noisectl.code() == 7);
  CHECK(noisectl.out() == "its own\n");
  CHECK(noisectl.err() == (in_file.empty() ? page(true) : ""));
  std::string written;
  std::getline(std::ifstream(directory.path("report")), written, '\0');
  CHECK(written == in_file);
}

TEST_CASE("a command that is watched does not start before watching begins", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  const std::string marker = directory.path("marker");
  Noisectl noisectl(watch(directory, {"touch", marker}), directory);
  bool early = true;
  daemon.serve([&](const Asker& asker) {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    early = std::filesystem::exists(marker);
    tell_to_the_end(asker);
  });
  CHECK(noisectl.code() == 0);
  CHECK_FALSE(early);
  CHECK(std::filesystem::exists(marker));
}

TEST_CASE("a command is not started if it cannot be watched", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  const std::string marker = directory.path("marker");
  client::TaskWatchOptions options = watch(directory, {"touch", marker});
  options.output = directory.path("report");
  Noisectl noisectl(options, directory);
  std::string error;
  SECTION("refused") {
    daemon.serve([](const Asker& asker) { asker.refuse("404 Not Found", "no such path\n"); });
    error = "answered 404";
  }
  SECTION("gone") {
    daemon.serve([](const Asker&) {});
    error = "went away";
  }
  SECTION("garbled") {
    daemon.serve([](const Asker& asker) {
      asker.begin();
      asker.line("hello");
      asker.wait_for_close();
    });
    error = "watch: not JSON";
  }
  SECTION("interrupted") {
    std::atomic<bool> asked = false;
    daemon.serve([&](const Asker& asker) {
      asker.begin();
      asked = true;
      asker.wait_for_close();
    });
    wait_until([&] { return asked.load(); });
    noisectl.signal(SIGINT);
    error = "interrupted before watching began";
    CHECK(noisectl.code() == 1);
    CHECK(shows_part(noisectl.err(), error));
    CHECK_FALSE(std::filesystem::exists(marker));
    return;
  }
  CHECK(noisectl.code() == 1);
  CHECK(shows_part(noisectl.err(), "noisectl: 'touch' was not started: "));
  CHECK(shows_part(noisectl.err(), error));
  CHECK_FALSE(std::filesystem::exists(marker));
  CHECK_FALSE(std::filesystem::exists(options.output));
}

TEST_CASE("a command that cannot be run has the exit code that a shell gives it", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  directory.write("plain", "text");
  const auto [program, code, why] = GENERATE(table<std::string, int, std::string>(
      {{"nosuch-program", 127, "No such file"}, {"plain", 126, "Permission denied"}}));
  const std::string command = code == 126 ? directory.path(program) : program;
  Noisectl noisectl(watch(directory, {command}), directory);
  daemon.serve([](const Asker& asker) {
    asker.begin();
    asker.line(watch_line(false));
    asker.wait_for_close();
  });
  CHECK(noisectl.code() == code);
  CHECK(shows_part(noisectl.err(), "noisectl: cannot run '" + command + "': " + why));
}

TEST_CASE("signals are the command's: Ctrl-C is left to it, SIGTERM is passed on", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  const std::string marker = directory.path("marker");
  Noisectl noisectl(watch(directory, shell("touch " + marker + "; exec sleep 60")), directory);
  daemon.serve(tell_to_the_end);
  wait_for_file(marker);
  noisectl.signal(SIGINT);
  noisectl.signal(SIGQUIT);
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  CHECK(noisectl.running());
  noisectl.signal(SIGTERM);
  CHECK(noisectl.code() == 128 + SIGTERM);
  CHECK(noisectl.err() == page(true) + "noisectl: 'sh' was killed by signal 15 (Terminated)\n");
}

TEST_CASE("a command has the signals that noisectl was started with", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  sigset_t before;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_SETMASK, &blocked, &before);
  // Not by a shell, which may unblock them.
  Noisectl noisectl(watch(directory, {"grep", "-E", "SigBlk|SigIgn", "/proc/self/status"}), directory);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  daemon.serve(tell_to_the_end);
  CHECK(noisectl.code() == 0);
  const std::string out = noisectl.out();
  CHECK(shows_part(out, "SigBlk:\t0000000000000200\n"));
  const std::uint64_t ignored = std::stoull(out.substr(out.find("SigIgn:") + 8), nullptr, 16);
  CHECK((ignored & (std::uint64_t{1} << (SIGPIPE - 1))) == 0);
  CHECK((ignored & (std::uint64_t{1} << (SIGCHLD - 1))) == 0);
}

TEST_CASE("a command has no descriptor of noisectl's", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  client::TaskWatchOptions options = watch(directory, {"ls", "/proc/self/fd"});
  options.output = directory.path("report");
  // What it would have without noisectl.
  REQUIRE(std::system(("ls /proc/self/fd >" + directory.path("plain")).c_str()) == 0);
  Noisectl noisectl(options, directory);
  daemon.serve(tell_to_the_end);
  CHECK(noisectl.code() == 0);
  std::ostringstream plain;
  plain << std::ifstream(directory.path("plain")).rdbuf();
  CHECK(noisectl.out() == plain.str());
}

TEST_CASE("a daemon that goes away does not harm the command", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  const std::string gone = directory.path("gone");
  Noisectl noisectl(watch(directory, shell("while [ ! -e " + gone + " ]; do sleep 0.01; done; echo done; exit 3")),
                    directory);
  daemon.serve([](const Asker& asker) {
    asker.begin();
    asker.line(watch_line(false));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds{100});
  CHECK(noisectl.running());
  directory.write("gone", "");
  CHECK(noisectl.code() == 1);
  CHECK(noisectl.out() == "done\n");
  CHECK(noisectl.err() == page(false) + "noisectl: daemon at " + directory.path("s") +
                              " went away: the report ends early, with what was told until then; 'sh' ended with 3\n");
}

TEST_CASE("a command may outlive its watch", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  client::TaskWatchOptions options = watch(directory, shell("sleep 0.1; echo done"));
  options.duration_ns = 1;
  Noisectl noisectl(options, directory);
  daemon.serve([](const Asker& asker) {
    asker.begin();
    asker.line(watch_line(false));
    asker.line(watch_line(true));
    asker.end();
  });
  CHECK(noisectl.code() == 0);
  CHECK(noisectl.out() == "done\n");
  CHECK(noisectl.err() == page(true));
}

TEST_CASE("a daemon that is behind when the command has ended is waited for, and who waits is told", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  client::TaskWatchOptions options = watch(directory, {"true"});
  options.interval_ns = 1'000'000;
  Noisectl noisectl(options, directory);
  daemon.serve([&](const Asker& asker) {
    asker.begin();
    asker.line(watch_line(false));
    asker.wait_for_end();
    wait_until([&] { return shows_part(noisectl.err(), "noised works off what it has seen"); });
    asker.line(watch_line(true));
    asker.end();
  });
  CHECK(noisectl.code() == 0);
  CHECK(shows_part(noisectl.err(), page(true)));
}

TEST_CASE("who interrupts after the command has ended does not wait for the daemon", "[noisectl]") {
  const test::TemporaryDirectory directory;
  FakeDaemon daemon(directory.path("s"));
  Noisectl noisectl(watch(directory, {"true"}), directory);
  std::atomic<bool> ended = false;
  daemon.serve([&](const Asker& asker) {
    asker.begin();
    asker.line(watch_line(false));
    asker.wait_for_end();
    ended = true;
    asker.wait_for_close();
  });
  wait_until([&] { return ended.load(); });
  while (noisectl.running()) {
    noisectl.signal(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  CHECK(noisectl.code() == 1);
  CHECK(shows_part(noisectl.err(), "did not tell the end: the report ends early; 'true' ended with 0\n"));
}
