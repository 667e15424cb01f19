// SPDX-License-Identifier: Apache-2.0
// The chains of the opened source, from the daemon's stream of detours, in a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"

#include "noisectl/client/http_client.h"
#include "noisectl/top/chains.h"
#include "noisectl/top/feed.h"

namespace noised::client {

/// Counts the detours that the daemon keeps, about the last 2,000, and from then on every one that it streams. A stream
/// that breaks is begun anew, and the counting with it: nobody can say what came in between.
class TopFollower {
 public:
  /// Follows nothing until told so.
  static Result<std::unique_ptr<TopFollower>> start(const std::string& socket);
  /// Ends the thread; a request under way is given up.
  ~TopFollower();
  TopFollower(const TopFollower&) = delete;
  TopFollower& operator=(const TopFollower&) = delete;

  /// Follows this source from now on, or none; never waits for the daemon.
  void follow(std::optional<TopKey> source);
  /// What is known of the source that is followed; nothing before the daemon said anything.
  std::optional<TopChainsView> view();

 private:
  TopFollower(HttpClient stream, HttpClient kept) : stream_(std::move(stream)), kept_(std::move(kept)) {}

  void run();
  /// Until the stream ends or another source is wanted; the reason why it ended.
  std::string count(const TopKey& source);
  /// What the daemon keeps, up to the detour `until`, not included.
  Result<TopChains> count_kept(const TopKey& source, const DetourView* until);
  void publish(TopChains chains);
  void report_problem(std::string problem);

  HttpClient stream_;
  HttpClient kept_;   // asked while a stream is open
  Event changed_;     // another source is wanted, or the end
  std::mutex mutex_;  // for all below
  std::optional<TopKey> wanted_;
  bool ending_ = false;
  std::optional<TopChains> chains_;
  std::string problem_;
  std::thread thread_;
};

}  // namespace noised::client
