// SPDX-License-Identifier: Apache-2.0
// The daemon as a service: what it tells the manager, takes from it, reloads, and has no more rights to.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "left_behind.h"
#include "measurement.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

constexpr const char* kWeb = "127.0.0.1:20277";

// What a service manager would hear.
class NotifySocket {
 public:
  explicit NotifySocket(std::string path)
      : path_(std::move(path)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    REQUIRE(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  }
  // True once a message with this line has come.
  bool heard(const std::string& line) {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = recv(socket_.get(), buffer.data(), buffer.size(), 0)) > 0;) {
      for (const std::string& each : lines_of(std::string(buffer.data(), static_cast<std::size_t>(got)))) {
        all_.push_back(each);
      }
    }
    return std::find(all_.begin(), all_.end(), line) != all_.end();
  }
  bool hears(const std::string& line) {
    return eventually([&] { return heard(line); });
  }
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }
  void forget() { all_.clear(); }

 private:
  std::string path_;
  Descriptor socket_;
  std::vector<std::string> all_;
};

struct Service {
  TemporaryDirectory directory;
  std::string socket = directory.path("noised.sock");
  std::string file = directory.path("noised.conf");
  unsigned cpu = probed_cpu();

  Service() { configure("[log]\nlevel = 'info'\n"); }
  void configure(const std::string& text) const { std::ofstream(file) << text; }
  [[nodiscard]] Arguments command(const std::string& web = "") const {
    return {kNoised, "--config", file, "--socket", socket, "--cpus", std::to_string(cpu), "--web.listen-address", web};
  }
  [[nodiscard]] bool answers() const { return run({kNoisectl, "--socket", socket, "status"}).exit_code == 0; }
};

std::string status_line(const std::string& file, const std::string& key) {
  for (const std::string& line : lines_of(read_file(file).value())) {
    if (line.starts_with(key + ":")) return line.substr(line.find_first_not_of(" \t", key.size() + 1));
  }
  return "none";
}

Outcome fetch(const std::string& path) {
  return run({"curl", "-s", "-m", "5", "-w", "%{http_code}", "http://" + std::string(kWeb) + path});
}

}  // namespace

TEST_CASE("service: once it measures, no thread has a capability, and each has a filter of system calls") {
  const Service service;
  Background daemon(service.command());
  REQUIRE(eventually([&] { return service.answers(); }));
  std::set<std::string> threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(daemon.pid()) + "/task")) {
    const std::string status = task.path() / "status";
    const std::string name = status_line(status, "Name");
    INFO(name);
    threads.insert(name);
    for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      CHECK(status_line(status, set) == "0000000000000000");
    }
    CHECK(status_line(status, "Seccomp") == "2");
    CHECK(status_line(status, "NoNewPrivs") == "1");
  }
  CHECK(threads == std::set<std::string>{"noised", "noised/" + std::to_string(service.cpu), "noised/http"});
  CHECK(run({kNoisectl, "--socket", service.socket, "report", "--json"}).exit_code == 0);
  daemon.signal(SIGTERM);
  CHECK(daemon.wait().exit_code == 0);
  CHECK(programs_left_behind().empty());
}

TEST_CASE("service: the manager hears of every phase, that the pipeline lives, and of a reload") {
  const Service service;
  NotifySocket manager(service.directory.path("notify"));
  CommandOptions options;
  options.environment = {"NOTIFY_SOCKET=" + manager.path(), "WATCHDOG_USEC=400000"};
  Background daemon(service.command(), options);
  REQUIRE(manager.hears("READY=1"));
  for (const char* const phase : {"STATUS=Opening sockets", "STATUS=Loading and attaching programs",
                                  "STATUS=Giving up privileges", "STATUS=Starting to measure"}) {
    CHECK(manager.heard(phase));
  }
  CHECK(manager.all().back().starts_with("STATUS=Measuring CPUs " + std::to_string(service.cpu) + " from CPUs "));
  CHECK(manager.hears("WATCHDOG=1"));

  daemon.signal(SIGSTOP);  // a pipeline that stands still does not say that it lives
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  (void)manager.heard("");
  manager.forget();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  CHECK_FALSE(manager.heard("WATCHDOG=1"));
  daemon.signal(SIGCONT);
  CHECK(manager.hears("WATCHDOG=1"));

  manager.forget();
  service.configure("[log]\nlevel = 'debug'\n");
  daemon.signal(SIGHUP);
  CHECK(manager.hears("RELOADING=1"));
  CHECK(manager.hears("READY=1"));
  daemon.signal(SIGTERM);
  CHECK(manager.hears("STOPPING=1"));
  CHECK(daemon.wait().exit_code == 0);
}

