// SPDX-License-Identifier: Apache-2.0
// A trace file of Perfetto: a sequence of TracePacket messages (protos/perfetto/trace/trace_packet.proto there).
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/new_file.h"

namespace noised::exports {

// The wire format of protocol buffers, as much of it as is written here.

/// Appends fields to a message. Field numbers are those of the message's schema.
class ProtobufWriter {
 public:
  /// uint64, uint32, bool and enum fields.
  void number(unsigned field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
  }
  /// fixed64 fields.
  void fixed(unsigned field, std::uint64_t value) {
    static_assert(std::endian::native == std::endian::little);
    tag(field, kFixed64);
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    bytes_.append(bytes, sizeof(bytes));
  }
  /// double fields.
  void real(unsigned field, double value) { fixed(field, std::bit_cast<std::uint64_t>(value)); }
  /// string fields, whose value must be UTF-8, and messages that were written elsewhere.
  void text(unsigned field, std::string_view value) {
    tag(field, kLengthDelimited);
    varint(value.size());
    bytes_ += value;
  }
  /// Message fields: `fill` writes the fields of the inner message to this writer.
  template <typename Fill>
  void message(unsigned field, Fill fill) {
    tag(field, kLengthDelimited);
    const std::size_t at = bytes_.size();
    bytes_.append(kLengthBytes, '\0');
    fill();
    set_length(at, bytes_.size() - at - kLengthBytes);
  }

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  static constexpr unsigned kVarint = 0;
  static constexpr unsigned kFixed64 = 1;
  static constexpr unsigned kLengthDelimited = 2;
  // A length of four bytes is valid whatever it is, so that it can be filled in afterwards.
  static constexpr std::size_t kLengthBytes = 4;

  void tag(unsigned field, unsigned type) { varint(std::uint64_t{field} << 3U | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    bytes_.push_back(static_cast<char>(value));
  }
  void set_length(std::size_t at, std::size_t length) {
    assert(length < std::size_t{1} << (7 * kLengthBytes));
    for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 7U) {
      bytes_[at + i] = static_cast<char>((length & 0x7fU) | (i + 1 < kLengthBytes ? 0x80U : 0));
    }
  }

  std::string bytes_;
};

/// A row of the viewer, or a group of rows.
struct PerfettoTrack {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  ///< 0: none
  std::string name;
  unsigned rank = 0;        ///< among the tracks of its parent
  std::string description;  ///< a sentence for those who ask; may be empty
};

class PerfettoFile {
 public:
  /// Writes what a bar shows when it is selected. Texts may be anything: they are written as UTF-8.
  class Notes {
   public:
    explicit Notes(PerfettoFile& file) : file_(file) {}
    void number(std::string_view name, std::uint64_t value);
    void truth(std::string_view name, bool value);
    void real(std::string_view name, double value);
    void text(std::string_view name, std::string_view value);
    /// A text that comes again and again: only its first time takes room.
    void repeated_text(std::string_view name, std::string_view value);
    /// `count` items, each written by `item`, which is told which.
    void list(std::string_view name, std::size_t count, const std::function<void(Notes&, std::size_t)>& item);

   private:
    template <typename Value>
    void note(std::string_view name, Value value);

    PerfettoFile& file_;
    unsigned field_ = 4;  // TrackEvent.debug_annotations; of an item: DebugAnnotation.dict_entries
  };

  /// What a bar says besides its notes.
  struct Bar {
    std::string_view name;
    std::string_view category;           ///< empty: none
    bool repeated = true;                ///< the name comes again and again
    std::vector<std::uint64_t> flows{};  ///< the arrows that it is an end of
  };
  using WriteNotes = std::function<void(Notes& notes)>;

  explicit PerfettoFile(NewFile file) : file_(std::move(file)) {}

  /// Describes a track; before its first bar.
  void track(const PerfettoTrack& track);
  /// Begins a bar. Those of one track end in the reverse order of their beginning.
  void begin(std::uint64_t track, std::uint64_t at_ns, const Bar& bar, const WriteNotes& notes = {});
  /// Ends the bar of the track that began last.
  void end(std::uint64_t track, std::uint64_t at_ns);
  /// A point in time.
  void instant(std::uint64_t track, std::uint64_t at_ns, const Bar& bar, const WriteNotes& notes = {});

  [[nodiscard]] bool good() const { return file_.good(); }
  /// An error names the file and errno.
  Status finish() {
    Status finished = file_.finish();
    if (finished) file_.keep();
    return finished;
  }

 private:
  // The texts that InternedData has in one of its fields, with the numbers that stand for them.
  struct Interned {
    unsigned field;
    std::map<std::string, std::uint64_t, std::less<>> numbers{};
  };

  std::uint64_t intern(Interned& texts, std::string_view text);
  void event(unsigned type, std::uint64_t track, std::uint64_t at_ns, const Bar* bar, const WriteNotes& notes);
  void start(std::uint64_t at_ns);
  void write_packet();

  NewFile file_;
  ProtobufWriter packet_;
  ProtobufWriter event_;
  ProtobufWriter new_texts_;
  Interned categories_{1};
  Interned names_{2};
  Interned note_names_{3};
  Interned note_texts_{29};
  bool started_ = false;
};

}  // namespace noised::exports
