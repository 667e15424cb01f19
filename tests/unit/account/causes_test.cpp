// SPDX-License-Identifier: Apache-2.0
// Who caused an interval, and above all when nobody may be named.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <vector>

#include "account/causes.h"

using namespace noised;
using namespace noised::account;

namespace {

constexpr std::uint32_t kPid = 42;

noised_origin origin(noised_origin_kind kind, std::uint64_t at_ns, const char* comm, std::uint64_t subject = 0) {
  noised_origin made{};
  made.kind = static_cast<noised_u8>(kind);
  made.time_ns = at_ns;
  made.task = kPid;
  made.subject = subject;
  std::strncpy(made.comm, comm, sizeof(made.comm) - 1);
  return made;
}

Interval task(std::uint64_t start_ns, std::uint64_t end_ns, bool preempted = false, std::uint32_t pid = kPid) {
  return Interval{start_ns, end_ns, 0, Kind::task, static_cast<std::uint8_t>(preempted ? NOISED_FLAG_PREEMPTED : 0),
                  pid,      0};
}

Interval woken_here(std::uint64_t start_ns, std::uint64_t end_ns) {
  Interval interval = task(start_ns, end_ns);
  interval.flags |= NOISED_FLAG_WOKEN_HERE;
  return interval;
}

Interval vector_at(std::uint64_t start_ns, noised_vector id) {
  return Interval{start_ns, start_ns + 10, 0, Kind::vector, 0, id, 0};
}

// A function is queued by a call of this number, unless a test gives another.
constexpr std::uint16_t kCall = kPid;

noised_origin queued(std::uint64_t at_ns, const char* comm, std::uint64_t address, std::uint16_t call) {
  noised_origin made = origin(NOISED_ORIGIN_QUEUE, at_ns, comm, address);
  made.task = call;
  return made;
}

Interval function_at(std::uint64_t start_ns, std::uint64_t address, std::uint16_t call = kCall) {
  return Interval{start_ns, start_ns + 5, 0, Kind::csd, 0, address, 0, call};
}

// Name of the cause; "here"; "-" if none may be named.
std::string named(CauseMatcher& causes, const Interval& interval) {
  const Cause* const cause = causes.find(causes.cause_of(interval));
  if (cause == nullptr) return "-";
  if (cause->moved) return std::string("moved by ") + cause->mover.comm;
  return cause->known ? cause->origin.comm : "here";
}

}  // namespace

TEST_CASE("a task is woken by the last who woke it before it ran", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_WAKE, 100, "first"));
  causes.add(origin(NOISED_ORIGIN_WAKE, 300, "later"));
  CHECK(named(causes, task(200, 250)) == "first");
  CHECK(named(causes, task(310, 320)) == "later");
  CHECK(named(causes, task(400, 410)) == "-");  // nobody was seen to wake it: not that nobody did
  CHECK(named(causes, woken_here(450, 460)) == "here");
  CHECK(named(causes, task(400, 410, false, kPid + 1)) == "-");  // never seen before: nothing is known of it
  Interval idle = woken_here(460, 470);
  idle.id = 0;
  CHECK(named(causes, idle) == "-");
  CHECK(named(causes, Interval{1, 2, 0, Kind::softirq, 0, 0, 0}) == "-");
}

TEST_CASE("of two sends in the same nanosecond, the one that is told first came first", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_WAKE, 100, "first"));
  causes.add(origin(NOISED_ORIGIN_WAKE, 100, "later"));
  CHECK(named(causes, task(200, 250)) == "later");
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 300, "first"));
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 300, "later"));
  CHECK(named(causes, vector_at(310, NOISED_VECTOR_RESCHEDULE)) == "first");
}

TEST_CASE("a preempted task was woken by whom it was before", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_WAKE, 100, "waker"));
  CHECK(named(causes, task(200, 250, true)) == "waker");
  causes.add(origin(NOISED_ORIGIN_WAKE, 260, "other"));  // it was about to sleep, and is still on the run queue
  CHECK(named(causes, task(300, 350, true)) == "waker");
  CHECK(named(causes, task(400, 450, false)) == "waker");
  CHECK(named(causes, woken_here(500, 550)) == "here");
}

