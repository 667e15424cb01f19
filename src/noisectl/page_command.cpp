// SPDX-License-Identifier: Apache-2.0
// A page is made again and again: it takes the place of the old one only when it is whole.
#include "noisectl/page_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "noisectl/density_visitor.h"
#include "noisectl/measured.h"
#include "page/collector.h"
#include "page/density_chart.h"
#include "page/merged.h"
#include "page/page.h"
#include "page/tails.h"

namespace noised::client {
namespace {

Error file_failure(const char* call, const std::string& path) {
  const int code = errno;
  return failure(fmt::format("{} {}: {}", call, path, std::strerror(code)),
                 code == ENOENT ? "its directory does not exist" : "the page was not written");
}

Status write_all(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_failure("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return success();
}

// As open(2) would have made it: mkostemp lets nobody else read.
mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  return 0666 & ~mask;
}

/// Where the page goes: the place of a file, or a pipe or device, which is written to as it is.
class PageFile {
 public:
  /// Before anything is measured for nothing. Beside the file: a rename does not leave its file system.
  static Result<PageFile> create(const std::string& path) {
    std::error_code unknown;
    const auto type = std::filesystem::status(path, unknown).type();
    using Type = std::filesystem::file_type;
    if (type == Type::directory) return usage_error("--html " + path + " is a directory", "give the name of a file");
    if (type != Type::regular && type != Type::not_found && type != Type::none) {
      Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (!file) return file_failure("open", path);
      return PageFile(std::move(file), path, "");
    }
    // A symbolic link stays one: what it names is replaced.
    const auto real = std::filesystem::weakly_canonical(path, unknown);
    const std::string target = unknown ? path : real.string();
    std::string temporary = target + ".XXXXXX";
    Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file) return file_failure("create", path);
    return PageFile(std::move(file), target, temporary);
  }
  PageFile(PageFile&& other) noexcept
      : file_(std::move(other.file_)), path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}
  PageFile& operator=(PageFile&&) = delete;
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;
  ~PageFile() {
    if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
  }

  /// It is a file that takes the place of another, or of none.
  [[nodiscard]] bool replaces() const { return !temporary_.empty(); }

  Status fill(std::string_view text) {
    if (Status written = write_all(file_.get(), path_, text); !written || temporary_.empty()) return written;
    if (::fchmod(file_.get(), usual_mode()) != 0) return file_failure("fchmod", path_);
    if (::fsync(file_.get()) != 0) return file_failure("fsync", path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return file_failure("rename to", path_);
    temporary_.clear();
    return success();
  }

 private:
  PageFile(Descriptor file, std::string path, std::string temporary)
      : file_(std::move(file)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  Descriptor file_;
  std::string path_;
  std::string temporary_;  // to be removed; empty: there is none
};

Error changed_meanwhile() { return failure("the recording changed while it was read", "wait until it is finished"); }

Status measure_tails(const Measured& measured, std::vector<page::MergedSource>& sources) {
  auto player = measured.play();
  if (!player) return player.error();
  page::Tails tails(sources, player.value().playback());
  play_all(player.value(), &tails);
  return tails.set(sources) ? success() : Status(changed_meanwhile());
}

}  // namespace

Status run_page(const Options& options) {
  // Made again when there is something to put into it: until then, who is interrupted leaves nothing behind.
  auto file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  if (file->value().replaces()) file.reset();
  auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto opened = measured.value().play();
  if (!opened) return opened.error();
  auto player = std::make_unique<Player>(std::move(opened).value());
  page::Collector collector(player->playback());
  play_all(*player, &collector);
  const Report report = player->report();
  collector.finish(report);
  const StatusView status = player->status();
  const Description description = player->playback().description();
  const Status whole = Measured::whole(*player);
  page::Merged merged = page::merge(report, player->histograms());
  player.reset();  // a quarter of a megabyte for each CPU, which the next one needs too
  if (Status tails = measure_tails(measured.value(), merged.sources); !tails) return tails;
  auto densities = densities_of(measured.value());
  if (!densities) return densities.error();
  std::uint64_t detours = 0;
  for (const DensityComparison& cpu : densities.value().cpus) detours += cpu.detours;
  if (detours != merged.all.detours.count()) return changed_meanwhile();
  const page::DensityChart density = page::density_chart(densities.value().all, densities.value().cpus);
  const std::string text = page::render({report, status, description, collector, merged, density});
  if (file == nullptr) file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  const Status replaced = file->value().fill(text);
  return replaced ? whole : replaced;
}

}  // namespace noised::client