TEST_CASE("service: stopped, it leaves its last report where systemd has a place for it, and nothing elsewhere") {
  const Service service;
  const std::string state = service.directory.path("noised");
  REQUIRE(std::filesystem::create_directory(state));
  CommandOptions options;
  options.environment = {"STATE_DIRECTORY=" + state};
  const auto last = [&](const Arguments& more = {}) {
    Arguments all{kNoisectl, "report", "--last"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all, options);
  };
  const Outcome none = last();
  CHECK(none.exit_code == 1);
  CHECK(none.err.find(state + "/last-report.json") != std::string::npos);
  std::string before;
  for (int round = 0; round < 2; ++round) {
    Background daemon(service.command(), options);
    REQUIRE(eventually([&] { return service.answers(); }));
    if (round == 1) CHECK(last({"--json"}).out == before);  // until the next one is stopped
    const auto running = views::parse_report(run({kNoisectl, "--socket", service.socket, "report", "--json"}).out);
    REQUIRE(running);
    daemon.signal(SIGTERM);
    REQUIRE(daemon.wait().exit_code == 0);
    before = last({"--json"}).out;
    const auto report = views::parse_report(before);
    if (!report) FAIL(report.error().line());
    CHECK(report.value().start == running.value().start);
    CHECK(report.value().elapsed_ns > running.value().elapsed_ns);
    CHECK(cpu_of(report.value(), service.cpu).detours >= cpu_of(running.value(), service.cpu).detours);
    CHECK(last().out.find("observed") != std::string::npos);
  }
  struct stat file{};
  REQUIRE(::stat((state + "/last-report.json").c_str(), &file) == 0);
  CHECK((file.st_mode & 0777U) == 0600U);  // it has all names, which members may not read

  const std::string other = service.directory.path("other");  // of another service, whose variable was inherited
  REQUIRE(std::filesystem::create_directory(other));
  options.environment = {"STATE_DIRECTORY=" + other};
  Background daemon(service.command(), options);
  REQUIRE(eventually([&] { return service.answers(); }));
  daemon.signal(SIGTERM);
  REQUIRE(daemon.wait().exit_code == 0);
  CHECK(std::filesystem::is_empty(other));

  std::ofstream(state + "/last-report.json") << before.substr(0, before.size() / 2);
  options.environment = {"STATE_DIRECTORY=" + state};
  const Outcome damaged = last();
  CHECK(damaged.exit_code == 1);
  CHECK(damaged.err.find("is no report") != std::string::npos);
}

