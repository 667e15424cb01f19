// SPDX-License-Identifier: Apache-2.0
// From the daemon's stream to the file. What is in the file is whole at any time but for its last block.
#include "noisectl/commands/record.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/clocks.h"
#include "base/units.h"
#include "noisectl/client/http_client.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/client/quiet.h"
#include "noisectl/commands/options.h"
#include "recording/description.h"
#include "recording/recording_file.h"
#include "recording/records.h"
#include "views/views.h"

namespace noised::client {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Writes blocks until it has enough, and says how far it is.
class RecordingWriter {
 public:
  RecordingWriter(const RecordOptions& options, recording::BlockWriter file)
      : options_(options), file_(std::move(file)), began_ns_(monotonic_ns()) {}

  bool add(recording::BlockKind kind, std::string_view bytes) {
    if (kind == recording::BlockKind::end) {
      daemon_ended_ = true;
      return false;
    }
    if (status_) status_ = file_.add(kind, bytes);
    const std::uint64_t now_ns = monotonic_ns();
    if (kind == recording::BlockKind::events) {
      empty_ = false;
      recorded_ns_ = now_ns - began_ns_;
    } else {
      began_ns_ = now_ns;
      const Result<recording::Description> description = recording::parse_description(bytes);
      if (description) cpus_ = description.value().base.cpus.size();
      if (description && options_.phases.grain_ns != 0 && description.value().grain_ns != options_.phases.grain_ns &&
          status_) {
        status_ = failure("daemon at " + options_.socket + " runs no such phases", "is noised as new as noisectl?");
      }
    }
    show(now_ns);
    full_ = full_ || (options_.size_bytes != 0 && file_.size() >= options_.size_bytes);
    return bool(status_) && (empty_ || !enough(now_ns) || !recording::ends_with_checkpoint(bytes, cpus_));
  }

  [[nodiscard]] bool daemon_ended() const { return daemon_ended_; }
  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] const Status& status() const { return status_; }

  Status finish() {
    if (!status_) return status_;
    if (Status finished = file_.finish(); !finished) return finished;
    // Not the time since then: what came after the last block is not in the file.
    show_line(fmt::format("noisectl: recorded {} of time, {} KiB{}", views::format_duration(recorded_ns_),
                          file_.size() / 1024, full_ ? ", which is the size asked for" : ""),
              true);
    return success();
  }

 private:
  // A block tells of the time before it: the last is the first that comes after the time asked for, and that tells what
  // was observed until its end.
  [[nodiscard]] bool enough(std::uint64_t now_ns) const {
    return full_ || (options_.duration_ns && now_ns - began_ns_ >= *options_.duration_ns);
  }
  void show(std::uint64_t now_ns) {
    if (!terminal_ || now_ns - shown_ns_ < kSecond) return;
    shown_ns_ = now_ns;
    show_line(fmt::format("recording: {}, {} KiB", views::format_duration(now_ns - began_ns_), file_.size() / 1024),
              false);
  }
  void show_line(const std::string& line, bool last) const {
    std::fputs((terminal_ ? "\r\x1b[K" + line : line).c_str(), stderr);
    if (last) std::fputs("\n", stderr);
  }

  const RecordOptions& options_;
  recording::BlockWriter file_;
  Status status_ = success();
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::uint64_t began_ns_;
  std::uint64_t recorded_ns_ = 0;
  std::uint64_t shown_ns_ = 0;
  std::size_t cpus_ = 0;
  bool full_ = false;
  bool daemon_ended_ = false;
  bool empty_ = true;
};

