// SPDX-License-Identifier: Apache-2.0
// Times are told as distances from the time before, on the same CPU: one or two bytes, mostly.
#include "recording/records.h"

#include <array>

namespace noised::recording {
namespace {

enum DetourBits : std::uint8_t { kInDoubt = 1, kHypervisor = 2, kHardware = 4, kUnexplained = 8, kDetails = 16 };
constexpr std::uint8_t kAllDetourBits = 31;
constexpr std::uint8_t kCut = 128;

}  // namespace

void RecordWriter::begin(std::span<char> room, std::size_t cpus) {
  bytes_ = ByteWriter(room);
  cpu_ = 0;
  last_ns_.assign(cpus, 0);
}

void RecordWriter::tag(RecordTag tag, std::size_t cpu) {
  if (cpu != cpu_) {
    cpu_ = cpu;
    this->tag(RecordTag::cpu);
    bytes_.number(cpu);
  }
  this->tag(tag);
}

void RecordWriter::time(std::uint64_t ns) {
  assert(cpu_ < last_ns_.size());
  bytes_.distance(last_ns_[cpu_], ns);
  last_ns_[cpu_] = ns;
}

void RecordWriter::source(Kind kind, Category category, std::string_view name) {
  tag(RecordTag::source);
  bytes_.byte(static_cast<std::uint8_t>(kind));
  bytes_.byte(static_cast<std::uint8_t>(category));
  bytes_.text(name);
}

namespace {

// Whatever else has an address for its number: the kernel's are its secret, and a recording goes from hand to hand.
std::uint64_t told_id(Kind kind, std::uint64_t id) {
  const bool is_number = kind == Kind::irq || kind == Kind::vector || kind == Kind::softirq || kind == Kind::task;
  return is_number ? id : 0;
}

}  // namespace

void RecordWriter::interval(std::size_t cpu, const Interval& interval, bool waits) {
  tag(waits ? RecordTag::waits : RecordTag::interval, cpu);
  time(interval.start_ns);
  bytes_.number(interval.end_ns - interval.start_ns);
  bytes_.number(number_of(interval.source));
  bytes_.byte(interval.flags);
  bytes_.number(told_id(interval.kind, interval.id));
}

void RecordWriter::detour(std::size_t cpu, const RecordedDetour& detour, std::span<const EntryDetails> details) {
  tag(RecordTag::detour, cpu);
  divided(detour, details);
}

void RecordWriter::divided(const RecordedDetour& detour, std::span<const EntryDetails> details) {
  time(detour.start_ns);
  bytes_.number(detour.end_ns - detour.start_ns);
  bytes_.number(detour.tolerance_ns);
  bytes_.byte(static_cast<std::uint8_t>(
      (detour.in_doubt ? kInDoubt : 0) | (detour.parts.hypervisor_ns != 0 ? kHypervisor : 0) |
      (detour.parts.hardware_ns != 0 ? kHardware : 0) | (detour.parts.unexplained_ns != 0 ? kUnexplained : 0) |
      (details.empty() ? 0 : kDetails)));
  bytes_.number(detour.parts.overhead_ns);
  for (const std::uint64_t ns : {detour.parts.hypervisor_ns, detour.parts.hardware_ns, detour.parts.unexplained_ns}) {
    if (ns != 0) bytes_.number(ns);
  }
  if (details.empty()) return;
  // A text of texts: who does not want them passes over all at once. Entries are below 128: a byte each.
  std::size_t size = 0;
  for (const EntryDetails& each : details) size += each.text.size() + (each.text.size() < 0x80 ? 2 : 3);
  bytes_.number(size);
  for (const EntryDetails& each : details) write_details(each, bytes_);
}

void RecordWriter::gap(std::size_t cpu, RecordTag tag, std::uint64_t start_ns, std::uint64_t end_ns) {
  this->tag(tag, cpu);
  time(start_ns);
  bytes_.number(end_ns - start_ns);
}

void RecordWriter::begins(std::size_t cpu, std::uint64_t first_ns) {
  tag(RecordTag::begins, cpu);
  time(first_ns);
}

void RecordWriter::sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) {
  tag(RecordTag::sample, cpu);
  time(end_ns);
  bytes_.number(iterations);
}

