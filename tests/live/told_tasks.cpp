// SPDX-License-Identifier: Apache-2.0
// Two clients of the daemon, and the tables of an export.
#include "told_tasks.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>
#include <utility>

namespace noised::live {
namespace {

constexpr std::chrono::seconds kLongest{60};

CommandOptions patient() {
  CommandOptions options;
  options.timeout = kLongest;
  return options;
}

// One row of a table whose fields are quoted where they have to be.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char each : line) {
    if (each == '"') {
      quoted = !quoted;  // a quote within a field is two, which come to nothing: no field that is read has any
    } else if (each == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += each;
    }
  }
  return fields;
}

// Gives each row by the names of its columns, which the first row tells.
template <typename Take>
void read_told(const std::string& file, const Take& take) {
  std::ifstream stream(file);
  INFO(file);
  std::string line;
  REQUIRE(std::getline(stream, line));
  const std::vector<std::string> names = fields_of(line);
  while (std::getline(stream, line)) {
    const std::vector<std::string> fields = fields_of(line);
    INFO(line);
    REQUIRE(fields.size() == names.size());
    take([&](const char* name) -> const std::string& {
      const auto found = std::ranges::find(names, name);
      REQUIRE(found != names.end());
      return fields[static_cast<std::size_t>(found - names.begin())];
    });
  }
}

// An irq whose action is not the only one of that name carries its number: ftrace tells the name alone.
std::string without_number(std::string source) {
  constexpr std::size_t kKind = 4;  // "irq:"
  const std::size_t colon = source.rfind(':');
  if (source.starts_with("irq:") && colon >= kKind) source.resize(colon);
  return source;
}

void read_runs(const std::string& directory, std::map<int, ToldTask>& tasks) {
  read_told(directory + "/runs.csv", [&](const auto& field) {
    const auto task = tasks.find(std::stoi(field("pid")));
    if (task == tasks.end()) return;
    task->second.runs.push_back({std::stoull(field("start_ns")), std::stoull(field("duration_ns")),
                                 std::stoull(field("waited_ns")), field("wait"), field("involuntary") != "0",
                                 field("ended") == "1", field("migrated") == "1"});
  });
}

// Entries are told of their loss by its CPU, its begin and its task.
using LossKey = std::tuple<std::string, std::string, std::string>;

void read_interruptions(const std::string& directory, std::map<int, ToldTask>& tasks) {
  std::set<LossKey> interruptions;
  read_told(directory + "/detours.csv", [&](const auto& field) {
    if (field("loss") == "interrupted") interruptions.emplace(field("cpu"), field("start_ns"), field("pid"));
  });
  read_told(directory + "/entries.csv", [&](const auto& field) {
    if (!interruptions.contains({field("cpu"), field("detour_start_ns"), field("pid")})) return;
    const auto task = tasks.find(std::stoi(field("pid")));
    if (task == tasks.end() || field("source").starts_with("page_fault:")) return;
    // What a task calls on its own CPU is its own doing, unless it was beside an interrupt.
    if (field("depth") == "0" && field("source").starts_with("csd:")) return;
    task->second.interruptions.push_back(
        {std::stoull(field("start_ns")), std::stoull(field("self_ns")), without_number(field("source"))});
  });
  for (auto& [pid, task] : tasks) std::ranges::stable_sort(task.interruptions, {}, &ToldInterruption::start_ns);
}

}  // namespace

ToldSession::ToldSession(const WatchingDaemon& daemon, pid_t pid)
    : file_(directory_.path("recording")),
      watch_(daemon.command({"watch", "--pid", std::to_string(pid), "--follow", "--json"}), patient()),
      recorder_(daemon.command({"record", "-o", file_})) {
  constexpr std::uintmax_t kDescription = 1'000;  // more than that only once the recording has begun
  REQUIRE(eventually([&] { return !watch_.out().empty() && recorded_bytes() > kDescription; }));
}

std::uintmax_t ToldSession::recorded_bytes() const {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file_, error);
  return error ? 0 : size;
}

void ToldSession::wait() {
  const Outcome outcome = watch_.wait();
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  told_.report = report_in(outcome.out);
  REQUIRE(told_.report.final);
}

ToldTasks ToldSession::tell() {
  for (int blocks = 0; blocks < 2; ++blocks) {  // the second began after the end
    const std::uintmax_t before = recorded_bytes();
    REQUIRE(eventually([&] { return recorded_bytes() > before; }));
  }
  recorder_.signal(SIGINT);
  REQUIRE(recorder_.wait().exit_code == 0);
  const std::string tables = directory_.path("tables");
  const Outcome exported = run({kNoisectl, "export", "--format", "csv", "-o", tables, file_}, patient());
  INFO(exported.err);
  REQUIRE(exported.exit_code == 0);
  for (const WatchTask& task : told_.report.tasks) told_.tasks[static_cast<int>(task.pid)];
  read_runs(tables, told_.tasks);
  read_interruptions(tables, told_.tasks);
  return std::move(told_);
}

}  // namespace noised::live
