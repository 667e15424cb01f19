// SPDX-License-Identifier: Apache-2.0
// noisectl against a daemon that lives, dies, or was never there.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpus.h"
#include "command.h"
#include "left_behind.h"
#include "loads.h"
#include "measurement.h"
#include "report_checks.h"
#include "switch_cost.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

// Where the host strikes 20,000 times a second, nine of ten are shorter. A guest without KVM shows its followers 5,000
// detours a second at most, and these tests are about all of them being shown.
constexpr std::uint64_t kThreshold = 2000;

// A daemon in the background, and its clients.
class ClientDaemon {
 public:
  explicit ClientDaemon(const TemporaryDirectory& directory) : socket_(directory.path("socket")) { start(); }

  void start() {
    const std::string cpu = std::to_string(probed_cpu());
    process_.emplace(Arguments{kNoised, "--socket", socket_, "--cpus", cpu, "--log-level", "error", "--threshold",
                               std::to_string(kThreshold) + "ns"});
    REQUIRE(eventually([this] { return ask({"status"}).exit_code == 0; }));
  }

  [[nodiscard]] Arguments client(const Arguments& arguments) const {
    Arguments command{kNoisectl, "--socket", socket_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }
  [[nodiscard]] Outcome ask(const Arguments& arguments) const { return run(client(arguments)); }
  [[nodiscard]] Json json(const std::string& command) const { return object_in(ask({command, "--json"}).out); }

  /// Ends it, and checks that it ended as it should.
  void stop() {
    process_->signal(SIGTERM);
    const Outcome outcome = process_->wait();
    INFO("standard error: " << outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out.empty());
  }

  void kill() {
    process_->signal(SIGKILL);
    CHECK(process_->wait().exit_code == 128 + SIGKILL);
  }

 private:
  std::string socket_;
  std::optional<Background> process_;
};

// The whole lines of a stream: what comes after the last newline is still being written.
std::vector<Json> records_in(const std::string& text) {
  std::vector<Json> records;
  for (const std::string& line : lines_of(text.substr(0, text.rfind('\n') + 1))) records.push_back(object_in(line));
  return records;
}

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

void check_stream(const std::vector<Json>& records, std::uint64_t min_ns) {
  std::uint64_t last_end = 0;
  for (const Json& record : records) {
    if (is_lost_line(record)) continue;
    check_detour(record);
    INFO(record.dump());
    CHECK(record.at("duration_ns") >= min_ns);
    CHECK(record.at("start_ns") >= last_end);
    last_end = record.at("start_ns").get<std::uint64_t>() + record.at("duration_ns").get<std::uint64_t>();
  }
}

// The detours of a stream, without the lines for lost ones.
std::vector<Json> detours_in(const std::string& text) {
  std::vector<Json> records = records_in(text);
  std::erase_if(records, is_lost_line);
  return records;
}

// That a follower is at most half a second behind is asked of machines that can: where one is emulated, daemon and
// clients together show 500 detours a second, and more than that happen.
void need_to_keep_up() {
  if (const std::uint64_t cost = switch_cost_ns(); cost > 20'000)
    SKIP("this machine is too slow to show detours as they happen: a switch takes " << cost / 1000 << " us");
}

// The start of the newest detour of a stream that goes on; 0 before the first. Reading all of it again and again would
// take the CPU that the daemon and its clients need.
std::uint64_t newest_start(const std::string& text) {
  std::size_t end = text.rfind('\n');
  while (end != std::string::npos && end != 0) {
    const std::size_t before = text.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const Json record = object_in(text.substr(begin, end - begin));
    if (!is_lost_line(record)) return record.at("start_ns").get<std::uint64_t>();
    end = before;
  }
  return 0;
}

// A limit with detours on both sides of it, whatever the machine.
std::uint64_t median_ns(const std::vector<Json>& detours) {
  std::vector<std::uint64_t> durations;
  for (const Json& detour : detours) durations.push_back(detour.at("duration_ns").get<std::uint64_t>());
  REQUIRE_FALSE(durations.empty());
  std::ranges::sort(durations);
  return durations[durations.size() / 2];
}

std::uint64_t lost_in(const std::vector<Json>& records) {
  std::uint64_t lost = 0;
  for (const Json& record : records) lost += is_lost_line(record) ? record.at("lost_detours").get<std::uint64_t>() : 0;
  return lost;
}

// How many detours a stream showed, or counted as lost, before each one that it shows, by its start.
std::map<std::uint64_t, std::uint64_t> positions(const std::vector<Json>& records) {
  std::map<std::uint64_t, std::uint64_t> result;
  std::uint64_t position = 0;
  for (const Json& record : records) {
    if (is_lost_line(record)) {
      position += record.at("lost_detours").get<std::uint64_t>();
    } else {
      result[record.at("start_ns").get<std::uint64_t>()] = position++;
    }
  }
  return result;
}

// Two followers of one daemon: between any two detours that both show, both account for as many.
void check_same_detours(const std::vector<Json>& one, const std::vector<Json>& other) {
  const auto in_other = positions(other);
  std::optional<std::uint64_t> offset;
  std::size_t common = 0;
  for (const auto& [start, position] : positions(one)) {
    const auto found = in_other.find(start);
    if (found == in_other.end()) continue;
    const std::uint64_t difference = position - found->second;  // wraps around alike for all
    CHECK(difference == offset.value_or(difference));
    offset = difference;
    ++common;
  }
  CHECK(common > 100);
}

void check_client_refused(const Outcome& outcome, int exit_code, const std::string& place, const std::string& remedy) {
  INFO("standard error: " << outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.out.empty());
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK(outcome.err.starts_with("noisectl: "));
  CHECK(outcome.err.find(place) != std::string::npos);
  CHECK(outcome.err.find(remedy) != std::string::npos);
}

// Counters of a later report against those of an earlier one of the same daemon.
void check_grown(const Json& earlier, const Json& later) {
  CHECK(later.at("elapsed_ns") > earlier.at("elapsed_ns"));
  CHECK(later.at("start") == earlier.at("start"));
  for (const auto& [reason, count] : earlier.at("lost").items()) CHECK(later.at("lost").at(reason) >= count);
  REQUIRE(earlier.at("cpus").size() == later.at("cpus").size());
  for (std::size_t i = 0; i < earlier.at("cpus").size(); ++i) {
    for (const char* field : {"observed_ns", "iterations", "detours", "detour_ns"}) {
      INFO(field);
      CHECK(later.at("cpus")[i].at(field) > earlier.at("cpus")[i].at(field));
    }
    for (const char* field : {"max_detour_ns", "explained_ns", "overhead_ns", "hypervisor_ns", "hardware_ns"}) {
      INFO(field);
      CHECK(later.at("cpus")[i].at(field) >= earlier.at("cpus")[i].at(field));
    }
  }
  const auto key = [](const Json& source) { return Json::array({source["cpu"], source["kind"], source["name"]}); };
  std::map<Json, Json> sources;
  for (const Json& source : later.at("sources")) sources[key(source)] = source;
  for (const Json& source : earlier.at("sources")) {
    INFO(source.dump());
    REQUIRE(sources.contains(key(source)));
    const Json& grown = sources[key(source)];
    CHECK(grown.at("count") >= source.at("count"));
    CHECK(grown.at("total_ns") >= source.at("total_ns"));
    CHECK(grown.at("max_ns") >= source.at("max_ns"));
    CHECK(grown.at("min_ns") <= source.at("min_ns"));
  }
}

}  // namespace

TEST_CASE("status, report and histogram answer in text and in JSON", "[core]") {
  const TemporaryDirectory directory;
  ClientDaemon daemon(directory);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const std::string command : {"status", "report", "histogram"}) {
    INFO(command);
    const Outcome text = daemon.ask({command});
    CHECK(text.exit_code == 0);
    CHECK(text.err.empty());
    CHECK(lines_of(text.out).size() > 5);
    CHECK(text.out.ends_with('\n'));
    CHECK(text.out.find('{') == std::string::npos);
    const Outcome json = daemon.ask({command, "--json"});
    CHECK(json.exit_code == 0);
    CHECK(json.err.empty());
    CHECK(lines_of(json.out).size() == 1);
    CHECK(object_in(json.out).at("schema").get<std::string>() == "noised." + command + "/1");
  }
  const Json histogram = daemon.json("histogram");
  CHECK_FALSE(histogram.at("series").empty());
  for (const Json& series : histogram.at("series")) CHECK(series.at("count") > 0);
  // What entry and exit can cost beside the timer's interrupt is learned from 16 of them.
  const auto has_learned = [&] {
    const Json status = daemon.json("status");
    const Json bounds = status.contains("overhead_bounds") ? status.at("overhead_bounds") : Json::array();
    return std::any_of(bounds.begin(), bounds.end(), [](const Json& bound) {
      return bound.at("place") == "before" && bound.at("kind") == "vector" && bound.at("cpus") == 1U &&
             bound.at("samples") >= 16U && bound.at("least_ns") >= 2'000U &&
             bound.at("least_ns") == bound.at("most_ns");
    });
  };
  if (has_tick(probed_cpu())) CHECK(eventually(has_learned));
  daemon.stop();
  CHECK(names_in(directory.path()).empty());
  CHECK(programs_left_behind().empty());
}

