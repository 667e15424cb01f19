// SPDX-License-Identifier: Apache-2.0
// Tasks under names that anybody may read: whose own names are told, whose services are, and that nothing is missing.
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "account/causes.h"
#include "pipeline/public_names.h"
#include "unit/base/temporary_directory.h"
#include "unit/pipeline/node.h"

using namespace noised;
using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::system;

namespace {

constexpr std::uint64_t kNow = 5'000'000'000;

class NamedScene {
 public:
  NamedScene() { std::filesystem::create_directories(root_.path("sys/fs/cgroup")); }

  // flags: 2129984 is of a kernel thread, 4194560 of any other task.
  void process(std::uint32_t pid, const std::string& cgroup, std::uint64_t flags) const {
    const std::string directory = root_.path("proc/" + std::to_string(pid));
    std::filesystem::create_directories(directory);
    std::ofstream(directory + "/cgroup") << "0::" << cgroup << '\n';
    std::ofstream(directory + "/stat") << pid << " (x) S 1 1 1 0 -1 " << flags << " 0\n";
  }
  std::uint64_t cgroup(const std::string& path) const {
    const std::string directory = root_.path("sys/fs/cgroup" + path);
    std::filesystem::create_directories(directory);
    struct stat about{};
    REQUIRE(::stat(directory.c_str(), &about) == 0);
    return about.st_ino;
  }
  // The pid took so much; `cause`: of causes().
  void take(std::uint32_t pid, const std::string& name, std::uint64_t ns, std::uint32_t cause = 0) {
    DetourLedger ledger;
    ledger.entries.push_back({sources.intern(Kind::vector, "local_timer"), Kind::vector, 0, 0, 0, 77, 0, 0});
    ledger.entries.push_back({sources.intern(Kind::task, name), Kind::task, 0, 0, 0, ns, pid, cause});
    ledger.entries.push_back({sources.intern(Kind::work, "vmstat_update"), Kind::work, 0, 1, 0, 99, 0, 0});
    names_.count(ledger, causes, kNow, counter_);
  }
  // What was counted by name.
  std::map<std::string, std::uint64_t> told() const {
    std::map<std::string, std::uint64_t> told;
    const auto& sums = counter_.public_sums();
    for (SourceId id = 0; id < sums.size(); ++id) {
      if (sums[id].times != 0) told[names_.table().at(id).name] = sums[id].ns;
    }
    return told;
  }

  SourceTable sources{{{"task:agent", Category::io}}};
  CauseMatcher causes;

 private:
  test::TemporaryDirectory root_;
  Names resolved_{sources, Kallsyms::parse("")};
  Services services_{root_.path("sys/fs/cgroup"), root_.path("proc")};
  Chains chains_{resolved_, sources, services_};
  PublicNames names_{sources, chains_, services_};
  LedgerCounter counter_{sources};
};

using NsByName = std::map<std::string, std::uint64_t>;

}  // namespace

TEST_CASE("of a task anybody may read its service, of a kernel thread its name", "[pipeline]") {
  NamedScene scene;
  scene.process(10, "/", 2129984);
  scene.process(11, "/system.slice/cron.service", 4194560);
  scene.process(12, "/user.slice/user-1000.slice/session-4.scope", 4194560);
  scene.process(13, "/", 4194560);
  scene.process(14, "/user.slice/user-1000.slice/session-9.scope", 4194560);
  scene.take(10, "kworker", 1);
  scene.take(11, "secret1", 10);
  scene.take(12, "secret2", 100);
  scene.take(13, "secret3", 1'000);
  scene.take(14, "secret4", 10'000);
  scene.take(15, "secret5", 100'000);  // has ended
  CHECK(scene.told() ==
        NsByName{{"kworker", 1}, {"cron.service", 10}, {"user-1000.slice", 10'100}, {"no known service", 101'000}});
}

TEST_CASE("who calls himself after a kernel thread is told by his service, also with a pid of one", "[pipeline]") {
  NamedScene scene;
  scene.process(10, "/", 2129984);
  scene.process(11, "/system.slice/evil.service", 4194560);
  scene.take(10, "kworker", 1);
  scene.take(11, "kworker", 10);
  scene.process(10, "/system.slice/evil.service", 4194560);  // the pid is used again at once,
  scene.take(10, "secret", 100);                             // by one with a name of its own
  CHECK(scene.told() == NsByName{{"kworker", 1}, {"evil.service", 10}, {"no known service", 100}});
}

TEST_CASE("noised's own are noised, and the idle task and what the configuration names have their names",
          "[pipeline]") {
  NamedScene scene;
  scene.process(10, "/system.slice/noised.service", 4194560);
  scene.process(11, "/user.slice/user-1000.slice/session-4.scope", 4194560);
  scene.take(10, "noised/http", 1);
  scene.take(10, "noised/secret", 5);
  scene.take(10, "noisectl", 1'000);
  scene.take(0, std::string(kLeavingIdle), 10);
  scene.take(11, "agent", 100);
  CHECK(scene.told() == NsByName{{"noised", 6}, {"noisectl", 1'000}, {std::string(kLeavingIdle), 10}, {"agent", 100}});
}

TEST_CASE("the cgroup that the waker told is the service of a task that has ended", "[pipeline]") {
  NamedScene scene;
  noised_origin wake{};
  wake.kind = NOISED_ORIGIN_WAKE;
  wake.task = 10;
  wake.subject = scene.cgroup("/system.slice/cron.service");
  wake.time_ns = 100;
  scene.causes.add(wake);
  const std::uint32_t cause = scene.causes.cause_of({.start_ns = 200, .end_ns = 300, .kind = Kind::task, .id = 10});
  REQUIRE(scene.causes.find(cause) != nullptr);
  scene.take(10, "secret", 7, cause);
  CHECK(scene.told() == NsByName{{"cron.service", 7}});
}

TEST_CASE("public names have all that tasks took, on each of several CPUs", "[pipeline]") {
  test::Node node({1, 2, 5, 64, 130});
  node.play();
  Snapshot snapshot;
  node.pipeline().fill(snapshot);
  REQUIRE(snapshot.cpus.size() == 5);
  for (const CpuSnapshot& cpu : snapshot.cpus) {
    PublicSum own;
    cpu.statistics.for_each_source([&](const SourceStatistics& statistics) {
      if (node.sources().at(statistics.id).kind != Kind::task) return;
      own.ns += statistics.moments.total_ns();
      own.times += statistics.moments.count();
    });
    PublicSum told;
    for (const PublicSum& each : cpu.public_sums) {
      told.ns += each.ns;
      told.times += each.times;
    }
    CHECK(own.times > 50);
    CHECK(told.ns == own.ns);
    CHECK(told.times == own.times);
  }
}