TEST_CASE("service: a reload changes what it can, names the rest, and keeps the old settings if the file is bad") {
  const Service service;
  Background daemon(service.command());
  REQUIRE(eventually([&] { return service.answers(); }));
  const auto logged = [&](const std::string& text) {
    return eventually([&] { return daemon.err().find(text) != std::string::npos; });
  };
  const auto interval = [&] {
    const Outcome status = run({kNoisectl, "--socket", service.socket, "status", "--json"});
    return nlohmann::json::parse(status.out).at("drain_interval_ns").get<std::uint64_t>();
  };
  const auto iterations = [&] {
    const Outcome report = run({kNoisectl, "--socket", service.socket, "report", "--json"});
    return nlohmann::json::parse(report.out).at("cpus").at(0).at("iterations").get<std::uint64_t>();
  };
  CHECK(interval() == 25'000'000);
  const std::uint64_t before = iterations();

  service.configure("[trace]\ndrain_interval = '50ms'\nbuffer_size = '4MiB'\n[log]\nlevel = 'info'\n");
  daemon.signal(SIGHUP);
  CHECK(logged("reloaded " + service.file));
  CHECK(logged("take effect at the next start only: trace.buffer_size\n"));
  CHECK(interval() == 50'000'000);

  service.configure("[trace]\ndrain_interval = '2s'\n");
  daemon.signal(SIGHUP);
  CHECK(logged("not reloaded, the old settings stay: " + service.file + ":2: drain_interval '2s' is not between"));
  CHECK(interval() == 50'000'000);
  CHECK(iterations() > before);

  service.configure("[log]\nlevel = 'error'\n");
  daemon.signal(SIGHUP);
  CHECK(eventually([&] { return interval() == 25'000'000; }));
  daemon.signal(SIGTERM);
  CHECK(daemon.wait().exit_code == 0);
}

