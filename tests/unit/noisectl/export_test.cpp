// SPDX-License-Identifier: Apache-2.0
// What the command does around an export: signals, and names that are taken.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "base/files.h"
#include "noisectl/commands/export.h"
#include "unit/export/scene.h"

using namespace noised;
using namespace noised::exports;
using namespace noised::test;
using client::ExportFormat;

namespace {

/// A signal that comes as soon as somebody looks for it.
class PendingSignal {
 public:
  explicit PendingSignal(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
    (void)std::raise(signal);
  }
  PendingSignal(const PendingSignal&) = delete;
  PendingSignal& operator=(const PendingSignal&) = delete;
  ~PendingSignal() {
    const timespec now{};
    sigset_t pending;
    sigpending(&pending);
    (void)sigtimedwait(&pending, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

client::ExportOptions options_for(const TemporaryDirectory& directory, ExportFormat format) {
  client::ExportOptions options;
  options.format = format;
  options.input = directory.path("run");
  options.output = directory.path("out");
  return options;
}

std::size_t files_in(const TemporaryDirectory& directory) {
  const std::filesystem::directory_iterator files(directory.path());
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace

TEST_CASE("an export that a signal ends leaves nothing that looks whole", "[export]") {
  const ExportFormat format =
      GENERATE(ExportFormat::perfetto, ExportFormat::paraver, ExportFormat::ctf, ExportFormat::csv);
  const int signal = GENERATE(SIGINT, SIGTERM);
  const TemporaryDirectory directory;
  RecordedRun run;
  record_run(run, directory.path("run"));
  {
    const PendingSignal pending(signal);
    const Status cut = run_export(options_for(directory, format));
    REQUIRE_FALSE(cut);
    CHECK(cut.error().line() == "interrupted: nothing was kept");
  }
  CHECK(files_in(directory) == 1);
  REQUIRE(run_export(options_for(directory, format)));
  CHECK(files_in(directory) > 1);
}

TEST_CASE("names that are taken are told before a daemon is asked", "[export]") {
  const TemporaryDirectory directory;
  const auto line_for = [&](ExportFormat format, const std::string& output) {
    client::ExportOptions options = options_for(directory, format);
    options.input.clear();
    options.socket = directory.path("no_daemon");
    options.output = directory.path(output);
    return run_export(options).error().line();
  };
  directory.write("pv.pcf", "mine");
  std::filesystem::create_directory(directory.path("there"));
  std::filesystem::create_symlink("nowhere", directory.path("link"));
  REQUIRE(::mkfifo(directory.path("pipe").c_str(), 0600) == 0);
  CHECK(line_for(ExportFormat::paraver, "pv").starts_with(directory.path("pv.pcf") + " exists"));
  CHECK(line_for(ExportFormat::paraver, "pv.prv").starts_with(directory.path("pv.pcf") + " exists"));
  CHECK(line_for(ExportFormat::perfetto, "pv.pcf").starts_with(directory.path("pv.pcf") + " exists"));
  CHECK(line_for(ExportFormat::perfetto, "link").starts_with(directory.path("link") + " exists"));
  CHECK(line_for(ExportFormat::perfetto, "no/trace").ends_with("no/trace: No such file or directory"));
  for (const ExportFormat format : {ExportFormat::csv, ExportFormat::ctf}) {
    CHECK(line_for(format, "there/").starts_with(directory.path("there/") + " exists"));
    CHECK(line_for(format, "pipe").starts_with(directory.path("pipe") + " exists"));
    CHECK(line_for(format, "new/").find("no_daemon") != std::string::npos);
  }
  CHECK(line_for(ExportFormat::paraver, "there").find("no_daemon") != std::string::npos);
  CHECK(line_for(ExportFormat::perfetto, "pipe").find("no_daemon") != std::string::npos);
}

TEST_CASE("an export with a file for each CPU raises the limit of open files", "[export]") {
  const ExportFormat format = GENERATE(ExportFormat::paraver, ExportFormat::ctf);
  const TemporaryDirectory directory;
  RecordedRun run;
  record_run(run, directory.path("run"));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get();
  const rlimit low{static_cast<rlim_t>(next) + 1, before.rlim_max};  // room for the signals
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  const Status exported = run_export(options_for(directory, format));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(exported);
}
