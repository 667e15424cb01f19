// SPDX-License-Identifier: Apache-2.0
// The most recent detours, for readers that follow them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "account/attributor.h"
#include "account/task_run.h"
#include "model/sources.h"
#include "model/types.h"
#include "model/views.h"

namespace noised::account {

/// What can be told of an entry besides its source and time; the names are those of `detail` in JSON. The numbers are
/// in recordings: new ones go to the end.
enum class DetailKey : std::uint8_t {
  pid,
  waker,
  waker_pid,
  waker_cpu,
  waker_context,
  mover,
  mover_pid,
  mover_cpu,
  mover_context,
  service,
  work,
  sender,
  sender_pid,
  sender_cpu,
  sender_context,
  sender_code,
  function,
  sends,
  address,
  ip,
};
std::string_view to_string(DetailKey key);
/// True if what it tells is the name of a task.
constexpr bool is_name_of_task(DetailKey key) {
  return key == DetailKey::waker || key == DetailKey::mover || key == DetailKey::sender;
}
/// The same by its name.
bool is_name_of_task(std::string_view key);

/// A ledger in a fixed space. One with more entries than fit is summed by source, so that it still adds up.
struct FeedDetour {
  static constexpr std::size_t kEntries = 32;
  static constexpr std::size_t kText = 800;  // of all details; what does not fit is left out, and that is shown

  struct Entry {
    SourceId source = 0;
    std::uint8_t depth = 0;
    std::uint8_t flags = 0;
    bool cut = false;             ///< a detail had no room
    std::uint32_t intervals = 1;  ///< how many were summed here
    std::uint16_t text_at = 0;    ///< of its details in `text`: key, length, bytes
    std::uint16_t text_size = 0;
    std::uint64_t self_ns = 0;
  };

  unsigned cpu = 0;
  std::uint32_t victim_pid = 0;  ///< of the task that lost this time, where tasks are watched; 0: the loop did
  SourceId victim = 0;           ///< its name
  LossKind loss = LossKind::interrupted;
  bool incomplete = false;
  std::uint16_t size = 0;
  std::uint16_t text_size = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t overhead_ns = 0;
  std::array<Entry, kEntries> entries{};
  std::array<char, kText> text{};

  FeedDetour() = default;
  ~FeedDetour() = default;
  FeedDetour(const FeedDetour& other) { *this = other; }
  /// Copies what is used: 100 of 1,700 bytes where one source took the time.
  FeedDetour& operator=(const FeedDetour& other);

  /// Adds a detail to the newest entry; empty values are left out.
  void add_detail(DetailKey key, std::string_view value);
  void add_detail(DetailKey key, std::uint64_t value);
  /// Adds all details of another newest entry, from its part of `text`; false if that makes no sense.
  bool add_details(std::string_view packed);
};
static_assert(sizeof(FeedDetour) <= 1712, "3,072 of them, 5.2 MB, are held");

/// Tells the details of an entry of the ledger by calling add_detail().
using DescribeEntry = std::function<void(const DetourLedger& ledger, std::size_t index, FeedDetour& detour)>;

/// Copies a ledger to `detour`, whatever that was; time outside intervals becomes entries of kind hypervisor, hardware
/// or unexplained. Where entries are summed they have no details.
void to_feed(unsigned cpu, const DetourLedger& ledger, const SourceTable& sources, const DescribeEntry& describe,
             FeedDetour& detour);

/// The detour with its names.
DetourView to_view(const FeedDetour& detour, const SourceTable& sources);

class LongestDetours;

/// The pipeline adds without ever waiting; readers copy out at their own pace and learn how many they missed.
class DetourFeed {
 public:
  // A host was seen to strike 24,000 times a second: 600 detours in a drain of 25 ms.
  static constexpr std::size_t kStaged = 1024;

  /// Keeps twice as many detours as it takes in one drain, and the longest of each of about so many CPUs.
  explicit DetourFeed(std::size_t a_drain = kStaged, std::size_t cpus = 1);
  ~DetourFeed();
  DetourFeed(const DetourFeed&) = delete;
  DetourFeed& operator=(const DetourFeed&) = delete;
  /// Pipeline: where to write the next detour; it holds an older one. When more come in one drain than it takes, the
  /// oldest of them are not shown, but counted.
  FeedDetour& stage();
  /// Pipeline: this one, which was staged, is whole. If it is one of the longest, it is kept for good.
  void note(const FeedDetour& detour);
  /// Pipeline: calls `visit` for each source of the longest: as long as they are kept, so are their names.
  void for_each_longest_source(const std::function<void(SourceId)>& visit) const;
  /// Pipeline: the share of its room that was staged since the last commit(); above 1, some will not be shown.
  [[nodiscard]] double staged_share() const {
    return static_cast<double>(staged_count_) / static_cast<double>(staged_.size());
  }
  /// Pipeline, once a drain: hands the staged over, unless a reader holds the lock; then with the next.
  void commit();

  struct Batch {
    std::vector<FeedDetour> detours;
    std::uint64_t next = 0;  ///< position to read from next
    std::uint64_t lost = 0;  ///< detours between `from` and the first of these that are gone
  };
  /// Reader: at most `limit` detours from position `from` on (0: the oldest kept).
  Batch read(std::uint64_t from, std::size_t limit);
  /// Reader: the longest of all CPUs since the start, the longest first, at most so many.
  std::vector<FeedDetour> longest(std::size_t count);
  /// Reader: the position after the newest detour.
  std::uint64_t end();

 private:
  std::unique_ptr<LongestDetours> longest_;
  std::vector<FeedDetour> staged_;
  std::size_t staged_next_ = 0;     // where the next goes
  std::uint64_t staged_count_ = 0;  // since the last commit
  std::mutex mutex_;
  std::vector<FeedDetour> kept_;            // ring; position p is kept_[p % kept_.size()]
  std::vector<std::uint64_t> position_of_;  // which position each slot holds, plus one; 0: none
  std::uint64_t end_ = 0;                   // positions run over lost detours too
};

}  // namespace noised::account
