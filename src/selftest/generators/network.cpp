// SPDX-License-Identifier: Apache-2.0
// network: packets of another CPU that are received on this one. In a network namespace of its own, with its own
// loopback device, whose packets the kernel is told to steer to the CPU (RPS): nobody else's are, and nothing stays.
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clocks.h"
#include "base/files.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kNetworkPeriod = 2'000'000;
constexpr const char* kSteering = "/sys/class/net/lo/queues/rx-0/rps_cpus";

// The first step that fails, or null. errno says why.
const char* own_network() {
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return "unshare(CLONE_NEWNET | CLONE_NEWNS)";
  // The new /sys shows the new network, to this process only.
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "mount --make-rprivate /";
  if (mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) return "mount -t sysfs";
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  return ioctl(any.get(), SIOCSIFFLAGS, &loopback) == 0 ? nullptr : "ioctl(SIOCSIFFLAGS)";
}

// A mask in groups of 32 bits, the highest first: "2", or "1,00000000" for CPU 32.
std::string mask_of(unsigned cpu) {
  constexpr const char* kDigits = "1248";
  std::string mask = kDigits[cpu % 4] + std::string(cpu % 32 / 4, '0');
  for (unsigned group = cpu / 32; group != 0; --group) mask += ",00000000";
  return mask;
}

// 0, or the error's number.
int steer_to(unsigned cpu) {
  const Descriptor file(open(kSteering, O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  const std::string mask = mask_of(cpu);
  return write(file.get(), mask.data(), mask.size()) == static_cast<ssize_t>(mask.size()) ? 0 : errno;
}

// A socket that sends to itself.
Descriptor open_socket() {
  Descriptor own(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const timeval limit{0, 100'000};
  const bool ready = own && bind(own.get(), generic, size) == 0 && getsockname(own.get(), generic, &size) == 0 &&
                     connect(own.get(), generic, size) == 0 &&
                     setsockopt(own.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0;
  if (!ready) own.reset();
  return own;
}

// One packet at a time, received between the two clock readings. How many softirqs that took is the kernel's to say:
// none, when the host held the CPU up in the one before.
void talk(int socket, unsigned cpu, std::uint64_t period, const Window& window, std::vector<Occurrence>& out) {
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += period) {
    sleep_until(next);
    char byte = 0;
    Occurrence packet;
    const std::uint64_t before = softirqs_on(cpu, "NET_RX").value_or(0);
    packet.start_ns = monotonic_ns();
    const bool came = send(socket, &byte, 1, 0) == 1 && recv(socket, &byte, 1, 0) == 1;
    packet.end_ns = monotonic_ns();
    packet.count = softirqs_on(cpu, "NET_RX").value_or(0) - before;
    if (came && packet.count != 0) out.push_back(packet);
  }
}

}  // namespace

Result<Truth> generate_network(const GeneratorOptions& options) {
  if (const char* failed = own_network(); failed != nullptr) return refused(failed, errno);
  if (const int error = steer_to(options.cpu); error != 0) {
    // A mask of which nothing is left without the isolated CPUs.
    if (error == EINVAL) return unsupported("the kernel steers no packets to an isolated CPU");
    return refused(kSteering, error);
  }
  const Descriptor socket = open_socket();
  if (!socket) return refused("a socket on loopback", errno);
  Truth truth;
  truth.how = "loopback in a network namespace, steered to the CPU (RPS)";
  truth.sources = {{"softirq", "NET_RX"}};
  const std::uint64_t period = options.period(kNetworkPeriod);
  truth.occurrences.reserve(options.duration_ns / period + 1);
  GeneratorThreads threads;
  threads.add(elsewhere(options, "noised-network"),
              [&](const Window& window) { talk(socket.get(), options.cpu, period, window, truth.occurrences); });
  const auto before = softirqs_on(options.cpu, "NET_RX");
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  const auto after = softirqs_on(options.cpu, "NET_RX");
  if (!window) return window.error();
  if (before && after) truth.kernel = KernelCount{"/proc/softirqs NET_RX", *after - *before};
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