TEST_CASE("every live report adds up, and no counter ever falls", "[core]") {
  const TemporaryDirectory directory;
  ClientDaemon daemon(directory);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Json earlier = daemon.json("report");
  for (int turn = 0; turn < 10; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(130));
    Json later = daemon.json("report");
    check_fields(later);
    check_ledger(later);
    check_grown(earlier, later);
    earlier = std::move(later);
  }
  daemon.stop();
}

TEST_CASE("detours lists what is kept, in order, each adding up") {
  const TemporaryDirectory directory;
  ClientDaemon daemon(directory);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const Outcome all = daemon.ask({"detours", "--json"});
  CHECK(all.exit_code == 0);
  CHECK(all.err.empty());
  const std::vector<Json> records = records_in(all.out);
  CHECK(records.size() > 50);
  check_stream(records, kThreshold);
  const Outcome text = daemon.ask({"detours"});
  CHECK(text.exit_code == 0);
  CHECK(lines_of(text.out).size() > 50);
  if (has_tick(probed_cpu())) CHECK(text.out.find("local_timer") != std::string::npos);
  // Both sides of the limit are there, or the filter would not be seen to work.
  const std::uint64_t limit = median_ns(detours_in(all.out));
  const std::vector<Json> few =
      detours_in(daemon.ask({"detours", "--json", "--min", std::to_string(limit) + "ns"}).out);
  CHECK_FALSE(few.empty());
  CHECK(few.size() < detours_in(daemon.ask({"detours", "--json"}).out).size());
  check_stream(few, limit);
  CHECK(daemon.ask({"detours", "--json", "--min", "1h"}).out.empty());
  daemon.stop();
}