void RecordWriter::checkpoint(std::string_view bytes) {
  tag(RecordTag::checkpoint);
  bytes_.text(bytes);
}

void RecordWriter::stolen(std::size_t cpu, const account::StealWindow& window) {
  tag(RecordTag::stolen, cpu);
  time(window.from_ns);
  bytes_.number(window.to_ns - window.from_ns);
  bytes_.number(window.stolen_ns);
}

void RecordWriter::part(std::uint64_t lost_intervals, std::uint64_t lost_detours) {
  tag(RecordTag::part);
  bytes_.number(lost_intervals);
  bytes_.number(lost_detours);
}

std::uint64_t RecordReader::time() { return last_ns_[cpu_] = bytes_.distance(last_ns_[cpu_]); }

bool RecordReader::read_tag(RecordTag& tag) {
  const std::uint8_t number = bytes_.byte();
  if (number < static_cast<std::uint8_t>(RecordTag::source) || number > static_cast<std::uint8_t>(RecordTag::stolen)) {
    return good_ = false;
  }
  tag = static_cast<RecordTag>(number);
  return true;
}

bool RecordReader::select_cpu() {
  const std::uint64_t cpu = bytes_.number();
  if (cpu >= last_ns_.size()) return good_ = false;
  cpu_ = cpu;
  return true;
}

void RecordReader::read_interval(Record& record) {
  record.interval.start_ns = time();
  record.interval.end_ns = record.interval.start_ns + bytes_.number();
  const std::uint64_t source = bytes_.number();
  if (source > UINT32_MAX) good_ = false;
  record.interval.source = static_cast<SourceId>(source);
  record.interval.flags = bytes_.byte();
  record.interval.id = bytes_.number();
}

void RecordReader::read_detour(Record& record) {
  RecordedDetour& detour = record.detour;
  detour.start_ns = time();
  detour.end_ns = detour.start_ns + bytes_.number();
  detour.tolerance_ns = bytes_.number();
  const std::uint8_t bits = bytes_.byte();
  if (bits > kAllDetourBits) good_ = false;
  detour.in_doubt = (bits & kInDoubt) != 0;
  detour.parts.overhead_ns = bytes_.number();
  detour.parts.hypervisor_ns = (bits & kHypervisor) != 0 ? bytes_.number() : 0;
  detour.parts.hardware_ns = (bits & kHardware) != 0 ? bytes_.number() : 0;
  detour.parts.unexplained_ns = (bits & kUnexplained) != 0 ? bytes_.number() : 0;
  record.text = (bits & kDetails) != 0 ? bytes_.text() : std::string_view();
}

void RecordReader::read_source(Record& record) {
  const std::uint8_t kind = bytes_.byte();
  const std::uint8_t category = bytes_.byte();
  if (kind >= kKindCount || category >= kCategoryCount) {
    good_ = false;
    return;
  }
  record.kind = static_cast<Kind>(kind);
  record.category = static_cast<Category>(category);
  record.text = bytes_.text();
}

bool RecordReader::next(Record& record) {
  if (!good() || bytes_.at_end()) return false;
  RecordTag tag = RecordTag::source;
  if (!read_tag(tag)) return false;
  while (tag == RecordTag::cpu) {
    if (!select_cpu() || !read_tag(tag)) return false;
  }
  record.tag = tag;
  record.cpu = cpu_;
  const bool of_cpu = (tag >= RecordTag::interval && tag <= RecordTag::waits) || tag >= RecordTag::sample;
  if (of_cpu && last_ns_.empty()) return good_ = false;
  switch (tag) {
    case RecordTag::source:
      read_source(record);
      break;
    case RecordTag::interval:
    case RecordTag::waits:
      read_interval(record);
      break;
    case RecordTag::detour:
      read_detour(record);
      break;
    case RecordTag::moved:
    case RecordTag::rested:
      record.start_ns = time();
      record.end_ns = record.start_ns + bytes_.number();
      break;
    case RecordTag::begins:
      record.start_ns = time();
      break;
    case RecordTag::stolen:
      record.start_ns = time();
      record.end_ns = record.start_ns + bytes_.number();
      record.stolen_ns = bytes_.number();
      break;
    case RecordTag::sample:
      record.end_ns = time();
      record.iterations = bytes_.number();
      break;
    case RecordTag::entries:
      record.start_ns = time();
      record.text = bytes_.text();
      break;
    case RecordTag::loss:
      read_loss(record);
      break;
    case RecordTag::run:
      read_run(record);
      break;
    case RecordTag::current:
      read_current(record);
      break;
    case RecordTag::checkpoint:
      record.text = bytes_.text();
      break;
    case RecordTag::part:
      record.lost_intervals = bytes_.number();
      record.lost_detours = bytes_.number();
      break;
    case RecordTag::cpu:
      break;
  }
  return good();
}

