// SPDX-License-Identifier: Apache-2.0
// noised --mode watch.
#include "watching_daemon.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "base/files.h"
#include "measurement.h"

namespace noised::live {
namespace {

bool has_thread(pid_t process, const std::string& name) {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", error)) {
    const auto found = read_file(task.path().string() + "/comm");
    if (found && found.value() == name + "\n") return true;
  }
  return false;
}

}  // namespace

WatchingDaemon::WatchingDaemon(const std::string& cpus) : quiet_(probed_cpu()), socket_(directory_.path("socket")) {
  process_.emplace(Arguments{NOISED_BINARY, "--mode", "watch", "--cpus", cpus, "--socket", socket_,
                             "--web.listen-address", "", "--log-level", "error"});
  REQUIRE(eventually([this] { return run(command({"status"})).exit_code == 0; }));
  // Until it has measured what entries cost, its own threads are noise.
  REQUIRE(eventually([this] { return !has_thread(process_->pid(), "noised/gauge"); }));
}

Arguments WatchingDaemon::command(const Arguments& arguments) const {
  Arguments all{NOISECTL_BINARY, "--socket", socket_};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

WatchReport report_in(const std::string& text) {
  const auto lines = lines_of(text);
  REQUIRE_FALSE(lines.empty());
  auto report = views::parse_watch(lines.back());
  if (!report) FAIL(report.error().line());
  return std::move(report).value();
}

}  // namespace noised::live
