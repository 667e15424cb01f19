// SPDX-License-Identifier: Apache-2.0
// Times are told as distances from the time before, on the same CPU: one or two bytes, mostly.
#include "recording/records.h"

namespace noised {
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

void RecordWriter::interval(std::size_t cpu, const Interval& interval, bool waits) {
  tag(waits ? RecordTag::waits : RecordTag::interval, cpu);
  time(interval.start_ns);
  bytes_.number(interval.end_ns - interval.start_ns);
  bytes_.number(interval.source);
  bytes_.byte(interval.flags);
  bytes_.number(interval.id);
}

void RecordWriter::detour(std::size_t cpu, const RecordedDetour& detour, std::span<const EntryDetails> details) {
  tag(RecordTag::detour, cpu);
  divided(detour, details);
}

void RecordWriter::divided(const RecordedDetour& detour, std::span<const EntryDetails> details) {
  time(detour.start_ns);
  bytes_.number(detour.end_ns - detour.start_ns);
  bytes_.number(detour.tolerance_ns);
  bytes_.byte(
      static_cast<std::uint8_t>((detour.in_doubt ? kInDoubt : 0) | (detour.hypervisor_ns != 0 ? kHypervisor : 0) |
                                (detour.hardware_ns != 0 ? kHardware : 0) |
                                (detour.unexplained_ns != 0 ? kUnexplained : 0) | (details.empty() ? 0 : kDetails)));
  bytes_.number(detour.overhead_ns);
  for (const std::uint64_t ns : {detour.hypervisor_ns, detour.hardware_ns, detour.unexplained_ns}) {
    if (ns != 0) bytes_.number(ns);
  }
  if (details.empty()) return;
  // A text of texts: who does not want them passes over all at once. Entries are below 128: a byte each.
  std::size_t size = 0;
  for (const EntryDetails& each : details) size += each.text.size() + (each.text.size() < 0x80 ? 2 : 3);
  bytes_.number(size);
  for (const EntryDetails& each : details) {
    bytes_.byte(static_cast<std::uint8_t>(each.entry | (each.cut ? kCut : 0U)));
    bytes_.text(each.text);
  }
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

void RecordWriter::part(std::uint64_t lost_intervals, std::uint64_t lost_detours) {
  tag(RecordTag::part);
  bytes_.number(lost_intervals);
  bytes_.number(lost_detours);
}

std::uint64_t RecordReader::time() { return last_ns_[cpu_] = bytes_.distance(last_ns_[cpu_]); }

bool RecordReader::read_tag(RecordTag& tag) {
  const std::uint8_t number = bytes_.byte();
  if (number < static_cast<std::uint8_t>(RecordTag::source) || number > static_cast<std::uint8_t>(RecordTag::current)) {
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
  detour.overhead_ns = bytes_.number();
  detour.hypervisor_ns = (bits & kHypervisor) != 0 ? bytes_.number() : 0;
  detour.hardware_ns = (bits & kHardware) != 0 ? bytes_.number() : 0;
  detour.unexplained_ns = (bits & kUnexplained) != 0 ? bytes_.number() : 0;
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

bool next_details(ByteReader& from, EntryDetails& details) {
  if (!from.good() || from.at_end()) return false;
  const std::uint8_t entry = from.byte();
  details.entry = entry & (kCut - 1U);
  details.cut = (entry & kCut) != 0;
  details.text = from.text();
  return from.good();
}

}  // namespace noised
