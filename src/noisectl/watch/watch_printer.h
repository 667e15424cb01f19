// SPDX-License-Identifier: Apache-2.0
// What the daemon tells of watched tasks, line by line: keeps the last, with the ranks, and prints what was
// asked for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/watch.h"

#include "export/new_file.h"
#include "noisectl/client/http_client.h"
#include "noisectl/client/options.h"
#include "noisectl/client/output.h"
#include "noisectl/watch/phase_watch.h"
#include "noisectl/watch/ranks.h"

namespace noised::client {

struct TaskWatchOptions : SharedOptions {
  std::vector<std::uint32_t> pids;            ///< these, or
  std::string cgroup;                         ///< the tasks of this one, or
  std::string comm;                           ///< those of this name, or
  std::vector<std::string> run;               ///< this program with its arguments; none of them: everything
  std::optional<std::uint64_t> duration_ns;   ///< end after this time
  std::uint64_t interval_ns = 1'000'000'000;  ///< between two reports of the daemon
  bool follow = false;                        ///< a line for each of them
  bool json = false;
  bool phases = false;  ///< join the phases that they mark with what they lost
  std::string marks;    ///< where NOISED_MARKS has them mark these; empty: a new directory
  std::string output;   ///< the file to create; empty: standard output
};

class WatchPrinter {
 public:
  /// Prints to `stream`, or to the file that the options name, which must not be there yet. With phases, if they are
  /// asked for.
  static Result<WatchPrinter> create(const TaskWatchOptions& options, std::FILE* stream);

  /// Takes a line of the stream; false ends it: it was the last, or is wrong, or nobody reads any more.
  bool line(std::string_view line);

  /// Where the application is to mark its phases, if they were asked for.
  [[nodiscard]] std::string marks() const { return phases_ ? phases_->marks() : ""; }
  /// Watching has begun.
  [[nodiscard]] bool any() const { return last_.has_value(); }
  /// Nothing will follow.
  [[nodiscard]] bool final() const { return last_ && last_->final; }

  /// Prints the report, the final one or the last that came. An error if it is not the final one and the stream ended
  /// by itself, or if none came.
  Status finish(const Result<StreamEnd>& end);

 private:
  WatchPrinter(const TaskWatchOptions& options, std::FILE* stream, std::optional<exports::NewFile> file,
               std::optional<PhaseWatch> phases)
      : json_(options.json),
        follow_(options.follow),
        socket_(options.socket),
        output_(stream),
        file_(std::move(file)),
        phases_(std::move(phases)) {}

  bool take_losses(std::string_view line);
  bool write(const std::string& text);
  Status close();

  bool json_;
  bool follow_;
  std::string socket_;
  Output output_;
  std::optional<exports::NewFile> file_;
  std::optional<PhaseWatch> phases_;
  RankWatch ranks_;
  std::string last_line_;
  std::optional<WatchReport> last_;
  std::optional<Error> problem_;
};

}  // namespace noised::client
