// SPDX-License-Identifier: Apache-2.0
// What each remedy would have given back of what was measured, detour by detour. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advice/classifier.h"
#include "advice/remedies.h"
#include "advice/time_blocks.h"
#include "attribution/ledger.h"

namespace noised {

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
  void detour(std::size_t cpu, const Ledger& ledger, std::string_view details);
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
  [[nodiscard]] std::uint64_t hypervisor_ns() const { return hypervisor_ns_; }
  [[nodiscard]] std::uint64_t hardware_ns() const { return hardware_ns_; }
  [[nodiscard]] std::uint64_t unexplained_ns() const { return unexplained_ns_; }

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
  void add_parts(const Ledger& ledger, std::string_view details);
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
  std::uint64_t hypervisor_ns_ = 0;
  std::uint64_t hardware_ns_ = 0;
  std::uint64_t unexplained_ns_ = 0;
};

}  // namespace noised
