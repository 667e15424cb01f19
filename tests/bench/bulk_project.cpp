// SPDX-License-Identifier: Apache-2.0
// The projection of a node whose CPUs were recorded one after the other, in several pieces, as noisectl project makes
// it of what was recorded together; and, to tell the model's errors from the recordings', the job itself played over
// their detours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analysis/projection/barrier.h"
#include "analysis/projection/projection.h"
#include "noisectl/client/measured.h"
#include "noisectl/commands/project.h"
#include "recording/player.h"
#include "replayed_job.h"
#include "views/projection.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;
using namespace noised::recording;

namespace {

void must(bool done, const std::string& what) {
  if (done) return;
  fmt::print(stderr, "bench_bulk_project: {}\n", what);
  std::exit(1);
}

/// The first CPU of each recording, as if one had been recorded after the other.
class Joined : public client::ObservedVisitor {
 public:
  Joined(const Playback& playback, NodePhases& phases, std::size_t place, bench::Detours& detours)
      : ObservedVisitor(playback), phases_(phases), place_(place), detours_(detours) {}

 protected:
  void begin_stretch(std::size_t cpu, std::uint64_t first_ns) override {
    if (cpu != 0) return;
    first_ns_ = first_ns;
    phases_.begin(place_, first_ns);
  }
  void add(std::size_t cpu, const DetourLedger& ledger) override {
    if (cpu != 0) return;
    phases_.add(place_, ledger);
    const std::uint64_t before_ns = detours_.all.empty() ? 0 : detours_.all.back().end_ns;
    Detour detour = ledger.detour;
    detour.start_ns = std::max(placed(detour.start_ns), before_ns);
    detour.end_ns = placed(detour.end_ns);
    if (detour.end_ns > detour.start_ns) detours_.all.push_back(detour);
  }
  void end_stretch(std::size_t cpu, std::uint64_t last_ns) override {
    if (cpu != 0) return;
    phases_.end(place_, last_ns);
    detours_.length_ns += last_ns - first_ns_;
  }

 private:
  [[nodiscard]] std::uint64_t placed(std::uint64_t time_ns) const {
    return detours_.length_ns + (std::max(time_ns, first_ns_) - first_ns_);
  }

  NodePhases& phases_;
  std::size_t place_;
  bench::Detours& detours_;
  std::uint64_t first_ns_ = 0;
};

Player open(const std::string& path) {
  auto player = Player::open(path);
  must(player.ok(), path + " cannot be played");
  return std::move(player).value();
}

/// One CPU, from recordings of it alone: FILE, or FILE,FILE...
class Recorded {
 public:
  explicit Recorded(const std::string& list) {
    std::istringstream words(list);
    for (std::string path; std::getline(words, path, ',');) paths_.push_back(path);
    for (const std::string& path : paths_) {
      Player player = open(path);
      client::ObservedTotals totals(player.playback());
      client::play_all(player, &totals);
      totals.finish();
      cpu_.observed_ns += totals.observed_ns(0);
    }
  }
  void play(NodePhases& phases, std::size_t place) {
    for (const std::string& path : paths_) {
      Player player = open(path);
      Joined joined(player.playback(), phases, place, detours_);
      client::play_all(player, &joined);
      joined.finish();
      cpu_.cpu = player.playback().cpu_number(0);
      report_ = player.report();
    }
  }

  [[nodiscard]] const ProjectedCpu& cpu() const { return cpu_; }
  [[nodiscard]] const bench::Detours& detours() const { return detours_; }
  [[nodiscard]] const Report& report() const { return report_; }

 private:
  std::vector<std::string> paths_;
  ProjectedCpu cpu_;
  bench::Detours detours_;
  Report report_;
};

/// The slowdown, less 1, of a job whose phases begin anywhere, not where a barrier lets them.
Estimate anywhere(const ProjectionInput& input, double nodes) {
  constexpr std::size_t kBlocks = ExcessBlocks::kBlocks;
  const auto grain = static_cast<double>(input.grain_ns);
  DelayCurve whole;
  std::vector<DelayCurve> without(kBlocks);
  std::uint64_t starts_ns = UINT64_MAX;
  for (std::size_t cpu = 0; cpu < input.cpus.size(); ++cpu) {
    const std::vector<Excess>& blocks = input.phases->whole().cpu(cpu).blocks();
    const Excess all = input.phases->whole().cpu(cpu).of_age();
    whole.add(DelayTail(all, nullptr));
    for (std::size_t i = 0; i < kBlocks; ++i) without[i].add(DelayTail(all, &blocks[i]));
    starts_ns = std::min(starts_ns, input.phases->whole().cpu(cpu).starts_ns());
  }
  std::vector<double> values;
  for (const DelayCurve& curve : without) values.push_back(curve.expected_excess_ns(nodes) / grain);
  const double value = whole.expected_excess_ns(nodes) / grain;
  const Sample sample{starts_ns, static_cast<double>(starts_ns) / (nodes * grain * (1 + value))};
  return estimate(value, values, sample);
}

std::string in_json(const Estimate& excess) {
  if (!excess.value) return R"({"value": null, "low": null, "high": null})";
  return fmt::format(R"({{"value": {:.6f}, "low": {:.6f}, "high": {:.6f}}})", 1 + *excess.value, 1 + *excess.low,
                     1 + *excess.high);
}

}  // namespace

// GRAIN_NS NODES FILE,FILE...: a line of JSON as of noisectl project, one with the slowdown of phases that begin
// anywhere, and one with that of the job that was played.
int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto grain_ns = static_cast<std::uint64_t>(std::strtod(argv[1], nullptr));
  const auto nodes = client::parse_nodes(argv[2]);
  must(grain_ns > 0 && nodes.ok(), "a grain and a list of nodes, please");
  std::vector<std::unique_ptr<Recorded>> recorded;
  std::vector<std::uint64_t> observed_ns;
  for (int i = 3; i < argc; ++i) {
    recorded.push_back(std::make_unique<Recorded>(argv[i]));
    observed_ns.push_back(recorded.back()->cpu().observed_ns);
  }
  // Never all at once: the projection takes them as independent, as they were recorded.
  NodePhases phases(grain_ns, observed_ns, 0, {});
  for (std::size_t i = 0; i < recorded.size(); ++i) recorded[i]->play(phases, i);

  views::ProjectionView view;
  ProjectionInput input{grain_ns, nodes.value(), {}, {}};
  input.phases = &phases;
  std::vector<bench::Detours> cpus;
  for (const auto& each : recorded) {
    input.cpus.push_back(each->cpu());
    cpus.push_back(each->detours());
  }
  view.projection = project(input);
  view.report = recorded.back()->report();
  fmt::print("{}\n", views::to_json(view));
  std::vector<std::string> begun_anywhere;
  std::vector<std::string> played;
  for (const std::uint64_t size : nodes.value()) {
    begun_anywhere.push_back(in_json(anywhere(input, static_cast<double>(size))));
    played.push_back(in_json(bench::replay_job(cpus, size, grain_ns)));
  }
  fmt::print("[{}]\n[{}]\n", fmt::join(begun_anywhere, ", "), fmt::join(played, ", "));
  return 0;
}