TEST_CASE("detours --follow shows them as they happen", "[core]") {
  need_to_keep_up();
  const TemporaryDirectory directory;
  ClientDaemon daemon(directory);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::uint64_t limit = median_ns(detours_in(daemon.ask({"detours", "--json"}).out));
  const std::uint64_t begin = now_ns();
  Background follower(daemon.client({"detours", "--follow", "--json"}));
  Background choosy(daemon.client({"detours", "--follow", "--json", "--min", std::to_string(limit) + "ns"}));
  Background reader(daemon.client({"detours", "--follow"}));
  for (const Background* client : {&follower, &choosy, &reader})
    REQUIRE(eventually([&] { return lines_in(client->out()) != 0; }));
  std::size_t seen = lines_in(follower.out());
  for (int turn = 0; turn < 4; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const std::uint64_t now = now_ns();
    const std::string out = follower.out();
    CHECK(lines_in(out) > seen + 50);  // the tick alone is 100 a second or more
    seen = lines_in(out);
    CHECK(newest_start(out) + 500'000'000U > now);
    CHECK(newest_start(out) < now_ns());
  }
  for (Background* client : {&follower, &choosy, &reader}) client->signal(SIGINT);
  const Outcome outcome = follower.wait();
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.ends_with('\n'));
  const std::vector<Json> records = detours_in(outcome.out);
  check_stream(records, kThreshold);
  // A burst may be more than the daemon keeps for its followers; but that is not the rule.
  CHECK(lost_in(records_in(outcome.out)) < records.size());
  CHECK(records.front().at("start_ns").get<std::uint64_t>() + 1'000'000'000U > begin);
  const std::vector<Json> long_ones = detours_in(choosy.wait().out);
  CHECK(long_ones.size() > 50);
  CHECK(long_ones.size() < records.size());
  check_stream(long_ones, limit);
  CHECK(lines_of(reader.wait().out).size() > 100);
  daemon.stop();
}

TEST_CASE("a follower keeps off the CPUs that are measured") {
  const TemporaryDirectory directory;
  const ClientDaemon daemon(directory);
  const Background follower(daemon.client({"detours", "--follow", "--json"}));
  const auto confined = [&] {
    std::ifstream file("/proc/" + std::to_string(follower.pid()) + "/status");
    std::string key;
    std::string list;
    while (file >> key && key != "Cpus_allowed_list:") {
    }
    file >> list;
    const auto cpus = parse_cpu_list(list);
    return cpus && std::ranges::find(cpus.value(), probed_cpu()) == cpus.value().end();
  };
  CHECK(eventually(confined));
}

