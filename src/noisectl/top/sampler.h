// SPDX-License-Identifier: Apache-2.0
// Samples of the daemon, fetched in a thread of its own: one that hangs delays no key.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"

#include "noisectl/client/http_client.h"
#include "noisectl/top/delta.h"
#include "noisectl/top/feed.h"

namespace noised::client {

class TopSampler {
 public:
  /// Fetches at once, and then every `interval`.
  static Result<std::unique_ptr<TopSampler>> start(const std::string& socket, std::chrono::nanoseconds interval);
  /// Ends the thread; a request under way is given up.
  ~TopSampler();
  TopSampler(const TopSampler&) = delete;
  TopSampler& operator=(const TopSampler&) = delete;

  /// Readable when there is something to take.
  [[nodiscard]] int fd() const { return ready_.fd(); }
  /// The newest sample, or why there is none; nothing if there is no news.
  std::optional<Result<TopSample>> take();
  /// Paused, it asks for nothing.
  void pause(bool paused) { paused_ = paused; }

 private:
  TopSampler(HttpClient client, std::chrono::nanoseconds interval) : client_(std::move(client)), interval_(interval) {}

  void run();
  Result<TopSample> fetch();
  Result<std::string> get(const char* path);

  HttpClient client_;
  std::chrono::nanoseconds interval_;
  Event stop_;
  Event ready_;
  std::atomic<bool> paused_{false};
  std::mutex mutex_;
  std::optional<Result<TopSample>> newest_;
  std::thread thread_;
};

}  // namespace noised::client