bool ends_with_checkpoint(std::string_view block, std::size_t cpus) {
  RecordReader reader(block, cpus);
  Record record;
  bool checkpoint = false;
  while (reader.next(record)) checkpoint = record.tag == RecordTag::checkpoint;
  return checkpoint && reader.good();
}

void write_details(const EntryDetails& details, ByteWriter& to) {
  to.byte(static_cast<std::uint8_t>(details.entry | (details.cut ? kCut : 0U)));
  to.text(details.text);
}

bool next_details(ByteReader& from, EntryDetails& details) {
  if (!from.good() || from.at_end()) return false;
  const std::uint8_t entry = from.byte();
  details.entry = entry & (kCut - 1U);
  details.cut = (entry & kCut) != 0;
  details.text = from.text();
  return from.good();
}

namespace {

enum RunBits : std::uint8_t {
  kPreempted = 1,
  kEnded = 2,
  kKnown = 4,
  kMigrated = 8,
  kWaitedPreempted = 16,
  kHasLife = 32,        // the life follows, as all runs have it since there is this bit
  kYielded = 64,        // by sched_yield
  kWaitedYielded = 128  // what it waited for, it had given away
};
constexpr std::uint8_t kLossHasLife = 128;  // beside the kind of a loss: likewise

// Of pids, sources and counts.
std::uint32_t number32(ByteReader& from, bool& good) {
  const std::uint64_t value = from.number();
  good = good && value <= UINT32_MAX;
  return static_cast<std::uint32_t>(value);
}

}  // namespace

void RecordWriter::entries(std::size_t cpu, std::span<const account::LedgerEntry> entries) {
  assert(!entries.empty() && entries.size() <= kMostEntries);
  std::array<char, kLongestEntries> room;
  ByteWriter packed(room);
  std::uint64_t last_ns = entries.front().start_ns;
  for (const account::LedgerEntry& entry : entries) {
    packed.distance(last_ns, entry.start_ns);
    last_ns = entry.start_ns;
    packed.number(entry.self_ns);
    packed.number(number_of(entry.source));
    packed.byte(entry.flags);
    packed.byte(entry.depth);
    packed.number(told_id(entry.kind, entry.id));
  }
  tag(RecordTag::entries, cpu);
  time(entries.front().start_ns);
  bytes_.text({room.data(), packed.size()});
}

bool next_entry(ByteReader& from, std::uint64_t& start_ns, account::LedgerEntry& entry) {
  if (!from.good() || from.at_end()) return false;
  bool good = true;
  entry = account::LedgerEntry();
  entry.start_ns = start_ns = from.distance(start_ns);
  entry.self_ns = from.number();
  entry.source = number32(from, good);
  entry.flags = from.byte();
  entry.depth = from.byte();
  entry.id = from.number();
  return good && from.good();
}

void RecordWriter::loss(std::size_t cpu, const RecordedDetour& detour, const account::Loss& loss,
                        std::span<const EntryDetails> details) {
  tag(RecordTag::loss, cpu);
  bytes_.number(loss.pid);
  bytes_.number(number_of(loss.name));
  bytes_.byte(static_cast<std::uint8_t>(static_cast<std::uint8_t>(loss.kind) | kLossHasLife));
  bytes_.number(loss.waited_ns);
  bytes_.number(loss.life);
  divided(detour, details);
}

