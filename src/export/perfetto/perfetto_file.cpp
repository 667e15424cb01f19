// SPDX-License-Identifier: Apache-2.0
// The numbers are those of the fields in Perfetto's published schema.
#include "export/perfetto/perfetto_file.h"

#include "base/text.h"

namespace noised::exports {
namespace {

constexpr std::uint64_t kSequence = 1;
constexpr std::uint64_t kClockMonotonic = 3;
constexpr std::uint64_t kExplicitOrder = 3;
constexpr std::uint64_t kStateCleared = 1;
constexpr std::uint64_t kNeedsState = 2;
constexpr unsigned kBegin = 1;
constexpr unsigned kEnd = 2;
constexpr unsigned kInstant = 3;

namespace packet {
constexpr unsigned kClockSnapshot = 6;
constexpr unsigned kTimestamp = 8;
constexpr unsigned kSequenceId = 10;
constexpr unsigned kTrackEvent = 11;
constexpr unsigned kInternedData = 12;
constexpr unsigned kSequenceFlags = 13;
constexpr unsigned kDefaults = 59;
constexpr unsigned kTrackDescriptor = 60;
constexpr unsigned kTimestampClock = 58;  // of the defaults too
}  // namespace packet

namespace event_field {
constexpr unsigned kCategory = 3;
constexpr unsigned kType = 9;
constexpr unsigned kNameNumber = 10;
constexpr unsigned kTrack = 11;
constexpr unsigned kName = 23;
constexpr unsigned kFlow = 47;
}  // namespace event_field

namespace note_field {
constexpr unsigned kNameNumber = 1;
constexpr unsigned kTruth = 2;
constexpr unsigned kNumber = 3;
constexpr unsigned kReal = 5;
constexpr unsigned kText = 6;
constexpr unsigned kDictionary = 11;
constexpr unsigned kList = 12;
constexpr unsigned kTextNumber = 17;
}  // namespace note_field

}  // namespace

template <typename Value>
void PerfettoFile::Notes::note(std::string_view name, Value value) {
  file_.event_.message(field_, [&] {
    file_.event_.number(note_field::kNameNumber, file_.intern(file_.note_names_, name));
    value(file_.event_);
  });
}

void PerfettoFile::Notes::number(std::string_view name, std::uint64_t value) {
  note(name, [&](ProtobufWriter& to) { to.number(note_field::kNumber, value); });
}

void PerfettoFile::Notes::truth(std::string_view name, bool value) {
  note(name, [&](ProtobufWriter& to) { to.number(note_field::kTruth, value ? 1 : 0); });
}

void PerfettoFile::Notes::real(std::string_view name, double value) {
  note(name, [&](ProtobufWriter& to) { to.real(note_field::kReal, value); });
}

void PerfettoFile::Notes::text(std::string_view name, std::string_view value) {
  note(name, [&](ProtobufWriter& to) { to.text(note_field::kText, as_utf8(value)); });
}

void PerfettoFile::Notes::repeated_text(std::string_view name, std::string_view value) {
  note(name, [&](ProtobufWriter& to) { to.number(note_field::kTextNumber, file_.intern(file_.note_texts_, value)); });
}

void PerfettoFile::Notes::list(std::string_view name, std::size_t count,
                               const std::function<void(Notes&, std::size_t)>& item) {
  note(name, [&](ProtobufWriter& to) {
    Notes inner(file_);
    inner.field_ = note_field::kDictionary;
    for (std::size_t i = 0; i < count; ++i) {
      to.message(note_field::kList, [&] { item(inner, i); });
    }
  });
}

std::uint64_t PerfettoFile::intern(Interned& texts, std::string_view text) {
  const auto known = texts.numbers.find(text);
  if (known != texts.numbers.end()) return known->second;
  const std::uint64_t number = texts.numbers.size() + 1;
  texts.numbers.emplace(text, number);
  new_texts_.message(texts.field, [&] {
    new_texts_.number(1, number);
    new_texts_.text(2, as_utf8(text));
  });
  return number;
}

// Without a snapshot that says which clock is the trace's own, readers look for a way from CLOCK_MONOTONIC to
// CLOCK_BOOTTIME, and drop what they cannot translate.
void PerfettoFile::start(std::uint64_t at_ns) {
  started_ = true;
  packet_.number(packet::kSequenceId, kSequence);
  packet_.number(packet::kSequenceFlags, kStateCleared);
  packet_.message(packet::kDefaults, [&] { packet_.number(packet::kTimestampClock, kClockMonotonic); });
  packet_.message(packet::kClockSnapshot, [&] {
    packet_.message(1, [&] {
      packet_.number(1, kClockMonotonic);
      packet_.number(2, at_ns);
    });
    packet_.number(2, kClockMonotonic);
  });
  write_packet();
}

void PerfettoFile::write_packet() {
  ProtobufWriter trace;
  trace.text(1, packet_.bytes());
  file_.write(trace.bytes());
  packet_.clear();
}

void PerfettoFile::track(const PerfettoTrack& track) {
  packet_.number(packet::kSequenceId, kSequence);
  packet_.message(packet::kTrackDescriptor, [&] {
    packet_.number(1, track.id);
    packet_.text(2, as_utf8(track.name));
    if (track.parent != 0) packet_.number(5, track.parent);
    packet_.number(11, kExplicitOrder);
    packet_.number(12, track.rank);
    if (!track.description.empty()) packet_.text(14, as_utf8(track.description));
  });
  write_packet();
}

void PerfettoFile::event(unsigned type, std::uint64_t track, std::uint64_t at_ns, const Bar* bar,
                         const WriteNotes& notes) {
  if (!started_) start(at_ns);
  event_.number(event_field::kType, type);
  event_.number(event_field::kTrack, track);
  if (bar != nullptr) {
    if (bar->repeated) event_.number(event_field::kNameNumber, intern(names_, bar->name));
    if (!bar->repeated) event_.text(event_field::kName, as_utf8(bar->name));
    if (!bar->category.empty()) event_.number(event_field::kCategory, intern(categories_, bar->category));
    for (const std::uint64_t flow : bar->flows) event_.fixed(event_field::kFlow, flow);
  }
  Notes writer(*this);
  if (notes) notes(writer);
  packet_.number(packet::kTimestamp, at_ns);
  packet_.number(packet::kSequenceId, kSequence);
  packet_.number(packet::kSequenceFlags, kNeedsState);
  if (!new_texts_.empty()) packet_.text(packet::kInternedData, new_texts_.bytes());
  packet_.text(packet::kTrackEvent, event_.bytes());
  write_packet();
  event_.clear();
  new_texts_.clear();
}

void PerfettoFile::begin(std::uint64_t track, std::uint64_t at_ns, const Bar& bar, const WriteNotes& notes) {
  event(kBegin, track, at_ns, &bar, notes);
}

void PerfettoFile::end(std::uint64_t track, std::uint64_t at_ns) { event(kEnd, track, at_ns, nullptr, {}); }

void PerfettoFile::instant(std::uint64_t track, std::uint64_t at_ns, const Bar& bar, const WriteNotes& notes) {
  event(kInstant, track, at_ns, &bar, notes);
}

}  // namespace noised::exports
