// SPDX-License-Identifier: Apache-2.0
// What loops and tasks share of one CPU: which records become intervals, what counts as lost, and when causes are
// known.
#include "pipeline/cpu_stream.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "pipeline/pipeline.h"
#include "unit/base/temporary_directory.h"
#include "unit/pipeline/quiet_kernel.h"

using namespace noised;
using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::system;

namespace {

constexpr unsigned kCpu = 70;
constexpr std::uint32_t kPid = 4321;

// A kernel of one CPU that only counts.
class CountingKernel : public test::QuietKernel {
 public:
  LostCounters counters;

  [[nodiscard]] LostCounters lost(unsigned cpu) const override { return cpu == kCpu ? counters : LostCounters{}; }
};

struct StreamScene {
  CountingKernel kernel;
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  std::uint64_t now_ns = 1'000'000;
  unsigned clock_reads = 0;
  DrainClock clock{[this] {
    ++clock_reads;
    return now_ns;
  }};

  StreamParts parts() { return {kernel, names, clock}; }
  static noised_record task(std::uint64_t start_ns, unsigned flags = 0) {
    noised_record record{};
    record.start_ns = start_ns;
    record.duration_ns = 100;
    record.id = kPid;
    record.kind = NOISED_KIND_TASK;
    record.flags = static_cast<decltype(record.flags)>(flags);
    return record;
  }
  static noised_origin wake(std::uint64_t time_ns, unsigned cpu) {
    noised_origin origin{};
    origin.time_ns = time_ns;
    origin.targets = 1ULL << (cpu % 64);
    origin.word = static_cast<noised_u8>(cpu / 64);
    origin.kind = NOISED_ORIGIN_WAKE;
    origin.task = kPid;
    return origin;
  }
  // A drain that brings a task, woken on this CPU; whether who woke it is known.
  bool knows_cause(CpuStream& stream, bool more = false, bool origins_known = true, unsigned woken_on = kCpu) {
    now_ns += 10'000;
    stream.begin_drain();
    stream.take(task(now_ns - 1'000), "worker");
    stream.take(wake(now_ns - 1'200, woken_on));
    stream.begin_join(!stream.note_losses(more, now_ns) && origins_known, now_ns);
    stream.set_cause(stream.intervals().at(0));
    stream.settle(now_ns);
    const Cause* const cause = stream.causes().find(stream.intervals().at(0).cause);
    return cause != nullptr && cause->known;
  }
};

}  // namespace

TEST_CASE("a stream turns each record into what it says", "[pipeline]") {
  StreamScene scene;
  CpuStream stream(scene.parts(), kCpu, 8, scene.now_ns);
  stream.begin_drain();
  CHECK(stream.take(StreamScene::task(1'000), "worker") == Meaning::interval);
  CHECK(stream.take(StreamScene::task(2'000, NOISED_FLAG_UNSEEN), nullptr) == Meaning::unseen);
  CHECK(stream.take(StreamScene::task(3'000, NOISED_FLAG_STOPPED), nullptr) == Meaning::stopped);
  CHECK(stream.take(StreamScene::task(4'000), nullptr) == Meaning::bad);  // a task without a name
  CHECK(stream.take(StreamScene::task(scene.now_ns + kAheadNs), "worker") == Meaning::bad);
  CHECK(stream.take(StreamScene::task(5'000), "other") == Meaning::interval);
  REQUIRE(stream.intervals().size() == 2);
  CHECK(stream.intervals()[0].start_ns == 1'000);
  CHECK(stream.intervals()[0].end_ns == 1'100);
  CHECK(stream.intervals()[0].id == kPid);
  CHECK(stream.intervals()[1].source == scene.sources.intern(Kind::task, "other"));
  CHECK(stream.doubt().unseen_ns() == std::vector<std::uint64_t>{2'000});
  CHECK(stream.doubt().stopped_ns().empty());  // nobody would ever take it where there is no loop
  CHECK(stream.note_losses(false, scene.now_ns));
  CHECK(stream.losses().bad == 2);
  stream.begin_drain();
  CHECK(stream.intervals().empty());
  CHECK(stream.doubt().unseen_ns().empty());
  CHECK_FALSE(stream.note_losses(false, scene.now_ns));
  CHECK(stream.losses().bad == 2);
}

TEST_CASE("an interval has a cause unless something may be missing", "[pipeline]") {
  StreamScene scene;
  scene.kernel.counters.full = 7;  // before it began: nothing of its
  CpuStream stream(scene.parts(), kCpu, 8, scene.now_ns);
  CHECK(scene.knows_cause(stream));
  CHECK_FALSE(scene.knows_cause(stream, false, true, kCpu - 64));  // woken on CPU 6, which has the same bit
  CHECK(scene.knows_cause(stream));
  ++scene.kernel.counters.full;
  CHECK_FALSE(scene.knows_cause(stream));
  stream.intervals()[0].cause = 77;
  stream.set_cause(stream.intervals()[0]);  // not even looked up: the matcher would take it for all that happened
  CHECK(stream.intervals()[0].cause == 77);
  CHECK(stream.losses().kernel.full == 8);
  CHECK(stream.doubt().touch({scene.now_ns - 100, scene.now_ns, false}));
  CHECK(scene.knows_cause(stream));
  ++scene.kernel.counters.unseen;  // its mark tells which detour it touches
  CHECK(scene.knows_cause(stream));
  CHECK(stream.losses().kernel.unseen == 1);
  CHECK_FALSE(scene.knows_cause(stream, true));
  CHECK(scene.knows_cause(stream));
  CHECK_FALSE(scene.knows_cause(stream, false, false));
  CHECK(scene.knows_cause(stream));
}

TEST_CASE("a record that is not finished puts in doubt what came since the drain before", "[pipeline]") {
  StreamScene scene;
  CpuStream stream(scene.parts(), kCpu, 8, scene.now_ns);
  CHECK(scene.knows_cause(stream));
  const std::uint64_t drained_ns = scene.now_ns;
  scene.now_ns += 3'000;  // what is left of that drain, for other CPUs
  CHECK_FALSE(stream.note_losses(false, scene.now_ns));
  ++scene.kernel.counters.unfinished;
  CHECK_FALSE(scene.knows_cause(stream));
  CHECK(stream.doubt().touch({drained_ns + 1'000, drained_ns + 2'000, false}));
  CHECK_FALSE(stream.doubt().touch({drained_ns - 2'000, drained_ns - 1'000, false}));
  CHECK(scene.knows_cause(stream));
}

TEST_CASE("the clock is read for records younger than the last look at it", "[pipeline]") {
  StreamScene scene;
  CHECK(scene.clock.latest_ns(100) == scene.now_ns + kAheadNs);
  CHECK(scene.clock.latest_ns(scene.now_ns + kAheadNs) == scene.now_ns + kAheadNs);
  CHECK(scene.clock_reads == 1);
  scene.now_ns += 500;
  CHECK(scene.clock.latest_ns(scene.now_ns + kAheadNs) == scene.now_ns + kAheadNs);
  CHECK(scene.clock_reads == 2);
  CHECK(scene.clock.latest_ns(std::numeric_limits<std::uint64_t>::max()) == scene.now_ns + kAheadNs);
}

TEST_CASE("a drain looks for names that have changed", "[pipeline]") {
  const noised::test::TemporaryDirectory root;
  const std::string actions = "sys/kernel/irq/24/actions";
  root.write(actions, "nvme0q1\n");
  CountingKernel kernel;
  SourceTable sources;
  Names names(sources, Kallsyms::parse(""), root.path(""));
  ClockMap clock;
  std::uint64_t now_ns = 1'000'000;
  PipelineOptions options;
  options.clocks = {[&] { return now_ns; }, [&] { return ClockSample{now_ns, now_ns, 20}; }};
  Pipeline pipeline(kernel, {}, clock, sources, names, options);
  const auto name = [&] { return sources.at(names.resolve(Kind::irq, 24)).name; };
  pipeline.drain();
  CHECK(name() == "nvme0q1");
  root.write(actions, "eth0\n");
  now_ns += 25'000'000;
  pipeline.drain();
  CHECK(name() == "nvme0q1");
  now_ns += 1'000'000'000;
  pipeline.drain();
  CHECK(name() == "eth0");
}