TEST_CASE("service: who is not root may read with the group, and change nothing") {
  if (run({"setpriv", "--version"}).exit_code != 0) SKIP("setpriv is not installed");
  const Service service;
  std::filesystem::permissions(service.directory.path(""),
                               std::filesystem::perms::others_exec | std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  service.configure("[service]\nsocket_group = 'nogroup'\n[log]\nlevel = 'info'\n");
  Background daemon(service.command());
  REQUIRE(eventually([&] { return service.answers(); }));
  const auto as = [&](const char* group, const std::string& command, const Arguments& more = {}) {
    Arguments all{"setpriv",        "--reuid=65534", std::string("--regid=") + group,
                  "--clear-groups", kNoisectl,       "--socket",
                  service.socket,   command};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  CHECK(as("nogroup", "status").exit_code == 0);
  const Outcome refused = as("nogroup", "reload");
  CHECK(refused.exit_code == 1);
  CHECK(refused.err == "noisectl: daemon at " + service.socket + ": only root may do this: run as root\n");
  // Phases take the place of everybody's loop.
  const Outcome phases =
      as("nogroup", "record", {"--grain", "1ms", "--duration", "1s", "-o", service.directory.path("recording")});
  CHECK(phases.exit_code == 1);
  CHECK(phases.err == refused.err);
  const Outcome got =
      run({"curl", "-s", "--unix-socket", service.socket, "http://noised/v1/recording?grain_ns=1000000"});
  CHECK(got.out == "{\"error\":\"grain_ns: phases are a POST to /v1/phases\"}\n");
  CHECK(as("1", "status").err.find("permission denied") != std::string::npos);
  CHECK(as("1", "reload").err.find("permission denied") != std::string::npos);
  CHECK(daemon.err().find("reloaded") == std::string::npos);

  const auto reload = [&] { return run({kNoisectl, "--socket", service.socket, "reload"}); };
  service.configure("[service]\nsocket_group = 'nogroup'\n[trace]\nbuffer_size = '4MiB'\n");
  CHECK(reload().out == "reloaded; these settings take effect at the next start only: trace.buffer_size\n");
  service.configure("[trace]\nbuffer_size = '5MiB'\n");
  const Outcome bad = reload();
  CHECK(bad.exit_code == 1);
  CHECK(bad.err.find(service.file + ":2: buffer_size '5MiB' is not a power of two") != std::string::npos);
}

TEST_CASE("service: no counter goes back, however often it is asked for") {
  const Service service;
  Background daemon(service.command());
  REQUIRE(eventually([&] { return service.answers(); }));
  nlohmann::json before;
  for (int time = 0; time < 100; ++time) {
    const Outcome report = run({kNoisectl, "--socket", service.socket, "report", "--json"});
    const nlohmann::json now = nlohmann::json::parse(report.out).at("cpus").at(0);
    for (const char* const field : {"observed_ns", "blind_ns", "iterations", "detours", "detour_ns", "explained_ns"}) {
      INFO(time << " " << field);
      if (time != 0) CHECK(now.at(field).get<std::uint64_t>() >= before.at(field).get<std::uint64_t>());
    }
    before = now;
    if (time % 20 != 10) continue;
    daemon.signal(SIGSTOP);  // blind for a while
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    daemon.signal(SIGCONT);
  }
  daemon.signal(SIGTERM);
  CHECK(daemon.wait().exit_code == 0);
}

TEST_CASE("service: the metrics port serves a monitoring system and nothing more") {
  if (run({"curl", "--version"}).exit_code != 0) SKIP("curl is not installed");
  const Service service;
  Background daemon(service.command(kWeb));
  REQUIRE(eventually([&] { return service.answers(); }));
  const Outcome metrics = fetch("/metrics");
  CHECK(metrics.out.ends_with("200"));
  CHECK(metrics.out.find("noised_detours_total{cpu=\"" + std::to_string(service.cpu) + "\"} ") != std::string::npos);
  CHECK(fetch("/-/healthy").out == "healthy\n200");
  // A host that takes the daemon's CPU for long may make it lose something: then it says so.
  const std::string ready = fetch("/-/ready").out;
  CHECK((ready == "ready\n200" || ready.starts_with("not ready: data was lost in the last minute")));
  CHECK(fetch("/metrics").out.find("\nnoised_ready ") != std::string::npos);
  CHECK(fetch("/").out.find("<a href=\"/metrics\">") != std::string::npos);
  for (const char* const path : {"/v1/report", "/v1/status", "/v1/detours", "/metrics/", "/etc/passwd"}) {
    INFO(path);
    CHECK(fetch(path).out == "{\"error\":\"no such path\"}\n404");
  }
  Outcome local = run({"curl", "-s", "--unix-socket", service.socket, "http://noised/metrics"});
  CHECK(local.out.find("noised_observed_seconds_total") != std::string::npos);
  daemon.signal(SIGTERM);
  CHECK(daemon.wait().exit_code == 0);
}

TEST_CASE("service: the metrics call tasks by their services, unless it is told to call them by name") {
  if (run({"curl", "--version"}).exit_code != 0) SKIP("curl is not installed");
  const Service service;
  const auto told_of = [&](const std::string& configuration) {
    service.configure(configuration);
    Background daemon(service.command(kWeb));
    REQUIRE(eventually([&] { return service.answers(); }));
    const Outcome noise = run({kNoise, "task", "--cpu", std::to_string(service.cpu), "--name", "payroll", "--work",
                               "2ms", "--period", "20ms", "--duration", "1s"});
    REQUIRE(noise.exit_code == 0);
    // Who may ask at the socket is told its name.
    const auto reported = [&] {
      return run({kNoisectl, "--socket", service.socket, "report", "--json"}).out.find("\"payroll\"") !=
             std::string::npos;
    };
    REQUIRE(eventually(reported));
    std::this_thread::sleep_for(std::chrono::seconds(1));  // what the port tells is as old
    const Outcome metrics = fetch("/metrics");
    CHECK(metrics.out.ends_with("200"));
    daemon.signal(SIGTERM);
    CHECK(daemon.wait().exit_code == 0);
    return metrics.out;
  };
  const std::string services = told_of("");
  CHECK(services.find("payroll") == std::string::npos);
  CHECK(services.find("kind=\"task\"") != std::string::npos);
  CHECK(told_of("[service]\nmetric_names = 'tasks'\n").find("source=\"payroll\"") != std::string::npos);
}

TEST_CASE("service: a socket that the manager passes serves the metrics") {
  if (run({"systemd-socket-activate", "--version"}).exit_code != 0) SKIP("systemd-socket-activate is not installed");
  const Service service;
  Arguments command{"systemd-socket-activate", "--listen", kWeb, "--fdname", "metrics"};
  const Arguments daemon_command = service.command();
  command.insert(command.end(), daemon_command.begin(), daemon_command.end());
  Background daemon(command);
  REQUIRE(eventually([&] { return fetch("/metrics").out.ends_with("200"); }));
  CHECK(service.answers());
  daemon.signal(SIGTERM);
  CHECK(daemon.wait().exit_code == 0);
}

TEST_CASE("service: with the shipped configuration it starts, also where no CPU is isolated") {
  const Service service;
  // It says the built-in defaults (config_test). In an emulator, each iteration of a loop is longer than its threshold.
  service.configure(is_emulated() ? "[probe]\nthreshold = '5us'\n" : "");
  const Arguments by_file{kNoised, "--config", service.file, "--socket", service.socket, "--web.listen-address", ""};
  Background daemon(by_file);
  REQUIRE(eventually([&] { return service.answers(); }));
  const Outcome status = run({kNoisectl, "--socket", service.socket, "status", "--json"});
  INFO(status.err);
  REQUIRE(status.exit_code == 0);
  const nlohmann::json shown = nlohmann::json::parse(status.out);
  const std::vector<unsigned> isolated = isolated_cpus().value();
  CHECK(shown.at("mode") == (isolated.empty() ? "watch" : "probe"));
  CHECK(shown.at("probe_cpus") == format_cpu_list(isolated.empty() ? online_cpus().value() : isolated));
  const bool is_told = daemon.err().find("no CPU is isolated here") != std::string::npos;
  CHECK(is_told == isolated.empty());
  CHECK((status.out.find("detours: no CPU is isolated here") != std::string::npos) == isolated.empty());
  // What it does instead is no other setting than the file's.
  CHECK(run({kNoisectl, "--socket", service.socket, "reload"}).out == "reloaded\n");
  daemon.signal(SIGTERM);
  CHECK(daemon.wait().exit_code == 0);
  if (!isolated.empty()) return;
  Arguments by_flag = by_file;
  by_flag.insert(by_flag.end(), {"--cpus", "isolated"});
  const Outcome refused = run(by_flag);
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("this machine has no such CPU") != std::string::npos);
}

TEST_CASE("service: a loop with a duty cycle leaves the CPU for the rest of the time, and loses nothing by that") {
  const Outcome outcome = run(
      {kNoised, "--cpus", std::to_string(probed_cpu()), "--duty-cycle", "25%", "--duration", "4s", "--report", "json"});
  REQUIRE(outcome.exit_code == 0);
  const auto report = nlohmann::json::parse(outcome.out);
  const auto observed = report.at("cpus").at(0).at("observed_ns").get<double>();
  // A busy host gives the CPU back late, never early.
  const double share = observed / report.at("elapsed_ns").get<double>();
  INFO("observed " << share);
  CHECK(share < 0.35);
  CHECK(share > 0.05);
  CHECK(report.at("cpus").at(0).at("detours").get<std::uint64_t>() > 0);
  for (const auto& loss : report.at("lost").value("by", nlohmann::json::array())) {
    CHECK(loss.at("reason") != "loop_moved");
    CHECK(loss.at("reason") != "loop_stopped");
  }
}

TEST_CASE("service: killed at any moment of start, reload and running, it leaves nothing behind") {
  const Service service;
  std::minstd_rand random(static_cast<unsigned>(getpid()));
  for (int time = 0; time < 50; ++time) {
    Background daemon(service.command(kWeb));
    const auto life = std::chrono::milliseconds(random() % 1200);
    const auto reload = std::chrono::milliseconds(random() % 1200);
    if (reload < life && reload.count() > 600) {
      std::this_thread::sleep_for(reload);
      if (service.answers()) daemon.signal(SIGHUP);
      std::this_thread::sleep_for(life - reload);
    } else {
      std::this_thread::sleep_for(life);
    }
    daemon.signal(SIGKILL);
    const Outcome outcome = daemon.wait();
    INFO("time " << time << ", killed after " << life.count() << " ms: " << outcome.err);
    REQUIRE(outcome.exit_code ==
            128 + SIGKILL);  // it had not ended by itself: the one before did not block its sockets
  }
  CHECK(programs_left_behind().empty());
  Background daemon(service.command(kWeb));
  REQUIRE(eventually([&] { return service.answers(); }));
  daemon.signal(SIGTERM);
  CHECK(daemon.wait().exit_code == 0);
}
