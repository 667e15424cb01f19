// SPDX-License-Identifier: Apache-2.0
// Exports without the names of tasks.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "export/csv.h"
#include "export/ctf/ctf.h"
#include "export/paraver/paraver.h"
#include "export/perfetto/perfetto.h"
#include "recording/names_out.h"
#include "unit/export/scene.h"

using namespace noised;
using namespace noised::exports;
using namespace noised::recording;
using namespace noised::test;

namespace {

Play without_names(const std::string& path) {
  return [path] {
    auto player = Player::open(path);
    if (player) player.value().leave_names_out();
    return player;
  };
}

// Of all files there.
std::string everything(const std::string& path) {
  std::string text;
  for (const auto& each : std::filesystem::recursive_directory_iterator(path)) {
    if (each.is_regular_file()) text += content_of(each.path().string());
  }
  return text;
}

}  // namespace

TEST_CASE("of a task without a name the kernel's and noised's are told", "[export]") {
  for (const char* const name : {"ksoftirqd/3", "kworker/3:*", "kworker/u8:*", "kworker/0:1H", "kswapd0", "kthreadd",
                                 "rcu_preempt", "migration/12", "noised", "noised/http", "noisectl", "other"}) {
    INFO(name);
    CHECK(is_nobodys(name));
  }
  for (const char* const name : {"payroll", "kworker/payroll", "kworker/u8:2-events", "ksoftirqd/x", "migration/1 a",
                                 "noisedd", "irq/24-eth0", "", "kswap", "others"}) {
    INFO(name);
    CHECK_FALSE(is_nobodys(name));
  }
}

TEST_CASE("an export without names has the same times and none of the names", "[export]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  run.wakers = true;
  record_run(run, directory.path("run"));
  const Play play = without_names(directory.path("run"));
  REQUIRE(export_csv(play_of(directory.path("run")), directory.path("named"), no_progress));
  std::filesystem::create_directories(directory.path("out"));
  REQUIRE(export_csv(play, directory.path("out/csv"), no_progress));
  REQUIRE(export_ctf(play, directory.path("out/ctf"), no_progress));
  REQUIRE(export_perfetto(play, directory.path("out/perfetto"), no_progress));
  REQUIRE(export_paraver(play, directory.path("out/paraver"), no_progress));
  const std::string named = everything(directory.path("named"));
  for (const char* const name : {"crond", "theirs", "mywaker", "xxxxx"}) {
    INFO(name);
    CHECK(named.find(name) != std::string::npos);
    CHECK(everything(directory.path("out")).find(name) == std::string::npos);
  }
  CHECK(everything(directory.path("out")).find("task-1") != std::string::npos);
  // Line by line, with no other difference than the names.
  CHECK(content_of(directory.path("out/csv/detours.csv")) == content_of(directory.path("named/detours.csv")));
  std::string sources = content_of(directory.path("named/sources.csv"));
  const std::size_t at = sources.find("crond");
  REQUIRE(at != std::string::npos);
  while (sources.find("crond") != std::string::npos) sources.replace(sources.find("crond"), 5, "task-1");
  CHECK(content_of(directory.path("out/csv/sources.csv")) == sources);
}
