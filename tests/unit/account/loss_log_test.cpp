// SPDX-License-Identifier: Apache-2.0
// Single losses: summed by source, handed on, and counted where there is no room.
#include <algorithm>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "account/loss_log.h"

using namespace noised;
using namespace noised::account;

namespace {

Loss loss_of(std::uint32_t pid, std::uint64_t start_ns, std::uint64_t end_ns) {
  Loss loss;
  loss.pid = pid;
  loss.detour.start_ns = start_ns;
  loss.detour.end_ns = end_ns;
  return loss;
}

DetourLedger loss_ledger(std::vector<LedgerEntry> entries) {
  DetourLedger ledger;
  ledger.entries = std::move(entries);
  return ledger;
}

LedgerEntry entry(SourceId source, std::uint64_t self_ns) {
  LedgerEntry entry;
  entry.source = source;
  entry.self_ns = self_ns;
  return entry;
}

std::uint64_t log_sum(std::span<const LossLog::Part> parts) {
  std::uint64_t sum = 0;
  for (const LossLog::Part& part : parts) sum += part.ns;
  return sum;
}

}  // namespace

TEST_CASE("a loss in the log has the time of each source once, gaps included", "[pipeline]") {
  SourceTable sources;
  const SourceId timer = sources.intern(Kind::vector, "local_timer");
  const SourceId task = sources.intern(Kind::task, "crond");
  DetourLedger ledger = loss_ledger({entry(timer, 10), entry(task, 20), entry(timer, 5)});
  ledger.overhead_ns = 3;
  ledger.hypervisor_ns = 7;
  ledger.hardware_ns = 2;
  ledger.unexplained_ns = 1;
  ledger.detour.in_doubt = true;
  LossLog log;
  log.add(loss_of(12, 100, 148), ledger, sources);
  REQUIRE(log.entries().size() == 1);
  const LossLog::Entry& kept = log.entries()[0];
  CHECK(kept.pid == 12);
  CHECK(kept.incomplete);
  CHECK(kept.duration_ns == 48);
  CHECK(log_sum(log.parts_of(kept)) == 48);
  CHECK(log.parts_of(kept).size() == 6);
  CHECK(log.parts_of(kept)[0].source == timer);
  CHECK(log.parts_of(kept)[0].ns == 15);
}

TEST_CASE("a log takes over another one, and what has no room is counted", "[pipeline]") {
  SourceTable sources;
  const SourceId task = sources.intern(Kind::task, "crond");
  const DetourLedger ledger = loss_ledger({entry(task, 20)});
  LossLog kept;
  LossLog next;
  kept.add(loss_of(1, 100, 120), ledger, sources);
  next.add(loss_of(2, 200, 220), ledger, sources);
  next.ran(2);
  next.ran(2);
  kept.take(next);
  REQUIRE(kept.entries().size() == 2);
  CHECK(kept.parts_of(kept.entries()[1])[0].ns == 20);
  CHECK(kept.ran().size() == 1);
  CHECK(next.entries().empty());
  CHECK(next.ran().empty());
  for (std::size_t i = 0; i < LossLog::kLosses + 7; ++i) next.add(loss_of(3, 300, 320), ledger, sources);
  CHECK(next.entries().size() == LossLog::kLosses);
  CHECK(next.dropped() == 7);
  kept.take(next);
  CHECK(kept.entries().size() == 2);
  CHECK(kept.dropped() == LossLog::kLosses + 7);
  kept.clear();
  CHECK(kept.dropped() == 0);
}