TEST_CASE("who moves a task is named, and it is forgotten where it came from", "[attribution]") {
  CauseMatcher causes;
  CHECK(named(causes, task(100, 150)) == "-");
  causes.add(origin(NOISED_ORIGIN_WAKE, 160, "waker"));
  causes.add(origin(NOISED_ORIGIN_MOVE_AWAY, 170, "waker"));
  CHECK(named(causes, task(300, 350)) == "-");  // how it came back was not seen
  causes.add(origin(NOISED_ORIGIN_MOVE_AWAY, 360, "waker"));
  CHECK(named(causes, woken_here(370, 380)) == "-");  // before it was moved away: that wakeup did not bring it back
  causes.add(origin(NOISED_ORIGIN_MOVE, 400, "balancer"));
  CHECK(named(causes, task(410, 420)) == "moved by balancer");
}

TEST_CASE("an interrupt answers every send before it, and names the first", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_CALL_SINGLE, 100, "a"));
  causes.add(origin(NOISED_ORIGIN_CALL_SINGLE, 130, "c"));
  causes.add(origin(NOISED_ORIGIN_CALL_SINGLE, 120, "b"));  // neighbours in the ring may be swapped
  causes.add(origin(NOISED_ORIGIN_CALL, 125, "other vector"));
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 500, "too late"));
  const Cause* first = causes.find(causes.cause_of(vector_at(125, NOISED_VECTOR_CALL_FUNCTION_SINGLE)));
  REQUIRE(first != nullptr);
  CHECK(std::string(first->origin.comm) == "a");
  CHECK(first->sends == 2);
  CHECK(named(causes, vector_at(140, NOISED_VECTOR_CALL_FUNCTION_SINGLE)) == "c");
  CHECK(named(causes, vector_at(141, NOISED_VECTOR_CALL_FUNCTION)) == "other vector");
  CHECK(named(causes, vector_at(150, NOISED_VECTOR_CALL_FUNCTION_SINGLE)) == "-");
  CHECK(named(causes, vector_at(150, NOISED_VECTOR_RESCHEDULE)) == "-");
  CHECK(named(causes, vector_at(510, NOISED_VECTOR_RESCHEDULE)) == "too late");
  CHECK(named(causes, vector_at(520, NOISED_VECTOR_LOCAL_TIMER)) == "-");
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 600, "at once"));
  CHECK(named(causes, vector_at(600, NOISED_VECTOR_RESCHEDULE)) == "at once");
}

TEST_CASE("a send that came while the interrupt before began is not lost", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 100, "a"));
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 110, "b"));
  CHECK(named(causes, vector_at(115, NOISED_VECTOR_RESCHEDULE)) == "a");
  CHECK(named(causes, vector_at(130, NOISED_VECTOR_RESCHEDULE)) == "b");
  CHECK(named(causes, vector_at(150, NOISED_VECTOR_RESCHEDULE)) == "-");
}

TEST_CASE("a function is matched with its own call", "[attribution]") {
  CauseMatcher causes;
  causes.add(queued(100, "f first", 0xf, 1));
  causes.add(queued(110, "g", 0xa, 2));
  causes.add(queued(120, "f second", 0xf, 3));
  CHECK(named(causes, function_at(130, 0xa, 1)) == "-");  // the call of another function
  CHECK(named(causes, function_at(130, 0xa, 2)) == "g");
  CHECK(named(causes, function_at(135, 0xf, 3)) == "f second");  // first those that somebody waits for
  CHECK(named(causes, function_at(140, 0xf, 1)) == "f first");
  CHECK(named(causes, function_at(150, 0xf, 1)) == "-");
}

TEST_CASE("of a function that runs once for several calls, the others name nobody later", "[attribution]") {
  CauseMatcher causes;
  causes.add(queued(100, "first waker", 0xf, 1));
  causes.add(queued(110, "second waker", 0xf, 2));
  CHECK(named(causes, function_at(130, 0xf, 1)) == "first waker");
  causes.add(queued(200, "third waker", 0xf, 3));
  CHECK(named(causes, function_at(210, 0xf, 3)) == "third waker");
  causes.add(queued(300, "again", 0xf, 2));  // of the same task as the second, which ran with the first
  CHECK(named(causes, function_at(310, 0xf, 2)) == "again");
  CHECK(named(causes, function_at(320, 0xf, 2)) == "-");
}

