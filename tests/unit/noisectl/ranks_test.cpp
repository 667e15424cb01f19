// SPDX-License-Identifier: Apache-2.0
// Ranks: what environments of launchers say, which of them is believed, and the sums.
#include <initializer_list>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/watch/ranks.h"
#include "unit/system/proc_scene.h"

using namespace noised;
using client::parse_rank;

namespace {

std::string environment(std::initializer_list<const char*> variables) {
  std::string text;
  for (const char* variable : variables) text += std::string(variable) + '\0';
  return text;
}

WatchTask task(std::uint32_t pid, std::uint32_t tgid, std::uint64_t stolen_ns = 0) {
  WatchTask task;
  task.pid = pid;
  task.tgid = tgid;
  task.name = "lmp";
  task.counts.run_ns = 1'000;
  task.counts.preempted_ns = 20;
  task.counts.queued_ns = 3;
  task.stolen_ns = stolen_ns;
  task.interruptions = 2;
  if (stolen_ns != 0) task.categories = {{"preemption", stolen_ns - 1}, {"periodic", 1}};
  return task;
}

// Open MPI's two ranks, each with two threads, and their launcher.
WatchReport two_ranks() {
  WatchReport report;
  report.tasks = {task(20, 20, 50), task(10, 10, 30), task(21, 20, 10), task(11, 10, 5), task(5, 5, 4)};
  report.tasks_seen = 5;
  return report;
}

client::RankClaim claim(std::uint32_t rank, std::string job = "", std::string allocation = "", unsigned variable = 0) {
  return {.rank = rank, .job = std::move(job), .allocation = std::move(allocation), .variable = variable};
}

}  // namespace

TEST_CASE("a rank is what the launcher of the MPI library says, before what process managers say", "[noisectl]") {
  const auto rank_in = [](std::initializer_list<const char*> variables) {
    const auto found = parse_rank(environment(variables));
    return found ? std::to_string(found->rank) : "none";
  };
  CHECK(rank_in({"PATH=/bin", "OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3"}) == "3");
  CHECK(rank_in({"SLURM_STEP_ID=0", "SLURM_PROCID=1", "PMIX_RANK=2", "PMI_RANK=3", "OMPI_COMM_WORLD_RANK=4"}) == "4");
  CHECK(rank_in({"SLURM_STEP_ID=0", "SLURM_PROCID=1", "PMI_RANK=3", "MV2_COMM_WORLD_RANK=5"}) == "5");
  CHECK(rank_in({"SLURM_STEP_ID=0", "SLURM_PROCID=1", "PMI_RANK=3", "PMIX_RANK=2"}) == "2");
  CHECK(rank_in({"SLURM_STEP_ID=0", "SLURM_PROCID=1", "PMI_RANK=3"}) == "3");
  CHECK(rank_in({"SLURM_STEP_ID=0", "SLURM_PROCID=1"}) == "1");
  CHECK(rank_in({"PMI_RANK=4294967295"}) == "4294967295");
  CHECK(rank_in({"PMI_RANK=1", "PMI_RANK=2"}) == "1");  // as getenv
}

TEST_CASE("what is no rank is none", "[noisectl]") {
  for (const char* variable : {"PMI_RANK=", "PMI_RANK=-1", "PMI_RANK=x", "PMI_RANK=1x", "PMI_RANK= 1", "PMI_RANK",
                               "PMI_RANKS=1", "MY_PMI_RANK=1", "PMI_RANK=4294967296", "=1", "OMPI_COMM_WORLD_SIZE=2"}) {
    INFO(variable);
    CHECK_FALSE(parse_rank(environment({variable})));
  }
  CHECK_FALSE(parse_rank(""));
  CHECK_FALSE(parse_rank(std::string(3, '\0')));
  // A batch script, and mpirun there.
  CHECK_FALSE(parse_rank(environment({"SLURM_JOB_ID=7", "SLURM_PROCID=0"})));
  // A last one without its end, and one that says nothing before one that does.
  CHECK(parse_rank(environment({"A=b"}) + "PMI_RANK=7")->rank == 7);
  CHECK(parse_rank(environment({"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=6"}))->rank == 6);
}

TEST_CASE("a job has the name that its launcher gives it", "[noisectl]") {
  const auto job_in = [](std::initializer_list<const char*> variables) {
    return parse_rank(environment(variables)).value().job;
  };
  CHECK(job_in({"PMI_RANK=1"}).empty());
  CHECK(job_in({"PMIX_RANK=1", "PMIX_NAMESPACE=prterun-a-1@1", "SLURM_JOB_ID=7", "SLURM_STEP_ID=2"}) ==
        "prterun-a-1@1");
  CHECK(job_in({"PMI_RANK=1", "SLURM_JOB_ID=7", "SLURM_STEP_ID=2"}) == "7.2");
  CHECK(parse_rank(environment({"PMI_RANK=1", "SLURM_JOB_ID=7"})).value().allocation == "7");
}

