// SPDX-License-Identifier: Apache-2.0
// Streams of watched tasks are in order, and say what the report and the counts of the tasks say.
#include <catch2/catch_test_macros.hpp>

#include "export/ctf/ctf.h"
#include "export/ctf/ctf_metadata.h"
#include "unit/account/watched_scene.h"
#include "unit/export/ctf_read.h"

using namespace noised;
using namespace noised::account;
using namespace noised::exports;
using namespace noised::test;

namespace {

struct ReadTasks {
  std::uint64_t intervals = 0;
  std::uint64_t runs = 0;
  std::uint64_t run_ns = 0;
  std::uint64_t running = 0;
  std::uint64_t running_ns = 0;
  std::uint64_t involuntary = 0;
  std::uint64_t unseen_wait_ns = 0;
  std::uint64_t waited_ns = 0;
  std::map<LossKind, std::uint64_t> losses;
  std::uint64_t loss_ns = 0;
  std::uint64_t explained_ns = 0;
  std::uint64_t self_ns = 0;
};

void read_run(Bytes& bytes, ReadTasks& read) {
  const auto pid = bytes.take<std::uint32_t>();
  CHECK(bytes.take<std::uint32_t>() == WatchedRun::process_of(pid));
  (void)bytes.take<std::uint32_t>();  // name
  ++read.runs;
  read.run_ns += bytes.take<std::uint64_t>();
  (void)bytes.take(3);                // flags
  (void)bytes.take<std::uint32_t>();  // voluntary
  read.involuntary += bytes.take<std::uint32_t>();
  (void)bytes.take(3 * sizeof(std::uint32_t));
  read.unseen_wait_ns += bytes.take<std::uint64_t>();
}

void read_loss(Bytes& bytes, LossKind kind, ReadTasks& read) {
  CHECK(bytes.take<std::uint32_t>() >= WatchedRun::kFirstPid);
  (void)bytes.take<std::uint32_t>();  // name
  ++read.losses[kind];
  read.waited_ns += bytes.take<std::uint64_t>();
  const auto duration_ns = bytes.take<std::uint64_t>();
  read.loss_ns += duration_ns;
  std::uint64_t sum_ns = 0;
  const auto explained_ns = bytes.take<std::uint64_t>();
  for (int part = 0; part < 4; ++part) sum_ns += bytes.take<std::uint64_t>();
  CHECK(explained_ns + sum_ns == duration_ns);
  read.explained_ns += explained_ns;
  (void)bytes.take<std::uint8_t>();
  for (auto count = bytes.take<std::uint32_t>(); count > 0; --count) {
    (void)bytes.take(4 + 1);
    read.self_ns += bytes.take<std::uint64_t>();
  }
}

void read_event(std::uint16_t id, Bytes& bytes, ReadTasks& read) {
  if (id == kCtfRun) return read_run(bytes, read);
  if (id == kCtfRunning) {
    (void)bytes.take<std::uint32_t>();
    ++read.running;
    read.running_ns += bytes.take<std::uint64_t>();
    return;
  }
  for (const LossKind kind : {LossKind::interrupted, LossKind::preempted, LossKind::queued}) {
    if (id == ctf_loss(kind)) return read_loss(bytes, kind, read);
  }
  REQUIRE(id >= kCtfFirstInterval);
  ++read.intervals;
  (void)bytes.take(4 + 8 + 1 + 8);
}

}  // namespace

TEST_CASE("watched tasks in CTF: three streams a CPU, in order, with all that the report has", "[export][watch]") {
  const TemporaryDirectory directory;
  WatchedRun run;
  run.begin_account(0, [](std::uint32_t) { return true; });
  record_watched(run, directory.path("run"), 60);
  const WatchReport watched = run.watch_report();
  REQUIRE(export_ctf(play_of(directory.path("run")), directory.path("out"), no_progress));

  ReadTasks read;
  for (const unsigned cpu : {1U, 3U}) {
    const auto stream = [&](const char* name) {
      return read_ctf_stream(directory.path("out/" + std::string(name) + "_" + std::to_string(cpu)), cpu,
                             [&](std::uint16_t id, std::uint64_t, Bytes& bytes) { read_event(id, bytes, read); });
    };
    CHECK(stream("cpu") == 0);
    CHECK((read.losses.empty() && read.runs == 0) == (cpu == 1));
    (void)stream("interruptions");
    CHECK((read.losses[LossKind::preempted] == 0) == (cpu == 1));
    (void)stream("tasks");
  }
  CHECK(read.intervals == run.intervals);
  CHECK(read.runs == run.runs);
  CHECK(read.running == 2);
  CHECK(read.run_ns + read.running_ns == watched.counts.run_ns);
  CHECK(read.involuntary == watched.counts.involuntary);
  CHECK(read.unseen_wait_ns == watched.counts.unseen_wait_ns);
  CHECK(read.waited_ns == watched.counts.preempted_ns + watched.counts.queued_ns);
  CHECK(read.self_ns == read.explained_ns);
  std::uint64_t detours = 0;
  std::uint64_t detour_ns = 0;
  for (const ReportCpu& cpu : run.report().cpus) {
    detours += cpu.detours;
    detour_ns += cpu.detour_ns;
  }
  CHECK(read.losses[LossKind::interrupted] + read.losses[LossKind::preempted] + read.losses[LossKind::queued] ==
        detours);
  CHECK(read.loss_ns == detour_ns);
  for (const auto& [kind, count] : read.losses) CHECK(count > 100);
  CHECK(content_of(directory.path("out/metadata")).find("events_with_later_time = 0;") != std::string::npos);
}
