// SPDX-License-Identifier: Apache-2.0
// A recording on its way to a client: for each block 8 bytes, its size and kind (little endian), and the block itself.
#pragma once

#include "noised/http/http_stream.h"
#include "recording/recorder.h"

namespace noised::daemon {

/// Records as long as it lives, and ends when the daemon does.
class RecordingStream : public StreamSource {
 public:
  /// The recorder was opened for this stream.
  explicit RecordingStream(recording::Recorder& recorder) : recorder_(recorder) {}
  RecordingStream(const RecordingStream&) = delete;
  RecordingStream& operator=(const RecordingStream&) = delete;
  ~RecordingStream() override { recorder_.close(); }

  std::size_t read(char* buffer, std::size_t capacity) override;

 private:
  recording::Recorder& recorder_;
  std::size_t at_ = 0;  // of the block at the front, its head included
};

}  // namespace noised::daemon