// A daemon gives a block a second, unless it stands still.
std::chrono::milliseconds longest_wait(const RecordOptions& options) {
  constexpr std::chrono::milliseconds kPatience{10'000};
  if (!options.duration_ns) return std::chrono::milliseconds{0};
  return kPatience + std::chrono::milliseconds{*options.duration_ns / 1'000'000};
}

// Phases are posted: they change what the daemon measures.
std::string recording_path(const PhaseChoice& phases) {
  if (phases.grain_ns == 0) return "/v1/recording";
  const probe::FootprintChoice& footprint = phases.footprint;
  return fmt::format("/v1/phases?grain_ns={}&{}={}{}", phases.grain_ns,
                     footprint.cache_level == 0 ? "footprint_bytes" : "footprint", to_string(footprint),
                     phases.policy.empty() ? "" : "&policy=" + phases.policy);
}

// A daemon sees that who recorded before is gone when it next writes to them, which it does once a second: a command
// that follows another waits for that.
Result<StreamEnd> stream_recording(HttpClient& client, const RecordOptions& options, int stop_fd,
                                   const HttpClient::OnBytes& on_bytes) {
  constexpr int kTries = 30;
  constexpr int kPauseMs = 100;
  constexpr long kLocked = 423;
  for (int tries = 1;; ++tries) {
    auto end = client.stream_bytes(recording_path(options.phases), longest_wait(options), stop_fd, on_bytes,
                                   options.phases.grain_ns != 0);
    if (end || client.status() != kLocked || tries == kTries) return end;
    pollfd stop{stop_fd, POLLIN, 0};
    if (::poll(&stop, 1, kPauseMs) > 0) return StreamEnd::stopped;
  }
}

}  // namespace

std::uint32_t BlockSplitter::word(std::string_view bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

Status record_from_daemon(const RecordOptions& options, const RecordingCreator& create) {
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  // Before there is a file: a daemon that does not answer leaves none behind.
  const auto status = ask_status(client.value());
  if (!status) return status.error();
  if (Status can = check_loops(options, status.value().mode); !can) return can;
  auto file = create();
  if (!file) return file.error();
  keep_off_probed(options.socket);
  const StopSignals stop;
  RecordingWriter writer(options, std::move(file).value());
  BlockSplitter blocks;
  const auto end = stream_recording(client.value(), options, stop.fd(), [&](std::string_view piece) {
    return blocks.feed(piece,
                       [&](recording::BlockKind kind, std::string_view bytes) { return writer.add(kind, bytes); });
  });
  const bool cut =
      blocks.bad() || writer.empty() || !end || (end.value() == StreamEnd::finished && !writer.daemon_ended());
  if (!cut) return writer.finish();
  const Error bad = failure("daemon at " + options.socket + " sent a block longer than blocks can be",
                            "are noised and noisectl of the same version?");
  if (!writer.empty()) {
    const Error why = blocks.bad() ? bad : end ? failure("daemon at " + options.socket + " went away") : end.error();
    return failure(why.what, options.output.empty() ? "" : options.output + " has what came until then");
  }
  // Refused: there is nothing to keep. What is no file of ours is not removed.
  if (std::filesystem::is_regular_file(options.output)) (void)::unlink(options.output.c_str());
  if (blocks.bad()) return bad;
  if (!writer.status()) return writer.status();
  return end ? failure("nothing was recorded: it ended before the first block came") : end.error();
}

namespace {

class RecordCommand final : public CommandOf<RecordOptions> {
 public:
  RecordCommand() : CommandOf("record", "keep everything that is measured from now on in a file") {
    options.needs_loop = false;
  }

  void describe(CLI::App& sub) override {
    sub.add_option("-o,--output", options.output, "the file to create")
        ->required()
        ->check(not_empty())
        ->type_name("FILE");
    add_duration(sub, duration_, "end after this time");
    sub.add_option("--size", size_, "end when the file is as large, such as 100MiB")->type_name("SIZE");
    phases_.describe(sub, options.phases);
  }
  Status read() override {
    if (Status read = phases_.read(options.phases); !read) return read;
    if (Status read = read_size(); !read) return read;
    return read_duration(duration_, options.duration_ns);
  }
  [[nodiscard]] Status check_replay() const override { return needs_daemon(); }
  Status run() override {
    return record_from_daemon(options, [this] { return recording::create_recording(options.output); });
  }

 private:
  Status read_size() {
    if (size_.empty()) return success();
    const Result<std::uint64_t> size = parse_size(size_);
    if (!size) return usage_error("--size: " + size.error().what, size.error().remedy);
    if (size.value() == 0) return usage_error("--size: a file without a byte has no recording", "give such as 100MiB");
    options.size_bytes = size.value();
    return success();
  }

  std::string duration_;
  std::string size_;
  PhaseFlags phases_;
};

}  // namespace

std::unique_ptr<Command> record_command() { return std::make_unique<RecordCommand>(); }

}  // namespace noised::client
