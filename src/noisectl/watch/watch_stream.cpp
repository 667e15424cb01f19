// SPDX-License-Identifier: Apache-2.0
#include "noisectl/watch/watch_stream.h"

#include <sys/eventfd.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace noised::client {
namespace {

// Without descriptors, the stream ends at once: a poll of -1 waits for nobody.
void tell(const Descriptor& event) { (void)!eventfd_write(event.get(), 1); }

}  // namespace

WatchStream::WatchStream(HttpClient client, std::string path, WatchPrinter& printer)
    : client_(std::move(client)),
      path_(std::move(path)),
      printer_(printer),
      changed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

WatchStream::~WatchStream() { join(); }

void WatchStream::run() {
  end_ = client_.stream(path_, std::chrono::milliseconds{0}, stop_.get(), [this](std::string_view line) {
    const bool more = printer_.line(line);
    began_ = printer_.any();
    tell(changed_);
    return more;
  });
  ended_ = true;
  tell(changed_);
}

void WatchStream::seen() const {
  eventfd_t count = 0;
  (void)!eventfd_read(changed_.get(), &count);
}

const Result<StreamEnd>& WatchStream::join() {
  if (thread_.joinable()) {
    tell(stop_);
    thread_.join();
  }
  return end_;
}

}  // namespace noised::client
