// SPDX-License-Identifier: Apache-2.0
// Driving tracefs, and reading its text.
#include "ftrace.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace noised::live {
namespace {

// 64 bytes an event: a quarter of a million of them, 80,000 a second in the longest measurement.
constexpr unsigned kBufferKb = 16 * 1024;

std::string mounted_tracefs() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, directory, type;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream(line) >> device >> directory >> type;
    if (type == "tracefs") return directory;
  }
  return {};
}

void remove_instance(const std::string& instance) {
  std::ofstream(instance + "/tracing_on") << "0";
  std::ofstream(instance + "/events/enable") << "0";
  rmdir(instance.c_str());
}

// "     bash-42   [001] d.h1. 12514130570065: local_timer_entry: vector=236"; the comm may hold anything, and has 16
// columns.
TraceEvent parse(const std::string& line) {
  constexpr std::size_t kCommColumns = 16;
  const std::size_t cpu = line.find(" [", kCommColumns);
  INFO("trace: " << line);
  REQUIRE(cpu != std::string::npos);
  std::istringstream fields(line.substr(cpu + 2));
  std::string flags;
  TraceEvent event;
  char bracket = 0;
  char colon = 0;
  fields >> event.cpu >> bracket >> flags >> event.ticks >> colon >> event.name;
  REQUIRE((fields && bracket == ']' && colon == ':' && event.name.ends_with(':')));
  event.name.pop_back();
  std::getline(fields >> std::ws, event.text);
  return event;
}

// As the kernel reads a set of CPUs: words of 32, the highest first.
std::string mask_of(const std::vector<unsigned>& cpus) {
  std::vector<std::uint32_t> words(*std::ranges::max_element(cpus) / 32 + 1);
  for (const unsigned cpu : cpus) words[cpu / 32] |= 1U << cpu % 32;
  std::ostringstream mask;
  mask << std::hex;
  for (std::size_t word = words.size(); word-- > 0;) mask << words[word] << (word == 0 ? "" : ",");
  return mask.str();
}

}  // namespace

Ftrace::Mount::Mount() : directory(mounted_tracefs()) {
  if (!directory.empty()) return;
  std::array<char, 32> path{"/tmp/noised-tracefs-XXXXXX"};
  if (mkdtemp(path.data()) == nullptr) SKIP("no directory to mount tracefs on");
  directory = path.data();
  ours = mount("nodev", path.data(), "tracefs", 0, nullptr) == 0;
  if (ours) return;
  rmdir(path.data());
  SKIP("tracefs cannot be mounted here");
}

Ftrace::Mount::~Mount() {
  if (!ours) return;
  umount(directory.c_str());
  rmdir(directory.c_str());
}

Ftrace::Instance::Instance(std::string path) : directory(std::move(path)) {
  remove_instance(directory);  // of a test that was killed
  INFO("making " << directory);
  REQUIRE(mkdir(directory.c_str(), 0700) == 0);
}

Ftrace::Instance::~Instance() { remove_instance(directory); }

Ftrace::Ftrace(std::vector<unsigned> cpus, const std::vector<std::string>& events)
    : cpus_(std::move(cpus)), instance_(mount_.directory + "/instances/noised_test") {
  write("trace_clock", "x86-tsc");
  write("tracing_cpumask", mask_of(cpus_));
  write("options/overwrite", "0");
  for (const unsigned cpu : cpus_)
    write("per_cpu/cpu" + std::to_string(cpu) + "/buffer_size_kb", std::to_string(kBufferKb));
  for (const std::string& event : events) enable(event);
}

void Ftrace::enable(const std::string& event) const {
  constexpr std::string_view kIf = " if ";
  const std::size_t condition = event.find(kIf);
  const std::string directory = "events/" + event.substr(0, condition);
  if (access((instance_.directory + "/" + directory + "/enable").c_str(), W_OK) != 0) return;
  if (condition != std::string::npos) write(directory + "/filter", event.substr(condition + kIf.size()));
  write(directory + "/enable", "1");
}

void Ftrace::write(const std::string& file, const std::string& value) const {
  std::ofstream stream(instance_.directory + "/" + file);
  INFO("writing " << value << " to " << instance_.directory << "/" << file);
  stream << value << std::flush;
  REQUIRE(stream.good());
}

void Ftrace::check_losses(unsigned cpu) const {
  std::ifstream stats(instance_.directory + "/per_cpu/cpu" + std::to_string(cpu) + "/stats");
  for (std::string line; std::getline(stats, line);) {
    for (const std::string_view lost : {"overrun: ", "commit overrun: ", "dropped events: "}) {
      INFO("ftrace itself lost events, nothing can be compared: " << line);
      if (line.starts_with(lost)) REQUIRE(line.substr(lost.size()) == "0");
    }
  }
}

std::vector<TraceEvent> Ftrace::stop() {
  write("tracing_on", "0");
  for (const unsigned cpu : cpus_) check_losses(cpu);
  std::vector<TraceEvent> events;
  std::ifstream trace(instance_.directory + "/trace");
  for (std::string line; std::getline(trace, line);) {
    if (!line.starts_with('#')) events.push_back(parse(line));
  }
  REQUIRE_FALSE(events.empty());
  return events;
}

}  // namespace noised::live
