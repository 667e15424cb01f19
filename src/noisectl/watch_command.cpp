// SPDX-License-Identifier: Apache-2.0
// Tasks that are there already; watched_command.cpp runs one.
#include "noisectl/watch_command.h"

#include <chrono>

#include <fmt/format.h>

#include "noisectl/http_client.h"
#include "noisectl/quiet.h"
#include "noisectl/stop_signals.h"
#include "noisectl/watch_printer.h"
#include "noisectl/watched_command.h"

namespace noised::client {
namespace {

// As a value in a query; a slash may stay as it is there.
std::string percent_encoded(const std::string& text) {
  static constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string encoded;
  for (const char byte : text) {
    if (kPlain.find(byte) != std::string_view::npos) {
      encoded += byte;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return encoded;
}

}  // namespace

std::string watch_path(const Options& options, const std::vector<std::uint32_t>& pids) {
  std::string path = "/v1/watch?";
  if (!pids.empty()) path += fmt::format("pids={}&", fmt::join(pids, ","));
  if (!options.comm.empty()) path += "comm=" + percent_encoded(options.comm) + "&";
  if (!options.cgroup.empty()) path += "cgroup=" + percent_encoded(options.cgroup) + "&";
  path += fmt::format("interval_ns={}", options.interval_ns);
  if (options.duration_ns) path += fmt::format("&duration_ns={}", *options.duration_ns);
  if (options.phases) path += "&losses=each";
  return path;
}

Status run_watch(const Options& options) {
  if (!options.run.empty()) return run_watched_command(options);
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  Result<WatchPrinter> printer = WatchPrinter::create(options, stdout);
  if (!printer) return printer.error();
  keep_off_probed(options.socket);
  const StopSignals stop;
  const Result<StreamEnd> end =
      client.value().stream(watch_path(options, options.pids), std::chrono::milliseconds{0}, stop.fd(),
                            [&printer](std::string_view line) { return printer.value().line(line); });
  return printer.value().finish(end);
}

}  // namespace noised::client