TEST_CASE("a follower that stops reading disturbs neither the daemon nor another follower") {
  need_to_keep_up();
  const TemporaryDirectory directory;
  ClientDaemon daemon(directory);
  Background fast(daemon.client({"detours", "--follow", "--json"}));
  REQUIRE(eventually([&] { return lines_in(fast.out()) != 0; }));
  Background slow(daemon.client({"detours", "--follow", "--json"}));
  REQUIRE(eventually([&] { return lines_in(slow.out()) != 0; }));
  slow.signal(SIGSTOP);
  std::size_t seen = 0;
  for (int turn = 0; turn < 8; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const std::uint64_t now = now_ns();
    const std::string out = fast.out();
    CHECK(lines_in(out) > seen + 50);
    seen = lines_in(out);
    CHECK(newest_start(out) + 500'000'000U > now);
    CHECK(daemon.ask({"status"}).exit_code == 0);
  }
  const std::uint64_t awake = now_ns();
  slow.signal(SIGCONT);
  CHECK(eventually([&] { return newest_start(slow.out()) > awake; }));
  const Json report = daemon.json("report");
  check_ledger(report);
  CHECK(report.at("lost").at("events") == 0);
  CHECK(report.at("lost").at("detours") == 0);
  // Stopped again: a daemon that ends does not wait for it.
  slow.signal(SIGSTOP);
  const std::uint64_t told = now_ns();
  daemon.stop();
  CHECK(now_ns() - told < 2'000'000'000U);
  CHECK(names_in(directory.path()).empty());
  const std::vector<Json> all = records_in(fast.wait().out);
  check_stream(all, kThreshold);
  slow.signal(SIGCONT);
  const std::vector<Json> some = records_in(slow.wait().out);
  check_stream(some, kThreshold);
  check_same_detours(all, some);
  CHECK(lost_in(all) <= lost_in(some));
}

TEST_CASE("a follower whose daemon is killed says so in one line") {
  const TemporaryDirectory directory;
  ClientDaemon daemon(directory);
  Background follower(daemon.client({"detours", "--follow", "--json"}));
  REQUIRE(eventually([&] { return lines_of(follower.out()).size() > 100; }));
  daemon.kill();
  Outcome outcome = follower.wait();
  check_stream(records_in(outcome.out), kThreshold);
  CHECK(outcome.out.ends_with('\n'));
  outcome.out.clear();
  check_client_refused(outcome, 1, directory.path("socket"), "");
  CHECK(programs_left_behind().empty());
}

TEST_CASE("a new daemon takes over what a killed one left") {
  const TemporaryDirectory directory;
  ClientDaemon daemon(directory);
  daemon.kill();
  CHECK_FALSE(names_in(directory.path()).empty());
  check_client_refused(daemon.ask({"status"}), 1, directory.path("socket"), "noised");
  daemon.start();
  check_ledger(daemon.json("report"));
  daemon.stop();
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("top refuses without a terminal") {
  const TemporaryDirectory directory;
  check_client_refused(run({kNoisectl, "--socket", directory.path("none"), "top"}), 2, "terminal", "noisectl");
  ClientDaemon daemon(directory);
  check_client_refused(daemon.ask({"top"}), 2, "terminal", "noisectl");
  daemon.stop();
}

TEST_CASE("without a daemon every command says how to start one") {
  const TemporaryDirectory directory;
  const std::string socket = directory.path("socket");
  for (const Arguments& command : {Arguments{"status"}, Arguments{"report"}, Arguments{"histogram"},
                                   Arguments{"detours"}, Arguments{"detours", "--follow"}}) {
    for (const bool json : {false, true}) {
      Arguments arguments{kNoisectl, "--socket", socket};
      arguments.insert(arguments.end(), command.begin(), command.end());
      if (json) arguments.push_back("--json");
      INFO(command.front());
      check_client_refused(run(arguments), 1, socket, "noised --cpus");
    }
  }
  directory.write("file", "");
  check_client_refused(run({kNoisectl, "--socket", directory.path("file"), "status"}), 1, directory.path("file"),
                       "noised --cpus");
}

TEST_CASE("noisectl refuses what it cannot mean") {
  const auto refused = [](const Arguments& arguments, const std::string& place, const std::string& remedy) {
    Arguments command{kNoisectl};
    command.insert(command.end(), arguments.begin(), arguments.end());
    INFO(place);
    check_client_refused(run(command), 2, place, remedy);
  };
  refused({}, "subcommand", "--help");
  refused({"no-such-command"}, "no-such-command", "--help");
  refused({"status", "--no-such-flag"}, "--no-such-flag", "--help");
  refused({"detours", "--min", "5"}, "--min", "5");
  refused({"detours", "--min", "quick"}, "--min", "200ns");
  refused({"--socket", std::string(200, 'x'), "status"}, "--socket", "107");
}
