// SPDX-License-Identifier: Apache-2.0
// A recording of a whole run, written by a thread of the daemon's own.
#pragma once

#include "base/result.h"

#include <atomic>
#include <string>
#include <thread>

#include "recording/block.h"
#include "recording/recorder.h"

namespace noised::recording {

/// Opens a new file for a recording; fails where there is one already: a recording is not to be lost by a mistake.
Result<BlockWriter> create_recording(const std::string& path);

class RecordingFile {
 public:
  /// Starts the thread, which takes the blocks of the recorder; it was opened for this.
  RecordingFile(BlockWriter writer, Recorder& recorder);
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;
  ~RecordingFile();

  /// After Recorder::finish(): waits until all is written; what went wrong, if anything.
  Status finish();

 private:
  void write();
  void write_all();

  BlockWriter writer_;
  Recorder& recorder_;
  Status status_ = success();  // the thread's, until it has ended, as the next
  bool finished_ = false;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace noised::recording