TEST_CASE("ranks are the sums of their tasks, the one that lost most first", "[noisectl]") {
  WatchReport report = two_ranks();
  client::add_ranks({{10, claim(0)}, {20, claim(1)}, {5, std::nullopt}}, report);
  REQUIRE(report.ranks.size() == 2);
  const WatchRank& worst = report.ranks[0];
  CHECK(worst.rank == 1);
  CHECK(worst.processes == 1);
  CHECK(worst.tasks == 2);
  CHECK(worst.runnable_ns == 2 * 1'023);
  CHECK(worst.stolen_ns == 60);
  CHECK(worst.interruptions == 4);
  CHECK(worst.categories == std::vector<std::pair<std::string, std::uint64_t>>{{"preemption", 58}, {"periodic", 2}});
  CHECK(report.ranks[1].stolen_ns == 35);
  CHECK(report.rank_unknown == 0);
  CHECK(report.tasks[0].rank == 1);
  CHECK(report.tasks[3].rank == 0);
  CHECK_FALSE(report.tasks[4].rank);
}

TEST_CASE("the same rank of two jobs is two", "[noisectl]") {
  WatchReport report = two_ranks();
  client::add_ranks({{10, claim(0, "a")}, {20, claim(0, "b")}, {5, claim(0, "b")}}, report);
  REQUIRE(report.ranks.size() == 2);
  CHECK(report.ranks[0].job == "b");
  CHECK(report.ranks[0].processes == 2);
  CHECK(report.ranks[0].tasks == 3);
  CHECK(report.ranks[1].job == "a");
  CHECK(report.tasks[0].job == "b");
}

TEST_CASE("a launcher's daemon that Slurm has numbered is no rank beside the launcher's own", "[noisectl]") {
  WatchReport report = two_ranks();
  client::add_ranks({{10, claim(0, "a", "7", 0)}, {20, claim(1, "a", "7", 0)}, {5, claim(0, "7.0", "7", 4)}}, report);
  CHECK(report.ranks.size() == 2);
  CHECK_FALSE(report.tasks[4].rank);
  // One in another allocation, or in none, is.
  for (const char* allocation : {"8", ""}) {
    WatchReport other = two_ranks();
    client::add_ranks({{10, claim(0, "a", "7", 0)}, {20, claim(1, "a", "7", 0)}, {5, claim(0, "b", allocation, 4)}},
                      other);
    CHECK(other.ranks.size() == 3);
  }
}

TEST_CASE("processes of which nothing is known are counted", "[noisectl]") {
  WatchReport report = two_ranks();
  client::add_ranks({{10, claim(0)}}, report);
  CHECK(report.ranks.size() == 1);
  CHECK(report.rank_unknown == 2);
  SECTION("so is a number that two processes had in turn") {
    WatchReport reused = two_ranks();
    reused.tasks[1].ended = true;
    reused.tasks.push_back(task(10, 10, 7));
    client::add_ranks({{10, claim(0)}, {20, claim(1)}, {5, std::nullopt}}, reused);
    CHECK(reused.ranks.size() == 1);
    CHECK(reused.rank_unknown == 1);
    CHECK_FALSE(reused.tasks[1].rank);
  }
}

namespace {

// A /proc with one process, 10, whose environment and name change.
struct OneProcess {
  test::ProcScene scene;
  test::TemporaryDirectory& directory = scene.directory();
  client::RankWatch ranks{scene.proc()};

  void is(const std::string& name, const std::string& environ) {
    scene.add({.pid = 10, .name = name});
    directory.write("proc/10/environ", environ);
  }
  std::string rank(const std::string& name = "lmp", bool ended = false) {
    WatchReport report;
    report.tasks = {task(10, 10)};
    report.tasks[0].name = name;
    report.tasks[0].ended = ended;
    ranks.take(report);
    if (report.rank_unknown != 0) return "unknown";
    return report.tasks[0].rank ? std::to_string(*report.tasks[0].rank) : "none";
  }
};

const std::string kRankTwo = environment({"PMI_RANK=2"});

}  // namespace

TEST_CASE("a process that has ended keeps its rank", "[noisectl]") {
  OneProcess process;
  process.is("lmp", kRankTwo);
  CHECK(process.rank() == "2");
  process.scene.remove(10);
  CHECK(process.rank("lmp", true) == "2");
}

TEST_CASE("a task that never left its CPU has the rank of its process", "[noisectl]") {
  OneProcess process;
  process.is("lmp", kRankTwo);
  WatchReport report;
  report.tasks = {task(10, 0), task(11, 0)};
  report.tasks[1].name = "another";  // it has ended, or is another PID namespace's
  process.ranks.take(report);
  CHECK(report.tasks[0].tgid == 10);
  CHECK(report.tasks[0].rank == 2);
  CHECK(report.tasks[1].tgid == 0);
  CHECK(report.rank_unknown == 1);
}

TEST_CASE("a process that executes its program after the first report has its rank in the next", "[noisectl]") {
  OneProcess process;
  process.is("orted", environment({"HOME=/"}));
  CHECK(process.rank("orted") == "none");
  SECTION("of another name, or much later") {
    CHECK(process.rank("orted") == "none");
    process.is("lmp", kRankTwo);
    CHECK(process.rank("orted") == "none");  // the report is older than the name
    CHECK(process.rank("lmp") == "2");
  }
  SECTION("of the same name") {
    process.is("orted", kRankTwo);
    CHECK(process.rank("orted") == "2");
  }
}

TEST_CASE("the environment of a process that is none of ranks is read twice", "[noisectl]") {
  OneProcess process;
  process.is("lmp", "");
  CHECK(process.rank() == "none");
  CHECK(process.rank() == "none");
  process.is("lmp", kRankTwo);
  CHECK(process.rank() == "none");
}

TEST_CASE("whose environment cannot be read is unknown", "[noisectl]") {
  OneProcess process;
  CHECK(process.rank() == "unknown");
  process.is("lmp", kRankTwo);
  CHECK(process.rank("lmp", true) == "unknown");  // it has ended: the number may be another's
  CHECK(process.rank("xhpl") == "unknown");       // another PID namespace's
  process.directory.write("proc/10/environ", std::string(std::size_t{7} << 20U, 'x'));
  CHECK(process.rank() == "unknown");
  process.directory.write("proc/10/environ", kRankTwo);
  CHECK(process.rank() == "2");
}
