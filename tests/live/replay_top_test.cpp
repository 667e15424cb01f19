// SPDX-License-Identifier: Apache-2.0
// noisectl --replay FILE top on a real terminal (tmux), of a recording that is made here: no daemon, no privilege.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <string>

#include "command.h"
#include "terminal.h"
#include "unit/recording/scene.h"

using namespace noised;
using namespace noised::recording;
using namespace noised::live;
using noised::test::TemporaryDirectory;

namespace {

/// A recording of some 10 s of two CPUs under load.
struct ReplayScene {
  TemporaryDirectory directory;
  std::string path = directory.path("run");
  Terminal terminal{directory};

  ReplayScene() {
    test::RecordedRun run;
    Recorder recorder(run.sources, run.status, run.description, 64);
    auto file = create_recording(path);
    REQUIRE(file);
    REQUIRE(recorder.open());
    recorder.after_drain(run);
    for (int i = 0; i < 200; ++i) {
      run.drain(&recorder, 50);
      test::write_blocks(recorder, file.value());
    }
    finish(run, recorder);
    test::write_blocks(recorder, file.value());
  }

  void start(const std::string& arguments) const {
    terminal.start(kNoisectl + " --replay " + path + " top --interval 100ms " + arguments + "; echo exit $?; cat");
    const bool shown = eventually([this] { return terminal.shows("recording  node") && terminal.shows("hrtimer:"); });
    for (const std::string& line : terminal.screen()) UNSCOPED_INFO(line);
    REQUIRE(shown);
  }
  [[nodiscard]] std::string title() const { return terminal.line_with("recording  node"); }
};

}  // namespace

TEST_CASE("top plays a recording, stands still when paused, and shows its end until it is quit") {
  const ReplayScene scene;
  const Terminal& terminal = scene.terminal;
  scene.start("--speed 2");
  const std::string first = scene.title();
  REQUIRE(eventually([&] { return scene.title() != first; }));
  terminal.press("p");
  REQUIRE(eventually([&] { return terminal.shows("PAUSED"); }));
  const std::string paused = scene.title();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  CHECK(scene.title() == paused);
  terminal.press("p");
  CHECK(eventually([&] { return scene.title() != paused; }));
  terminal.press("c");
  CHECK(eventually([&] { return terminal.shows("cpu: 1"); }));
  terminal.press("Enter");
  CHECK(eventually([&] { return terminal.shows("on CPU 1") && terminal.shows("had it"); }));
  CHECK(eventually([&] { return terminal.shows("the recording ends here"); }));
  CHECK(terminal.shows("had it"));
  terminal.press("q");
  CHECK(eventually([&] { return terminal.shows("sort:"); }));
  CHECK(terminal.shows("the recording ends here"));
  terminal.press("q");
  CHECK(eventually([&] { return terminal.shows("exit 0"); }));
}

TEST_CASE("top shows a damaged recording as far as it goes, and says so") {
  const ReplayScene scene;
  std::filesystem::resize_file(scene.path, std::filesystem::file_size(scene.path) / 2);
  scene.start("--speed 1000");
  CHECK(eventually([&] { return scene.terminal.shows("the recording ends here"); }));
  CHECK(scene.terminal.shows("the file ends inside of a block"));
  CHECK(scene.terminal.shows("hrtimer:"));
  scene.terminal.press("q");
  CHECK(eventually([&] { return scene.terminal.shows("exit 1"); }));
}
