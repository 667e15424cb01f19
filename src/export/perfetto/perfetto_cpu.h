// SPDX-License-Identifier: Apache-2.0
// One CPU in a trace of Perfetto: a group with a row for its detours, one for each category of its intervals, and one
// for the time in which nobody looked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "account/attributor.h"
#include "export/lanes.h"
#include "export/perfetto/perfetto_file.h"
#include "model/sources.h"
#include "model/types.h"

namespace noised::exports {

// What a bar tells of a ledger: its name, and its parts beside it.

/// The name of the largest part: a source, "overhead", "hypervisor", "hardware" or "unexplained".
std::string largest_part(const account::DetourLedger& ledger, const SourceTable& sources);

/// Notes what else is known of an entry.
using NoteEntry = std::function<void(PerfettoFile::Notes& notes, std::size_t entry)>;
/// Notes all parts, and whether something was lost.
void note_ledger(const account::DetourLedger& ledger, const SourceTable& sources, const NoteEntry& more,
                 PerfettoFile::Notes& notes);

/// A row whose bars nest, and as many more under the same name as are needed where they do not.
class PerfettoRow {
 public:
  PerfettoRow(PerfettoFile& file, PerfettoTrack track) : file_(&file), track_(std::move(track)) {}

  /// Draws a bar; false if more overlap than there are lanes for.
  bool bar(std::uint64_t start_ns, std::uint64_t end_ns, const PerfettoFile::Bar& bar,
           const PerfettoFile::WriteNotes& notes);
  /// Ends everything that is open.
  void finish();

 private:
  PerfettoFile* file_;
  PerfettoTrack track_;
  Lanes lanes_;
  std::size_t described_ = 0;
};

/// What several CPUs share: what one did to another is drawn at both.
class PerfettoActors {
 public:
  explicit PerfettoActors(PerfettoFile& file) : file_(file) {}

  /// The id of a CPU's group, which is described the first time: those of watched CPUs before anybody acts.
  std::uint64_t group(unsigned cpu, bool watched);
  /// Draws a point at a CPU that did something; the number of the arrow that begins there.
  std::uint64_t act(unsigned cpu, std::uint64_t at_ns, std::string_view name, const PerfettoFile::WriteNotes& notes);

 private:
  PerfettoFile& file_;
  std::set<unsigned> groups_;
  std::set<unsigned> rows_;
  std::uint64_t last_flow_ = 0;
};

class PerfettoCpu {
 public:
  PerfettoCpu(PerfettoFile& file, PerfettoActors& actors, const SourceTable& sources, unsigned cpu);

  void interval(const Interval& interval);
  void detour(const account::DetourLedger& ledger, std::string_view details);
  void not_observed(std::uint64_t start_ns, std::uint64_t end_ns);
  /// Draws what is still held.
  void finish();
  /// Intervals that could not be drawn: too many overlapped each other.
  [[nodiscard]] std::uint64_t not_drawn() const { return not_drawn_; }

 private:
  using Details = std::vector<std::pair<std::string_view, std::string_view>>;
  // An entry of the ledger about which more is known than the interval tells.
  struct Known {
    std::size_t index;
    account::LedgerEntry entry;
    Details details;
  };

  void draw(const Interval& interval);
  void draw_detour(const account::DetourLedger& ledger);
  std::vector<std::uint64_t> draw_actors(const Interval& interval, const Details& details);
  PerfettoRow& row_of(Category category);

  PerfettoFile& file_;
  PerfettoActors& actors_;
  const SourceTable& sources_;
  unsigned cpu_;
  std::uint64_t group_;
  PerfettoRow detours_;
  PerfettoRow not_observed_;
  std::array<std::optional<PerfettoRow>, kCategoryCount> rows_;
  IntervalOrder order_;
  std::uint64_t detour_start_ns_ = 0;
  std::vector<Known> known_;  // of the detour that is being drawn
  std::uint64_t not_drawn_ = 0;
};

}  // namespace noised::exports
