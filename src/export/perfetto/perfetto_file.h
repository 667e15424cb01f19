// SPDX-License-Identifier: Apache-2.0
// A trace file of Perfetto: a sequence of TracePacket messages (protos/perfetto/trace/trace_packet.proto there).
#pragma once

#include <noised/result.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/new_file.h"
#include "export/protobuf.h"

namespace noised {

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

}  // namespace noised
