// SPDX-License-Identifier: Apache-2.0
// Driving tracefs, and reading its text.
#include "ftrace.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

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

// "     bash-42   [001] d.h1. 12514130570065: local_timer_entry: vector=236"; the comm may hold anything.
TraceEvent parse(const std::string& line, const std::string& cpu_field) {
  const std::size_t cpu = line.find(cpu_field);
  INFO("trace: " << line);
  REQUIRE(cpu != std::string::npos);
  std::istringstream fields(line.substr(cpu + cpu_field.size()));
  std::string flags;
  TraceEvent event;
  char colon = 0;
  fields >> flags >> event.ticks >> colon >> event.name;
  REQUIRE((fields && colon == ':' && event.name.ends_with(':')));
  event.name.pop_back();
  std::getline(fields >> std::ws, event.text);
  return event;
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

Ftrace::Ftrace(unsigned cpu, const std::vector<std::string>& events)
    : cpu_(cpu), instance_(mount_.directory + "/instances/noised_test") {
  write("trace_clock", "x86-tsc");
  std::ostringstream mask;
  mask << std::hex << (1U << cpu % 32);
  for (unsigned word = 0; word < cpu / 32; ++word) mask << ",00000000";
  write("tracing_cpumask", mask.str());
  write("options/overwrite", "0");
  write("per_cpu/cpu" + std::to_string(cpu) + "/buffer_size_kb", std::to_string(kBufferKb));
  for (const std::string& event : events) {
    const std::string file = "events/" + event + "/enable";
    if (access((instance_.directory + "/" + file).c_str(), W_OK) == 0) write(file, "1");
  }
}

void Ftrace::write(const std::string& file, const std::string& value) const {
  std::ofstream stream(instance_.directory + "/" + file);
  INFO("writing " << value << " to " << instance_.directory << "/" << file);
  stream << value << std::flush;
  REQUIRE(stream.good());
}

std::vector<TraceEvent> Ftrace::stop() {
  write("tracing_on", "0");
  std::ifstream stats(instance_.directory + "/per_cpu/cpu" + std::to_string(cpu_) + "/stats");
  for (std::string line; std::getline(stats, line);) {
    for (const std::string_view lost : {"overrun: ", "commit overrun: ", "dropped events: "}) {
      INFO("ftrace itself lost events, nothing can be compared: " << line);
      if (line.starts_with(lost)) REQUIRE(line.substr(lost.size()) == "0");
    }
  }
  std::ostringstream field;
  field << " [" << std::string(cpu_ < 10 ? 2 : cpu_ < 100 ? 1 : 0, '0') << cpu_ << "] ";
  std::vector<TraceEvent> events;
  std::ifstream trace(instance_.directory + "/trace");
  for (std::string line; std::getline(trace, line);) {
    if (!line.starts_with('#')) events.push_back(parse(line, field.str()));
  }
  REQUIRE_FALSE(events.empty());
  return events;
}

}  // namespace noised::live
