// SPDX-License-Identifier: Apache-2.0
// What is lost by reason, which detours it touches, and the details of a detour in the feed.
#include <catch2/catch_test_macros.hpp>

#include <cstring>

#include "account/loop_cpu.h"
#include "account/lost_counts.h"
#include "pipeline/chains.h"

using namespace noised;
using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::system;

TEST_CASE("a loss touches the detours between the looks at the counters", "[pipeline]") {
  DoubtfulTimes doubt(100);
  doubt.look(false, 200, 210);
  CHECK_FALSE(doubt.touch({50, 1'000, false}));
  doubt.look(true, 300, 310);  // between 200 and 310
  CHECK_FALSE(doubt.touch({150, 199, false}));
  CHECK(doubt.touch({150, 200, false}));
  CHECK(doubt.touch({250, 260, false}));
  CHECK(doubt.touch({310, 400, false}));
  CHECK_FALSE(doubt.touch({311, 400, false}));
  doubt.look(true, 400, 410);  // goes on
  CHECK(doubt.touch({205, 206, false}));
  CHECK(doubt.touch({410, 500, false}));
  doubt.look(false, 500, 510);
  CHECK(doubt.touch({405, 600, false}));  // a detour of the next drain that began before
  CHECK_FALSE(doubt.touch({411, 600, false}));
  doubt.unseen_ns().push_back(700);
  doubt.stopped_ns().push_back(900);
  CHECK(doubt.touch({650, 700, false}));
  CHECK_FALSE(doubt.touch({701, 950, false}));
  CHECK_FALSE(doubt.take_stopped({650, 700, false}));
  CHECK(doubt.take_stopped({701, 950, false}));
  CHECK_FALSE(doubt.take_stopped({701, 950, false}));
}

TEST_CASE("each reason is counted on its own, and in the sums of the contract", "[pipeline]") {
  LossCounts counts;
  counts.kernel = {1, 2, 4, 8, 16};
  counts.detours = 32;
  counts.refused = 64;
  counts.impossible = 128;
  counts.stopped = 256;
  counts.moved = 512;
  counts.bad = 1024;
  ReportLost lost;
  add_losses(3, counts, lost);
  add_loss({}, "missed_run", 0, lost);
  CHECK(lost.events == 1 + 2 + 4 + 64 + 1024);
  CHECK(lost.detours == 32 + 128);
  CHECK(lost.unpaired == 8 + 16);
  REQUIRE(lost.by.size() == 11);
  std::uint64_t sum = 0;
  for (const ReportLoss& loss : lost.by) {
    CHECK(loss.cpu == 3);
    sum += loss.count;
  }
  CHECK(sum == 2047);
}

TEST_CASE("blind time is neither a detour nor a place for intervals", "[pipeline]") {
  SourceTable sources;
  const SourceId timer = sources.intern(Kind::vector, "local_timer");
  LoopCpu cpu({.cpu = 1, .threshold_ns = 200}, sources);
  cpu.begin(1);
  cpu.add(Interval{1'500, 4'000, timer, Kind::vector, 0});
  cpu.skip({1'000, 5'000, false});
  cpu.add(Interval{6'100, 6'800, timer, Kind::vector, 0});
  const DetourLedger& ledger = cpu.add({6'000, 7'000, false}, 10);
  CHECK(ledger.entries.size() == 1);
  CHECK(cpu.blind_ns() == 4'000);
  cpu.rest({7'000, 9'000, false});
  CHECK(cpu.blind_ns() == 4'000);
  CHECK(cpu.rested_ns() == 2'000);
  CHECK(cpu.statistics().totals().detours == 1);
  CHECK(cpu.matcher().orphans() == 0);
  CHECK(cpu.matcher().containment().share() == 1.0);
}

TEST_CASE("time without kernel activity is all of one class, the machine's", "[pipeline]") {
  SourceTable sources;
  const SourceId timer = sources.intern(Kind::vector, "local_timer");
  for (const Kind outside : {Kind::hypervisor, Kind::hardware}) {
    const Kind other = outside == Kind::hypervisor ? Kind::hardware : Kind::hypervisor;
    LoopCpu cpu({.cpu = 1, .threshold_ns = 200, .outside = outside}, sources);
    cpu.begin(1);
    CHECK(cpu.add({1'000, 26'000, false}, 10).gap_ns(outside) == 25'000);
    cpu.add(Interval{100'200, 101'000, timer, Kind::vector, 0});
    const DetourLedger& around = cpu.add({100'000, 130'000, false}, 10);  // more than overhead can be
    CHECK(around.gap_ns(outside) > 10'000);
    CHECK(around.gap_ns(other) == 0);
    LossLedger of_tasks(outside);
    const DetourLedger& waited = of_tasks.divide({{0, 500'000, false}, 7, 0, 0, LossKind::queued, 500'000}, {});
    CHECK(waited.gap_ns(outside) == 500'000 - OverheadBounds::kFirstGuessNs);
    const DetourLedger& doubtful = cpu.add({200'000, 230'000, true}, 10);
    CHECK(doubtful.unexplained_ns == 30'000);
    CHECK(cpu.statistics().totals().gap_ns(outside) > 35'000);
    CHECK(cpu.statistics().totals().gap_ns(other) == 0);
  }
}

namespace {

const std::string* detail(const DetourEntryView& entry, const std::string& key) {
  for (const auto& [name, value] : entry.detail) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string detail_of(const DetourEntryView& entry, const std::string& key) {
  const std::string* const found = detail(entry, key);
  return found == nullptr ? "" : *found;
}

// A ledger of one task with a work item, an interrupt with its function, and a fault.
struct ChainScene {
  SourceTable sources;
  Names names{sources, Kallsyms::parse("ffffffff81000100 t queued_function\nffffffff81000200 t resched_curr\n")};
  Services services{"", "/nonexistent"};
  Chains chains{names, sources, services};
  CauseMatcher causes;
  DetourLedger ledger;

  void enter(Kind kind, const char* name, std::uint64_t id, std::uint8_t depth, CauseId cause, std::uint8_t flags = 0) {
    LedgerEntry entry;
    entry.source = sources.intern(kind, name);
    entry.kind = kind;
    entry.depth = depth;
    entry.id = id;
    entry.cause = cause;
    entry.flags = flags;
    entry.self_ns = 10;
    ledger.entries.push_back(entry);
    ledger.explained_ns += 10;
    ledger.detour.end_ns += 10;
  }
  DetourView view() {
    const auto describe = [&](const DetourLedger& described, std::size_t index, FeedDetour& to) {
      chains.describe(described, index, causes, 1, to);
    };
    FeedDetour detour;
    to_feed(1, ledger, sources, describe, detour);
    return to_view(detour, sources);
  }
};

noised_origin made_by(noised_origin_kind kind, const char* comm, std::uint64_t subject) {
  noised_origin origin{};
  origin.kind = static_cast<noised_u8>(kind);
  origin.time_ns = 1;
  origin.task = 42;
  origin.pid = 9;
  origin.cpu = 3;
  origin.subject = subject;
  origin.code = 0xffffffff81000200;
  std::strncpy(origin.comm, comm, sizeof(origin.comm) - 1);
  return origin;
}

}  // namespace

TEST_CASE("the details of a detour name the chain behind each entry", "[pipeline]") {
  ChainScene scene;
  scene.causes.add(made_by(NOISED_ORIGIN_WAKE, "systemd", 0));
  noised_origin from_interrupt = made_by(NOISED_ORIGIN_RESCHEDULE, "innocent", 0);
  from_interrupt.context_kind = NOISED_KIND_SOFTIRQ;
  from_interrupt.context_id = 3;
  scene.causes.add(from_interrupt);
  scene.causes.add(made_by(NOISED_ORIGIN_CALL_SINGLE, "bash", 0xffffffff81000100));
  const CauseId wake = scene.causes.cause_of({2, 3, 0, Kind::task, 0, 42, 0});
  const CauseId resched = scene.causes.cause_of({2, 3, 0, Kind::vector, 0, NOISED_VECTOR_RESCHEDULE, 0});
  const CauseId call = scene.causes.cause_of({2, 3, 0, Kind::vector, 0, NOISED_VECTOR_CALL_FUNCTION_SINGLE, 0});
  scene.enter(Kind::task, "kworker/1:1", 42, 0, wake);
  scene.enter(Kind::work, "vmstat_update", 0x1, 1, 0);
  scene.enter(Kind::vector, "reschedule", NOISED_VECTOR_RESCHEDULE, 0, resched);
  scene.enter(Kind::vector, "call_function_single", NOISED_VECTOR_CALL_FUNCTION_SINGLE, 0, call);
  scene.enter(Kind::page_fault, "user", 0x7f00, 0, 0, NOISED_FLAG_KERNEL_ADDRESS);
  scene.enter(Kind::task, "swapper/1", 0, 0, 0);
  const DetourView view = scene.view();
  REQUIRE(view.entries.size() == 6);
  CHECK(detail_of(view.entries[0], "pid") == "42");
  CHECK(detail_of(view.entries[0], "waker") == "systemd");
  CHECK(detail_of(view.entries[0], "waker_pid") == "9");
  CHECK(detail_of(view.entries[0], "waker_cpu") == "3");
  CHECK(detail_of(view.entries[0], "work") == "vmstat_update");
  // The task that an interrupt struck on the other CPU did nothing: it is not named.
  CHECK(detail(view.entries[2], "sender") == nullptr);
  CHECK(detail_of(view.entries[2], "sender_context") == "softirq NET_RX");
  CHECK(detail_of(view.entries[2], "sender_code") == "resched_curr");
  CHECK(detail_of(view.entries[3], "sender") == "bash");
  CHECK(detail_of(view.entries[3], "function") == "queued_function");
  CHECK(detail_of(view.entries[4], "ip") == "0x7f00");
  CHECK(detail_of(view.entries[4], "address") == "kernel");
  CHECK(view.entries[5].detail.empty());
}

TEST_CASE("the details of a chain never show a kernel's address", "[pipeline]") {
  constexpr std::uint64_t kNoFunction = 0xffffffffc0000000;
  ChainScene scene;
  noised_origin inside = made_by(NOISED_ORIGIN_RESCHEDULE, "bash", 0);
  inside.code += 0x10;
  scene.causes.add(inside);
  // Within the function that is queued, but no function begins there.
  scene.causes.add(made_by(NOISED_ORIGIN_CALL_SINGLE, "bash", 0xffffffff81000110));
  noised_origin elsewhere = made_by(NOISED_ORIGIN_CALL, "bash", 0);
  elsewhere.code = kNoFunction;
  scene.causes.add(elsewhere);
  for (const noised_vector vector :
       {NOISED_VECTOR_RESCHEDULE, NOISED_VECTOR_CALL_FUNCTION_SINGLE, NOISED_VECTOR_CALL_FUNCTION}) {
    scene.enter(Kind::vector, "vector", vector, 0, scene.causes.cause_of({2, 3, 0, Kind::vector, 0, vector, 0}));
  }
  scene.enter(Kind::page_fault, "kernel", 0xffffffff81000208, 0, 0);
  scene.enter(Kind::page_fault, "kernel", kNoFunction, 0, 0);
  const DetourView view = scene.view();
  CHECK(detail_of(view.entries[0], "sender_code") == "resched_curr+0x10");
  CHECK(detail_of(view.entries[1], "function") == "unknown");
  CHECK(detail_of(view.entries[2], "sender_code") == "unknown");
  CHECK(detail_of(view.entries[3], "ip") == "resched_curr+0x8");
  CHECK(detail_of(view.entries[4], "ip") == "unknown");
}

TEST_CASE("details that have no room are left out, and that is shown", "[pipeline]") {
  FeedDetour detour;
  detour.size = 2;
  const std::string long_text(200, 'x');
  for (int i = 0; i < 6; ++i) detour.add_detail(DetailKey::service, long_text);
  CHECK(detour.entries[1].cut);
  SourceTable sources;
  const DetourView view = to_view(detour, sources);
  CHECK(view.entries[0].detail.empty());
  REQUIRE(view.entries[1].detail.size() == 4);
  CHECK(view.entries[1].detail[0] == std::pair<std::string, std::string>{"service", long_text});
  CHECK(view.entries[1].detail[3] == std::pair<std::string, std::string>{"cut", "true"});
}
