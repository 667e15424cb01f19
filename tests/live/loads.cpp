// SPDX-License-Identifier: Apache-2.0
// Load generators of the live tests.
#include "loads.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/files.h"

namespace noised::live {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after(std::uint64_t milliseconds) { return Clock::now() + std::chrono::milliseconds(milliseconds); }

void move_here(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

void write_to_disk(std::uint64_t milliseconds) {
  std::array<char, 24> path{"/var/tmp/noised-XXXXXX"};
  const Descriptor file(mkstemp(path.data()));
  unlink(path.data());
  const std::vector<char> block(64 * 1024, 'n');
  for (const auto end = after(milliseconds); Clock::now() < end;) {
    if (pwrite(file.get(), block.data(), block.size(), 0) < 0 || fdatasync(file.get()) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void talk_over_loopback(unsigned cpu, std::uint64_t milliseconds) {
  std::jthread([cpu, milliseconds] {
    move_here(cpu);
    const Descriptor receiver(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    const Descriptor sender(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(receiver.get(), generic, length) != 0 || getsockname(receiver.get(), generic, &length) != 0) return;
    std::array<char, 512> data{};
    for (const auto end = after(milliseconds); Clock::now() < end;) {
      if (sendto(sender.get(), data.data(), data.size(), 0, generic, length) < 0) return;
      while (recv(receiver.get(), data.data(), data.size(), 0) > 0) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  }).join();
}

std::uint64_t unmap_shared_memory(std::uint64_t milliseconds) {
  std::uint64_t unmapped = 0;
  constexpr std::size_t kBytes = std::size_t{64} * 1024;
  for (const auto end = after(milliseconds); Clock::now() < end; ++unmapped) {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) return unmapped;
    munmap(memory, kBytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return unmapped;
}

std::uint64_t sleep_on(unsigned cpu, std::uint64_t milliseconds) {
  std::uint64_t slept = 0;
  std::jthread([&slept, cpu, milliseconds] {
    move_here(cpu);
    for (const auto end = after(milliseconds); Clock::now() < end; ++slept) {
      std::this_thread::sleep_for(std::chrono::microseconds(1500));
    }
  }).join();
  return slept;
}

std::jthread keep_sleeping_on(unsigned cpu) {
  return std::jthread([cpu](const std::stop_token& stop) {
    move_here(cpu);
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::microseconds(1500));
  });
}

std::jthread keep_working_on(unsigned cpu, const std::string& name, std::uint64_t period_ns, std::uint64_t work_ns) {
  return std::jthread([=](const std::stop_token& stop) {
    prctl(PR_SET_NAME, name.c_str());
    move_here(cpu);
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(period_ns));
      for (const auto end = Clock::now() + std::chrono::nanoseconds(work_ns); Clock::now() < end;) {
      }
    }
  });
}

void wake_on(unsigned cpu, std::uint64_t milliseconds) {
  std::atomic<int> turn{0};
  std::atomic<bool> over{false};
  std::jthread sleeper([&, cpu] {
    move_here(cpu);
    for (int last = 0; !over.load(); last = turn.load()) turn.wait(last);
  });
  for (const auto end = after(milliseconds); Clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    turn.fetch_add(1);
    turn.notify_all();
  }
  over.store(true);
  turn.fetch_add(1);
  turn.notify_all();
}

Faults fault_pages(unsigned cpu, std::uint64_t milliseconds) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kBytes = 512 * kPage;
  const auto counted = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
  };
  Faults faults;
  std::jthread([&, cpu, milliseconds] {
    void* memory = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, kBytes, MADV_NOHUGEPAGE) != 0) return;
    move_here(cpu);
    const std::uint64_t before = counted();
    for (const auto end = after(milliseconds); Clock::now() < end;) {
      for (std::size_t at = 0; at < kBytes; at += kPage) (void)static_cast<const volatile char*>(memory)[at];
      madvise(memory, kBytes, MADV_DONTNEED);
    }
    const std::uint64_t now = counted();
    faults = {now - before, now + 8};  // and as many again as a thread makes when it ends, which are fewer
    munmap(memory, kBytes);
  }).join();
  return faults;
}

}  // namespace noised::live
