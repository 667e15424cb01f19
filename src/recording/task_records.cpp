// SPDX-License-Identifier: Apache-2.0
// The records of watched tasks. A loss brings its ledger: the intervals of a wait were told long before, and several
// tasks waited for the same.
#include <array>

#include "recording/records.h"

namespace noised {
namespace {

enum RunBits : std::uint8_t { kPreempted = 1, kEnded = 2, kKnown = 4, kMigrated = 8, kWaitedPreempted = 16 };
constexpr std::uint8_t kAllRunBits = 31;

// Of pids, sources and counts.
std::uint32_t number32(ByteReader& from, bool& good) {
  const std::uint64_t value = from.number();
  good = good && value <= UINT32_MAX;
  return static_cast<std::uint32_t>(value);
}

}  // namespace

void RecordWriter::entries(std::size_t cpu, std::span<const LedgerEntry> entries) {
  assert(!entries.empty() && entries.size() <= kMostEntries);
  std::array<char, kLongestEntries> room;
  ByteWriter packed(room);
  std::uint64_t last_ns = entries.front().start_ns;
  for (const LedgerEntry& entry : entries) {
    packed.distance(last_ns, entry.start_ns);
    last_ns = entry.start_ns;
    packed.number(entry.self_ns);
    packed.number(entry.source);
    packed.byte(entry.flags);
    packed.byte(entry.depth);
    packed.number(entry.id);
  }
  tag(RecordTag::entries, cpu);
  time(entries.front().start_ns);
  bytes_.text({room.data(), packed.size()});
}

bool next_entry(ByteReader& from, std::uint64_t& start_ns, LedgerEntry& entry) {
  if (!from.good() || from.at_end()) return false;
  bool good = true;
  entry = LedgerEntry();
  entry.start_ns = start_ns = from.distance(start_ns);
  entry.self_ns = from.number();
  entry.source = number32(from, good);
  entry.flags = from.byte();
  entry.depth = from.byte();
  entry.id = from.number();
  return good && from.good();
}

void RecordWriter::loss(std::size_t cpu, const RecordedDetour& detour, const Loss& loss,
                        std::span<const EntryDetails> details) {
  tag(RecordTag::loss, cpu);
  bytes_.number(loss.pid);
  bytes_.number(loss.name);
  bytes_.byte(static_cast<std::uint8_t>(loss.kind));
  bytes_.number(loss.waited_ns);
  divided(detour, details);
}

void RecordReader::read_loss(Record& record) {
  record.loss = Loss();
  record.loss.pid = number32(bytes_, good_);
  record.loss.name = number32(bytes_, good_);
  const std::uint8_t kind = bytes_.byte();
  if (kind <= static_cast<std::uint8_t>(LossKind::queued)) {
    record.loss.kind = static_cast<LossKind>(kind);
  } else {
    good_ = false;
  }
  record.loss.waited_ns = bytes_.number();
  read_detour(record);
}

void RecordWriter::run(std::size_t cpu, const TaskRun& run, const RunFacts& facts) {
  tag(RecordTag::run, cpu);
  time(run.start_ns);
  bytes_.number(run.end_ns - run.start_ns);
  bytes_.number(run.pid);
  bytes_.number(run.tgid);
  bytes_.number(run.name);
  bytes_.byte(static_cast<std::uint8_t>((run.preempted ? kPreempted : 0) | (run.ended ? kEnded : 0) |
                                        (facts.known ? kKnown : 0) | (facts.migrated ? kMigrated : 0) |
                                        (facts.wait == LossKind::preempted ? kWaitedPreempted : 0)));
  for (const std::uint64_t each : {std::uint64_t{facts.voluntary}, std::uint64_t{facts.involuntary}, facts.waited_ns,
                                   std::uint64_t{facts.unseen_runs}, facts.unseen_wait_ns,
                                   std::uint64_t{facts.minor_faults}, std::uint64_t{facts.major_faults}}) {
    bytes_.number(each);
  }
}

void RecordReader::read_run(Record& record) {
  TaskRun& run = record.run;
  run = TaskRun();
  run.start_ns = time();
  run.end_ns = run.start_ns + bytes_.number();
  run.pid = number32(bytes_, good_);
  run.tgid = number32(bytes_, good_);
  run.name = number32(bytes_, good_);
  const std::uint8_t bits = bytes_.byte();
  if (bits > kAllRunBits) good_ = false;
  run.preempted = (bits & kPreempted) != 0;
  run.ended = (bits & kEnded) != 0;
  RunFacts& facts = record.facts;
  facts.known = (bits & kKnown) != 0;
  facts.migrated = (bits & kMigrated) != 0;
  facts.wait = (bits & kWaitedPreempted) != 0 ? LossKind::preempted : LossKind::queued;
  facts.voluntary = number32(bytes_, good_);
  facts.involuntary = number32(bytes_, good_);
  facts.waited_ns = bytes_.number();
  facts.unseen_runs = number32(bytes_, good_);
  facts.unseen_wait_ns = bytes_.number();
  facts.minor_faults = number32(bytes_, good_);
  facts.major_faults = number32(bytes_, good_);
}

void RecordWriter::current(std::size_t cpu, const CurrentTask& task, std::uint64_t until_ns) {
  tag(RecordTag::current, cpu);
  time(task.start_ns);
  bytes_.distance(task.start_ns, until_ns);
  bytes_.number(task.pid);
}

void RecordReader::read_current(Record& record) {
  record.run = TaskRun();
  record.run.start_ns = time();
  record.run.end_ns = bytes_.distance(record.run.start_ns);
  record.run.pid = number32(bytes_, good_);
}

}  // namespace noised