TEST_CASE("a function that a CPU calls by itself is no answer to another CPU's call", "[attribution]") {
  CauseMatcher causes;
  causes.add(queued(100, "sender", 0xf, 1));
  causes.add(queued(110, "without a number", 0xf, 0));
  CHECK(named(causes, function_at(130, 0xf, 0)) == "-");
  CHECK(named(causes, function_at(140, 0xf, 1)) == "sender");
}

TEST_CASE("what was queued well before an interrupt that takes the queue waits no longer", "[attribution]") {
  CauseMatcher causes;
  causes.add(queued(100, "of a batch", 0xf, 1));
  causes.add(queued(100'000, "just before", 0xf, 2));
  causes.add(queued(100, "not answered", 0xf, 3));
  causes.cause_of(vector_at(100'500, NOISED_VECTOR_RESCHEDULE));
  CHECK(named(causes, function_at(100'600, 0xf, 3)) == "not answered");
  causes.add(queued(101'000 - CauseMatcher::kQueueingNs, "in time", 0xf, 4));
  causes.cause_of(vector_at(101'000, NOISED_VECTOR_CALL_FUNCTION_SINGLE));
  CHECK(named(causes, function_at(102'000, 0xf, 1)) == "-");
  CHECK(named(causes, function_at(102'000, 0xf, 4)) == "in time");
  CHECK(named(causes, function_at(102'000, 0xf, 2)) == "just before");
}

TEST_CASE("what never led to an interval names nobody later", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 100, "old"));
  causes.add(origin(NOISED_ORIGIN_QUEUE, 100, "old", 0xf));
  causes.settle(101);
  const std::uint64_t late_ns = 101 + CauseMatcher::kPatienceNs;
  CHECK(named(causes, vector_at(late_ns, NOISED_VECTOR_RESCHEDULE)) == "-");
  CHECK(named(causes, function_at(late_ns, 0xf)) == "-");
}

TEST_CASE("after a loss nothing from before explains what follows", "[attribution]") {
  CauseMatcher causes;
  CHECK(named(causes, task(10, 20)) == "-");
  causes.add(origin(NOISED_ORIGIN_WAKE, 100, "waker"));
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 100, "sender"));
  causes.add(origin(NOISED_ORIGIN_QUEUE, 100, "sender", 0xf));
  causes.forget(150);
  CHECK(named(causes, task(200, 210)) == "-");
  CHECK(named(causes, vector_at(200, NOISED_VECTOR_RESCHEDULE)) == "-");
  CHECK(named(causes, function_at(200, 0xf)) == "-");
  causes.add(origin(NOISED_ORIGIN_WAKE, 150, "late"));  // its CPU was held up before it could say so
  CHECK(named(causes, task(220, 230)) == "-");
  causes.add(origin(NOISED_ORIGIN_WAKE, 300, "new"));
  CHECK(named(causes, task(310, 320)) == "new");
}

TEST_CASE("what was sent while nobody looked explains nothing; what was sent since does", "[attribution]") {
  CauseMatcher causes;
  for (const std::uint64_t ns : {100UL, 300UL}) {
    causes.add(origin(NOISED_ORIGIN_WAKE, ns, ns == 100 ? "old" : "new"));
    causes.add(origin(NOISED_ORIGIN_RESCHEDULE, ns, ns == 100 ? "old" : "new"));
    causes.add(origin(NOISED_ORIGIN_QUEUE, ns, ns == 100 ? "old" : "new", ns));
  }
  causes.add(origin(NOISED_ORIGIN_QUEUE, 200, "old", 200));
  causes.unobserved_until(200);
  CHECK(named(causes, function_at(310, 100)) == "-");
  CHECK(named(causes, function_at(315, 200)) == "-");
  CHECK(named(causes, function_at(320, 300)) == "new");
  CHECK(named(causes, task(330, 340)) == "new");
  const CauseId sent = causes.cause_of(vector_at(350, NOISED_VECTOR_RESCHEDULE));
  REQUIRE(causes.find(sent) != nullptr);
  CHECK(causes.find(sent)->sends == 1);
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 150, "late"));
  CHECK(named(causes, vector_at(360, NOISED_VECTOR_RESCHEDULE)) == "-");
}

TEST_CASE("what was sent waits for its interval as long as one may be late", "[attribution]") {
  constexpr std::uint64_t kSentNs = 5 * CauseMatcher::kPatienceNs;
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, kSentNs, "sender"));
  causes.settle(kSentNs + CauseMatcher::kPatienceNs);
  CHECK(named(causes, vector_at(kSentNs + CauseMatcher::kPatienceNs, NOISED_VECTOR_RESCHEDULE)) == "sender");
  causes.add(queued(2 * kSentNs, "caller", 0xf, 1));
  causes.add(queued(2 * kSentNs, "caller too early", 0xf, 2));
  CHECK(named(causes, function_at(2 * kSentNs + CauseMatcher::kPatienceNs, 0xf, 1)) == "caller");
  CHECK(named(causes, function_at(2 * kSentNs + CauseMatcher::kPatienceNs + 1, 0xf, 2)) == "-");
  causes.add(queued(3 * kSentNs, "caller", 0xf, 1));
  CHECK(named(causes, function_at(3 * kSentNs, 0xf, 1)) == "caller");
}

TEST_CASE("memory of causes is bounded, and forgets rather than lies", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 1, "first"));
  const CauseId first = causes.cause_of(vector_at(2, NOISED_VECTOR_RESCHEDULE));
  REQUIRE(causes.find(first) != nullptr);
  for (std::uint64_t i = 0; i < CauseMatcher::kCauses; ++i) {
    causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 10 + 10 * i, "next"));
    CHECK(named(causes, vector_at(11 + 10 * i, NOISED_VECTOR_RESCHEDULE)) == "next");
  }
  CHECK(causes.find(first) == nullptr);
  CHECK(causes.find(0) == nullptr);
  // Two pids of one slot: the later is known, the other is not taken for it.
  causes.add(origin(NOISED_ORIGIN_WAKE, 1'000'000, "mine"));
  noised_origin other = origin(NOISED_ORIGIN_WAKE, 1'000'001, "other's");
  other.task = kPid + static_cast<std::uint32_t>(CauseMatcher::kTasks);
  causes.add(other);
  CHECK(named(causes, task(1'000'010, 1'000'020)) == "-");
}

TEST_CASE("where too many of a kind wait, those of the others still name who they are of", "[attribution]") {
  const auto kind = GENERATE(NOISED_ORIGIN_WAKE, NOISED_ORIGIN_RESCHEDULE, NOISED_ORIGIN_CALL, NOISED_ORIGIN_QUEUE);
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_WAKE, 100, "waker"));
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 100, "scheduler"));
  causes.add(origin(NOISED_ORIGIN_CALL, 100, "caller"));
  causes.add(queued(100, "queuer", 0xf, kCall));
  for (std::uint64_t i = 0; i < CauseMatcher::kWaiting; ++i) {
    noised_origin more = origin(kind, 1'000 + i, "more", 0xe);
    more.task = 7;
    causes.add(more);
  }
  const auto unless = [&](noised_origin_kind dropped, const char* name) { return kind == dropped ? "-" : name; };
  CHECK(named(causes, function_at(9'000, 0xf)) == unless(NOISED_ORIGIN_QUEUE, "queuer"));
  CHECK(named(causes, vector_at(9'000, NOISED_VECTOR_RESCHEDULE)) == unless(NOISED_ORIGIN_RESCHEDULE, "scheduler"));
  CHECK(named(causes, vector_at(9'010, NOISED_VECTOR_CALL_FUNCTION)) == unless(NOISED_ORIGIN_CALL, "caller"));
  CHECK(named(causes, task(9'020, 9'030)) == unless(NOISED_ORIGIN_WAKE, "waker"));
  const DroppedOrigins& dropped = causes.dropped();
  CHECK(dropped.tasks == (kind == NOISED_ORIGIN_WAKE ? CauseMatcher::kWaiting : 0));
  CHECK(dropped.interrupts ==
        (kind == NOISED_ORIGIN_RESCHEDULE || kind == NOISED_ORIGIN_CALL ? CauseMatcher::kWaiting : 0));
  CHECK(dropped.functions == (kind == NOISED_ORIGIN_QUEUE ? 1 : 0));
  // What comes then is known again.
  causes.add(origin(NOISED_ORIGIN_WAKE, 10'000, "new waker"));
  causes.add(origin(NOISED_ORIGIN_RESCHEDULE, 10'000, "new scheduler"));
  causes.add(origin(NOISED_ORIGIN_CALL, 10'000, "new caller"));
  CHECK(named(causes, vector_at(10'010, NOISED_VECTOR_RESCHEDULE)) == "new scheduler");
  CHECK(named(causes, vector_at(10'020, NOISED_VECTOR_CALL_FUNCTION)) == "new caller");
  CHECK(named(causes, task(10'030, 10'040)) == "new waker");
}

TEST_CASE("an interval from before what was given up is given no cause of later", "[attribution]") {
  constexpr std::uint64_t kLastDropped = 1'000 + CauseMatcher::kWaiting - 1;
  const std::uint64_t start_ns = GENERATE(true, false) ? kLastDropped : 1'500;
  CauseMatcher causes;
  for (std::uint64_t ns = 1'000; ns <= kLastDropped + 1; ++ns) {
    causes.add(origin(NOISED_ORIGIN_WAKE, ns, "waker"));
    causes.add(origin(NOISED_ORIGIN_RESCHEDULE, ns, "scheduler"));
  }
  CHECK(named(causes, task(start_ns, start_ns + 10, true)) == "-");
  CHECK(named(causes, vector_at(start_ns, NOISED_VECTOR_RESCHEDULE)) == "-");
  CHECK(named(causes, task(9'000, 9'010)) == "waker");                      // not "as when it was preempted"
  CHECK(named(causes, vector_at(9'000, NOISED_VECTOR_RESCHEDULE)) == "-");  // others sent it before
  CHECK(named(causes, vector_at(9'100, NOISED_VECTOR_RESCHEDULE)) == "-");
}

TEST_CASE("what comes late, of a time that was given up, is given up too", "[attribution]") {
  constexpr std::uint64_t kLastDropped = 1'000 + CauseMatcher::kWaiting - 1;
  CauseMatcher causes;
  for (std::uint64_t ns = 1'000; ns <= kLastDropped + 1; ++ns) {
    noised_origin other = origin(NOISED_ORIGIN_WAKE, ns, "other");
    other.task = 7;
    causes.add(other);
  }
  causes.add(origin(NOISED_ORIGIN_WAKE, kLastDropped, "late"));
  CHECK(named(causes, task(9'000, 9'010)) == "-");
}

TEST_CASE("a task that was preempted before wakeups were given up may have been elsewhere since", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_WAKE, 100, "waker"));
  CHECK(named(causes, task(200, 250, true)) == "waker");
  for (std::uint64_t i = 0; i <= CauseMatcher::kWaiting; ++i) {
    noised_origin other = origin(NOISED_ORIGIN_WAKE, 1'000 + i, "other");
    other.task = 7;
    causes.add(other);
  }
  CHECK(named(causes, task(9'000, 9'010)) == "-");
}

TEST_CASE("as many causes are remembered as it says, and no more", "[attribution]") {
  CauseMatcher causes;
  std::vector<CauseId> ids;
  for (std::uint64_t i = 0; i <= CauseMatcher::kCauses; ++i) {
    causes.add(origin(NOISED_ORIGIN_WAKE, 1'000 + 100 * i, "waker"));
    ids.push_back(causes.cause_of(task(1'000 + 100 * i, 1'050 + 100 * i)));  // woken in the very ns
  }
  CHECK(causes.find(ids[0]) == nullptr);
  for (std::size_t i = 1; i < ids.size(); ++i) REQUIRE(causes.find(ids[i])->origin.time_ns == 1'000 + 100 * i);
}

TEST_CASE("an origin of a kind that is not known changes nothing", "[attribution]") {
  CauseMatcher causes;
  causes.add(origin(NOISED_ORIGIN_COUNT, 100, "unknown"));
  causes.add(origin(NOISED_ORIGIN_WAKE, 150, "waker"));
  CHECK(named(causes, task(200, 250)) == "waker");
  CHECK(causes.dropped().tasks + causes.dropped().interrupts + causes.dropped().functions == 0);
}
