// SPDX-License-Identifier: Apache-2.0
// What each remedy would have given back of what was measured, detour by detour. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "account/attributor.h"
#include "analysis/advice/classifier.h"
#include "analysis/advice/remedies.h"
#include "model/ledger.h"

namespace noised::analysis {

// Sums over blocks of time, and what they say of how well a share is known. Pure.

/// Amounts by time since some beginning, in up to 64 blocks of one length, which doubles where they would not do: any
/// length of time has a bounded memory, and 33 to 64 blocks from 64 ms on.
class TimeBlocks {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kFirstNs = 1'000'000;

  /// Adds an amount to the block that has this time.
  void add(std::uint64_t at_ns, double amount);
  /// Adds a stretch of time to every block that has a part of it, that part in ns.
  void add_stretch(std::uint64_t start_ns, std::uint64_t end_ns);
  /// Makes blocks at least as long.
  void widen(std::uint64_t width_ns);

  [[nodiscard]] std::uint64_t width_ns() const { return width_ns_; }
  /// The sum of block `index`; 0 of one that was never added to.
  [[nodiscard]] double sum(std::size_t index) const { return index < sums_.size() ? sums_[index] : 0; }
  [[nodiscard]] std::size_t size() const { return sums_.size(); }

 private:
  std::vector<double> sums_;
  std::uint64_t width_ns_ = kFirstNs;
};

/// A share of time, and 95% limits of its mean over longer times that are like this one; none from fewer than 8 blocks.
struct Share {
  double value = 0;
  std::optional<double> low;  ///< not below 0
  std::optional<double> high;
};

/// amount / observed, both by block: the ratio estimator, blocks being a sample (Cochran 1977, equation 6.13 without
/// the finite population); `less` is taken off the amount, times `factor`.
Share share_of(TimeBlocks amount, TimeBlocks observed, TimeBlocks less = {}, double factor = 0);

/// Student's t for 95% of both sides; the expansion is right within 0.5% from 7 degrees of freedom on.
double students_t(std::size_t degrees);

/// What would be given back: the self time of entries that go, and the overhead of detours of which every entry goes.
/// Time of the hypervisor, the hardware and unexplained time stays in any case.
struct Relief {
  double ns = 0;
  std::uint64_t detours = 0;     ///< that would not be there at all
  std::uint64_t longest_ns = 0;  ///< given back of one detour
  TimeBlocks blocks;
};

struct SeenSource {
  std::uint64_t count = 0;
  std::uint64_t self_ns = 0;
};

/// All noise of one rule and object. self_ns + overhead_ns of all groups, the shared overhead, and the time of nobody's
/// are the detours.
struct NoiseGroup {
  RuleId rule = RuleId::no_remedy;
  std::string object;
  std::string task;
  std::vector<Remedy> remedies;
  std::uint64_t self_ns = 0;
  std::uint64_t overhead_ns = 0;           ///< of detours in which there is nothing else
  std::map<SourceId, SeenSource> sources;  ///< several names come to one rule
  std::map<std::string, std::uint64_t> senders;
  std::uint64_t ticks = 0;  ///< of rule tick: timer callbacks
  Relief relief;
  unsigned plans = 0;  ///< a bit for each Plan that has it
};

/// Sets of remedies that are still to be had.
enum class Plan : std::uint8_t {
  boot,           ///< isolation on the kernel's command line, where all of the noise is expected to go
  boot_at_most,   ///< also where no more than it can go
  every,          ///< all remedies, as above
  every_at_most,  ///< as above
};
inline constexpr std::size_t kPlanCount = 4;

class AdviceCollector {
 public:
  static constexpr std::size_t kMostGroups = 4096;  ///< what is beyond has no remedy
  static constexpr std::size_t kMostSenders = 16;   ///< names kept of one group

  /// Both must outlive this.
  AdviceCollector(const SourceTable& sources, const Machine& machine);

  /// What was recorded of a CPU begins; again where something is missing before what follows.
  void begins(std::size_t cpu, std::uint64_t first_ns);
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns);
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details);
  /// To be called once, after the last detour.
  void finish();

  [[nodiscard]] const std::vector<NoiseGroup>& groups() const { return groups_; }
  [[nodiscard]] const Relief& plan(Plan plan) const { return plans_[static_cast<std::size_t>(plan)]; }
  [[nodiscard]] const TimeBlocks& noise() const { return noise_; }
  /// Of it, what is in intervals and around them.
  [[nodiscard]] const TimeBlocks& caused() const { return caused_; }
  [[nodiscard]] const TimeBlocks& observed() const { return observed_; }
  [[nodiscard]] std::uint64_t detours() const { return detours_; }
  [[nodiscard]] std::uint64_t detour_ns() const { return detour_ns_; }
  [[nodiscard]] std::uint64_t shared_overhead_ns() const { return shared_overhead_ns_; }
  /// The ledgers of all detours, summed.
  [[nodiscard]] const Ledger& parts_of_all() const { return parts_of_all_; }

 private:
  struct Watched {
    bool begun = false;
    bool open = false;  // in a stretch of observed time
    std::uint64_t since_ns = 0;
    std::uint64_t until_ns = 0;
  };
  struct Part {
    std::size_t group;
    std::uint64_t self_ns;
  };
  std::size_t group_of(const Classifier::Entry& entry);
  [[nodiscard]] std::uint64_t offset(std::uint64_t ns) const { return ns - std::min(ns, start_ns_); }
  void close(Watched& cpu, std::uint64_t end_ns);
  static void see(Watched& cpu, const Detour& detour);
  void add_parts(const account::DetourLedger& ledger, std::string_view details);
  void relieve(Relief& relief, double ns, bool whole, std::uint64_t at_ns);

  const Machine& machine_;
  Classifier classifier_;
  std::vector<NoiseGroup> groups_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of groups, by rule and object
  std::vector<Part> parts_;                                  // of the detour at hand, by group
  std::array<Relief, kPlanCount> plans_;
  std::vector<Watched> cpus_;
  TimeBlocks noise_;
  TimeBlocks caused_;
  TimeBlocks observed_;
  std::uint64_t start_ns_ = UINT64_MAX;
  std::uint64_t detours_ = 0;
  std::uint64_t detour_ns_ = 0;
  std::uint64_t shared_overhead_ns_ = 0;
  Ledger parts_of_all_;
};

}  // namespace noised::analysis
