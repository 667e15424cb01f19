// SPDX-License-Identifier: Apache-2.0
// The daemon's stream in a thread of its own, while the caller waits for a command and for signals.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "base/result.h"

#include "base/files.h"
#include "noisectl/client/http_client.h"
#include "noisectl/watch/watch_printer.h"

namespace noised::client {

class WatchStream {
 public:
  /// Asks for `path`; `printer`, which must outlive this, gets the lines and is the thread's until join(). Signals that
  /// the caller has blocked are blocked in the thread.
  WatchStream(HttpClient client, std::string path, WatchPrinter& printer);
  ~WatchStream();
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  /// Readable when something below has changed; seen() makes it wait for the next.
  [[nodiscard]] int fd() const { return changed_.get(); }
  void seen() const;

  /// A report has come.
  [[nodiscard]] bool began() const { return began_; }
  [[nodiscard]] bool ended() const { return ended_; }

  /// Ends the stream if it has not ended, and says how it did.
  const Result<StreamEnd>& join();

 private:
  void run();

  HttpClient client_;
  std::string path_;
  WatchPrinter& printer_;
  Descriptor changed_;
  Descriptor stop_;
  std::atomic<bool> began_ = false;
  std::atomic<bool> ended_ = false;
  Result<StreamEnd> end_ = StreamEnd::stopped;
  std::thread thread_;
};

}  // namespace noised::client
