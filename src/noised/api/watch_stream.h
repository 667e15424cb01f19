// SPDX-License-Identifier: Apache-2.0
// What chosen tasks lose, on its way to a client: a line of JSON now and then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noised/api/shown_names.h"
#include "noised/api/watch_sessions.h"
#include "noised/http/http_server.h"
#include "noised/http/http_stream.h"
#include "system/task_selection.h"

namespace noised::daemon {

/// Where watching happens.
struct WatchPlace {
  WatchSessions& sessions;
  std::span<volatile std::uint8_t> groups;      ///< by pid (tracer.h)
  std::string cpus;                             ///< a CPU list, for the report
  const std::vector<std::string>* unsupported;  ///< likewise
  const SourceTable* sources;                   ///< of losses
  NameRule* names;
};

struct WatchWish {
  system::Selection selection;  ///< settled
  std::uint64_t interval_ns = 1'000'000'000;
  std::optional<std::uint64_t> duration_ns;
  bool each_loss = false;
  ShownNames names;
  bool own = false;  ///< the processes chosen are the client's
};

/// Watches as long as it lives, or until the tasks have ended or the time is over. HTTP thread.
class WatchStream : public StreamSource {
 public:
  WatchStream(const WatchPlace& place, WatchWish wish, std::size_t group);
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;
  ~WatchStream() override;

  std::size_t read(char* buffer, std::size_t capacity) override;

 private:
  void step(std::uint64_t now_ns);
  [[nodiscard]] bool is_over(std::uint64_t now_ns) const;
  void choose_tasks(std::uint64_t now_ns);
  [[nodiscard]] bool may_choose(std::uint32_t pid) const;
  [[nodiscard]] bool may_tell(std::uint64_t now_ns) const;
  void put_line(WatchReport report);
  void put_losses();

  WatchPlace place_;
  WatchWish wish_;
  system::TaskSelector selector_;
  std::size_t group_;
  bool begun_ = false;
  bool asked_ = false;
  bool last_ = false;   // the report asked for is the last
  bool ended_ = false;  // it was put out
  std::uint64_t began_ns_ = 0;
  std::uint64_t told_ns_ = 0;
  std::uint64_t chosen_ns_ = 0;
  std::uint64_t since_ns_ = 0;    // from then on, the losses of those who were chosen first are told
  std::uint64_t settled_ns_ = 0;  // they were told up to then
  account::LossBatch batch_;
  std::vector<SourceId> named_ = std::vector<SourceId>(SourceTable::kCapacity, account::kNoName);  // which of each slot
                                                                                                   // the client knows
  std::vector<bool> mentioned_;  // tasks, by pid, likewise
  std::optional<WatchReport> report_;
  std::string pending_;
  std::size_t at_ = 0;
};

// /v1/watch: from a request to a session.

/// Opens a stream for the tasks that the query chooses (pids, comm or cgroup; none: all), with a report every
/// interval_ns, for duration_ns or until they have ended; with losses=each, also lines of their single losses. Refuses
/// what makes no sense.
StreamReply open_watch(const WatchPlace& place, const HttpRequest& request);

}  // namespace noised::daemon
