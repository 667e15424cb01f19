// SPDX-License-Identifier: Apache-2.0
// Asking which CPUs are measured, and leaving them.
#include "noisectl/client/quiet.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "base/cpus.h"
#include "base/text.h"
#include "views/views.h"

namespace noised::client {
namespace {

// A view opens at once, even if the daemon is stopped.
constexpr std::chrono::milliseconds kShortAnswerTime{500};

Result<StatusView> ask_status(HttpClient& client, std::chrono::milliseconds time) {
  const Result<std::string> body = client.get("/v1/status", time);
  if (!body) return body.error();
  return views::parse_status(body.value());
}

}  // namespace

Result<StatusView> ask_status(HttpClient& client) { return ask_status(client, kAnswerTime); }

std::vector<unsigned> without(std::vector<unsigned> cpus, const std::vector<unsigned>& unwanted) {
  std::erase_if(cpus, [&](unsigned cpu) { return std::find(unwanted.begin(), unwanted.end(), cpu) != unwanted.end(); });
  return cpus;
}

Result<std::vector<unsigned>> keep_off(const std::vector<unsigned>& probed) {
  const Result<AllowedCpus> allowed = allowed_cpus();
  if (!allowed) return allowed.error();
  std::vector<unsigned> others = without(allowed.value().affinity, probed);
  if (others.empty()) others = without(allowed.value().permitted, probed);
  if (others.empty())
    return failure("no CPU is left to run on: the daemon probes all that are allowed", "allow another, by taskset(1)");
  const CpuSet set(others);
  if (sched_setaffinity(0, set.bytes(), set.get()) != 0)
    return failure(std::string("sched_setaffinity: ") + errno_text(errno));
  return others;
}

void keep_off_probed(const std::string& socket) {
  Result<HttpClient> client = HttpClient::create(socket);
  if (!client) return;
  const Result<StatusView> status = ask_status(client.value(), kShortAnswerTime);
  if (!status) return;
  if (const Result<std::vector<unsigned>> probed = parse_cpu_list(status.value().probe_cpus); probed)
    (void)keep_off(probed.value());
}

}  // namespace noised::client
