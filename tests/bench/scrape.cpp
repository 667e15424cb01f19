// SPDX-License-Identifier: Apache-2.0
// How long a scrape takes of a node with many watched CPUs, all of whose sources have series: snapshot, text, HTTP over
// TCP on loopback. Nothing is measured on these CPUs: their statistics are made up.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "noised/api/web.h"
#include "noised/http/tcp_socket.h"

using namespace noised;
using namespace noised::account;
using namespace noised::daemon;

namespace {

constexpr const char* kAddress = "127.0.0.1:20377";
constexpr std::uint16_t kPort = 20377;
constexpr unsigned kCpus = 256;
constexpr unsigned kSources = 16;  // of each CPU: 4096 in all, the default cap
constexpr int kScrapes = 300;

void fill(CpuStatistics& statistics, SourceTable& sources) {
  for (unsigned i = 0; i < kSources; ++i) {
    const SourceId id = sources.intern(Kind::task, fmt::format("some-daemon-{}", i));
    for (std::uint64_t ns = 300; ns < 10'000'000; ns = ns * 3 / 2) {
      statistics.add_source(id, Kind::task, ns);
      statistics.add_detour({.end_ns = ns}, {.explained_ns = ns});
    }
  }
}

// What the pipeline does when somebody asks.
void copy(const std::vector<CpuStatistics>& from, Snapshot& to) {
  to.cpus.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to.cpus[i].cpu = static_cast<unsigned>(i);
    to.cpus[i].observed_ns = 1'000'000'000;
    from[i].copy_summary_to(to.cpus[i].statistics);
  }
}

std::size_t scrape() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      send(socket.get(), kRequest.data(), kRequest.size(), 0) < 0) {
    std::perror("bench_scrape: connect");
    std::exit(1);
  }
  static std::array<char, 1 << 16> buffer;
  std::size_t bytes = 0;
  for (ssize_t got = 0; (got = recv(socket.get(), buffer.data(), buffer.size(), 0)) > 0;) {
    bytes += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

int main() {
  SourceTable sources;
  std::vector<CpuStatistics> statistics(kCpus);
  for (CpuStatistics& each : statistics) fill(each, sources);
  SnapshotExchange snapshots;
  std::atomic<bool> over{false};
  std::uint64_t longest_fill_ns = 0;
  std::jthread pipeline([&] {
    while (!over) {
      if (!snapshots.take_asked()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        continue;
      }
      const auto begin = std::chrono::steady_clock::now();
      snapshots.answer([&](Snapshot& snapshot) { copy(statistics, snapshot); });
      const auto took = std::chrono::steady_clock::now() - begin;
      longest_fill_ns = std::max(longest_fill_ns, static_cast<std::uint64_t>(took.count()));
    }
  });
  const RunDescription run;
  Web web(snapshots, {sources}, run, std::size_t{kCpus} * kSources, 0);
  const Log log(LogLevel::error);
  auto socket = listen_tcp(kAddress);
  auto server = socket ? HttpServer::start({{socket.value().get(), web.routes()}}, log)
                       : Result<std::unique_ptr<HttpServer>>(socket.error());
  if (!server) {
    fmt::print(stderr, "bench_scrape: {}\n", server.error().line());
    return 1;
  }
  std::size_t bytes = scrape();
  std::vector<std::uint64_t> times;
  for (int i = 0; i < kScrapes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    bytes = scrape();
    times.push_back(static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begin).count()));
  }
  over = true;
  pipeline.join();
  std::sort(times.begin(), times.end());
  fmt::print("{{\"p50_ns\":{},\"p99_ns\":{},\"bytes\":{},\"cpus\":{},\"series\":{},\"longest_fill_ns\":{}}}\n",
             times[times.size() / 2], times[times.size() * 99 / 100], bytes, kCpus, kCpus * kSources * 2,
             longest_fill_ns);
  return 0;
}