void RecordReader::read_loss(Record& record) {
  record.loss = account::Loss();
  record.loss.pid = number32(bytes_, good_);
  record.loss.name = number32(bytes_, good_);
  const std::uint8_t byte = bytes_.byte();
  const auto kind = static_cast<std::uint8_t>(byte & ~kLossHasLife);
  if (kind <= static_cast<std::uint8_t>(account::LossKind::queued)) {
    record.loss.kind = static_cast<account::LossKind>(kind);
  } else {
    good_ = false;
  }
  record.loss.waited_ns = bytes_.number();
  record.loss.life = (byte & kLossHasLife) != 0 ? bytes_.number() : 0;
  read_detour(record);
}

void RecordWriter::run(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) {
  tag(RecordTag::run, cpu);
  time(run.start_ns);
  bytes_.number(run.end_ns - run.start_ns);
  bytes_.number(run.pid);
  bytes_.number(run.tgid);
  bytes_.number(number_of(run.name));
  bytes_.byte(static_cast<std::uint8_t>(kHasLife | (run.preempted ? kPreempted : 0) | (run.ended ? kEnded : 0) |
                                        (facts.known ? kKnown : 0) | (facts.migrated ? kMigrated : 0) |
                                        (facts.wait == account::LossKind::preempted ? kWaitedPreempted : 0) |
                                        (facts.yielded ? kYielded : 0) | (facts.yielded_ns != 0 ? kWaitedYielded : 0)));
  const std::uint64_t waited_ns = facts.yielded_ns != 0 ? facts.yielded_ns : facts.waited_ns;
  for (const std::uint64_t each :
       {std::uint64_t{facts.voluntary}, std::uint64_t{facts.involuntary}, waited_ns, std::uint64_t{facts.unseen_runs},
        facts.unseen_wait_ns, std::uint64_t{facts.minor_faults}, std::uint64_t{facts.major_faults}}) {
    bytes_.number(each);
  }
  bytes_.number(facts.life);
}

void RecordReader::read_run(Record& record) {
  account::TaskRun& run = record.run;
  run = account::TaskRun();
  run.start_ns = time();
  run.end_ns = run.start_ns + bytes_.number();
  run.pid = number32(bytes_, good_);
  run.tgid = number32(bytes_, good_);
  run.name = number32(bytes_, good_);
  const std::uint8_t bits = bytes_.byte();
  run.preempted = (bits & kPreempted) != 0;
  run.ended = (bits & kEnded) != 0;
  account::RunFacts& facts = record.facts;
  facts = account::RunFacts();
  run.yielded = facts.yielded = (bits & kYielded) != 0;
  facts.known = (bits & kKnown) != 0;
  facts.migrated = (bits & kMigrated) != 0;
  facts.wait = (bits & kWaitedPreempted) != 0 ? account::LossKind::preempted : account::LossKind::queued;
  facts.voluntary = number32(bytes_, good_);
  facts.involuntary = number32(bytes_, good_);
  (((bits & kWaitedYielded) != 0) ? facts.yielded_ns : facts.waited_ns) = bytes_.number();
  facts.unseen_runs = number32(bytes_, good_);
  facts.unseen_wait_ns = bytes_.number();
  facts.minor_faults = number32(bytes_, good_);
  facts.major_faults = number32(bytes_, good_);
  facts.life = (bits & kHasLife) != 0 ? bytes_.number() : 0;
}

void RecordWriter::current(std::size_t cpu, const account::CurrentTask& task, std::uint64_t until_ns) {
  tag(RecordTag::current, cpu);
  time(task.start_ns);
  bytes_.distance(task.start_ns, until_ns);
  bytes_.number(task.pid);
}

void RecordReader::read_current(Record& record) {
  record.run = account::TaskRun();
  record.run.start_ns = time();
  record.run.end_ns = bytes_.distance(record.run.start_ns);
  record.run.pid = number32(bytes_, good_);
}

}  // namespace noised::recording
