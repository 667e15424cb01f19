// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/replay_noise.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/projection/removal.h"
#include "base/cpus.h"
#include "base/text.h"
#include "model/json_parts.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "views/lost.h"
#include "views/views.h"

namespace noised::client {
namespace {

constexpr std::size_t kLongestThreadName = 15;
constexpr int kMostPriority = 99;
// 16 bytes each.
constexpr std::size_t kMostReplayed = 10'000'000;
// A real-time thread that has a CPU for longer is no noise: on many machines nobody could stop it.
constexpr std::uint64_t kLongestReplayedNs = 60'000'000'000;

/// The sources that were asked for, as they come to be known.
class ChosenSources {
 public:
  explicit ChosenSources(const std::vector<std::string>& texts) : texts_(texts), ids_(texts.size()) {}

  /// Those known by now. A recording names a source before the first event of it.
  const std::vector<SourceId>& among(const SourceTable& sources) {
    if (sources.size() == looked_at_) return known_;
    looked_at_ = sources.size();
    known_.clear();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::size_t colon = std::min(texts_[i].find(':'), texts_[i].size());
      const auto kind = kind_named(std::string_view(texts_[i]).substr(0, colon));
      if (!ids_[i] && kind && colon < texts_[i].size()) ids_[i] = sources.find(*kind, texts_[i].substr(colon + 1));
      if (ids_[i]) known_.push_back(*ids_[i]);
    }
    return known_;
  }
  /// One that none was; nothing: all were.
  [[nodiscard]] std::optional<std::string> missing() const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (!ids_[i]) return texts_[i];
    }
    return std::nullopt;
  }

 private:
  const std::vector<std::string>& texts_;
  std::vector<std::optional<SourceId>> ids_;
  std::vector<SourceId> known_;
  std::size_t looked_at_ = 0;
};

/// All detours by CPU, at their times since the first CPU was observed.
class DetourPlans : public recording::PlayerVisitor {
 public:
  DetourPlans(const recording::Playback& playback, const ReplayNoiseOptions& options)
      : playback_(playback),
        options_(options),
        chosen_(options.sources),
        plans_(playback.description().base.cpus.size()) {}

  void begins(std::size_t cpu, std::uint64_t first_ns) override { begin(playback_.recorded_from(cpu, first_ns)); }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    begin(ledger.detour.start_ns);
    const std::uint64_t length_ns = length_of(ledger);
    if (length_ns == 0 || too_many()) return;
    plans_[cpu].push_back({ledger.detour.start_ns, length_ns});
    ++count_;
  }

  [[nodiscard]] bool too_many() const { return count_ >= kMostReplayed; }
  [[nodiscard]] std::optional<std::string> missing() const { return chosen_.missing(); }
  /// Times since the begin, up to what is wanted.
  std::vector<std::vector<selftest::PlannedDetour>> take() {
    for (auto& plan : plans_) {
      for (selftest::PlannedDetour& each : plan) each.at_ns -= *first_ns_;
      if (!options_.duration_ns) continue;
      const std::uint64_t end_ns = *options_.duration_ns;
      std::erase_if(plan, [end_ns](const selftest::PlannedDetour& each) { return each.at_ns >= end_ns; });
      for (selftest::PlannedDetour& each : plan) each.length_ns = std::min(each.length_ns, end_ns - each.at_ns);
    }
    return std::move(plans_);
  }

 private:
  void begin(std::uint64_t ns) { first_ns_ = std::min(first_ns_.value_or(ns), ns); }
  std::uint64_t length_of(const account::DetourLedger& ledger) {
    if (options_.sources.empty()) return ledger.detour.end_ns - ledger.detour.start_ns;
    const std::vector<SourceId>& chosen = chosen_.among(playback_.sources());
    removal_.look_at(ledger);
    std::uint64_t length_ns = removal_.without(chosen);
    ledger.for_each_gap([&](Kind kind, std::uint64_t ns) {
      if (std::ranges::find(chosen, playback_.sources().gap(kind)) != chosen.end()) length_ns += ns;
    });
    return length_ns;
  }

  const recording::Playback& playback_;
  const ReplayNoiseOptions& options_;
  std::optional<std::uint64_t> first_ns_;
  ChosenSources chosen_;
  analysis::Removal removal_;
  std::vector<std::vector<selftest::PlannedDetour>> plans_;
  std::size_t count_ = 0;
};

/// What is too long, or too much, is no noise to be made.
Status check_replayed(const std::vector<std::vector<selftest::PlannedDetour>>& detours) {
  std::uint64_t longest_ns = 0;
  bool any = false;
  for (const auto& plan : detours) {
    any = any || !plan.empty();
    for (const selftest::PlannedDetour& each : plan) longest_ns = std::max(longest_ns, each.length_ns);
  }
  if (!any) return failure("there is no detour to make again", "choose other sources, or a longer --duration");
  if (longest_ns <= kLongestReplayedNs) return success();
  return failure(fmt::format("a detour lasts {}, and no CPU is taken for longer than {}",
                             views::format_duration(longest_ns), views::format_duration(kLongestReplayedNs)),
                 "choose a --duration that ends before it, or sources that are not in it");
}

std::string replayed_text(const selftest::ReplayedCpu& cpu) {
  std::string text = fmt::format("CPU {}: {} detours made", cpu.cpu, cpu.detours);
  if (cpu.detours != 0) {
    text += fmt::format(
        ", begun {} late (at most {}), {:+.0f} ns (± {:.0f}) longer than recorded, {} of them by 2% and more",
        views::format_duration(static_cast<std::uint64_t>(cpu.late_ns)), views::format_duration(cpu.most_late_ns),
        cpu.error_ns, cpu.error_deviation_ns, cpu.longer);
  }
  text += fmt::format("; waking up and going to sleep takes {} here", views::format_duration(cpu.ways_ns));
  if (cpu.too_short != 0) {
    text += fmt::format(": {} shorter ones, {} in all, were left out", cpu.too_short,
                        views::format_duration(cpu.too_short_ns));
  }
  return text + "\n";
}

Json replayed_json(const selftest::ReplayedCpu& cpu) {
  return {{"cpu", cpu.cpu},
          {"detours", cpu.detours},
          {"ways_ns", cpu.ways_ns},
          {"too_short", cpu.too_short},
          {"too_short_ns", cpu.too_short_ns},
          {"late_mean_ns", cpu.late_ns},
          {"late_max_ns", cpu.most_late_ns},
          {"error_mean_ns", cpu.error_ns},
          {"error_deviation_ns", cpu.error_deviation_ns},
          {"longer", cpu.longer}};
}

Status make_again(const ReplayNoiseOptions& options) {
  auto player = recording::Player::open(options.recording);
  if (!player) return player.error();
  auto plans = plan_replay(player.value(), options);
  if (!plans) return plans.error();
  const ReportLost lost = player.value().report().lost;
  if (views::anything_lost(lost))
    fmt::print(stderr, "noisectl: lost when it was recorded: {}\n", views::lost_text(lost));
  const auto done = selftest::replay_noise(plans.value(), options.priority, options.thread_name);
  if (!done) return done.error();
  Output output(stdout);
  Json cpus = Json::array();
  for (const selftest::ReplayedCpu& each : done.value()) {
    if (options.json) {
      cpus.push_back(replayed_json(each));
    } else {
      output.write(replayed_text(each));
    }
  }
  if (options.json)
    output.write(dump({{"schema", "noised.replayed/1"}, {"lost", lost_json(lost)}, {"cpus", std::move(cpus)}}) + "\n");
  return output.finish();
}

class ReplayNoiseCommand final : public CommandOf<ReplayNoiseOptions> {
 public:
  ReplayNoiseCommand() : CommandOf("replay-noise", "makes the detours of a recording again, on CPUs of this machine") {}

  void describe(CLI::App& sub) override {
    sub.add_option("RECORDING", options.recording, "whose detours")->required()->check(not_empty());
    sub.add_option("--cpus", cpus_,
                   "the CPUs that are to lose the time: the lowest for the recording's lowest, and so on")
        ->required()
        ->type_name("LIST");
    sub.add_option("--source", options.sources, "only what goes with this source, such as task:crond; may be repeated")
        ->allow_extra_args(false)
        ->type_name("KIND:NAME");
    add_duration(sub, duration_, "only the first so long");
    sub.add_option("--priority", options.priority, "of SCHED_FIFO")
        ->check(CLI::Range(1, kMostPriority))
        ->capture_default_str();
    sub.add_option("--name", options.thread_name, "what the threads are called")->capture_default_str();
    add_json(sub, options.json);
  }
  Status read() override {
    auto cpus = parse_cpu_list(cpus_);
    if (!cpus) return usage_error("--cpus: " + cpus.error().what, cpus.error().remedy);
    options.cpus = std::move(cpus).value();
    if (options.thread_name.empty() || options.thread_name.size() > kLongestThreadName)
      return usage_error("--name " + in_quotes(options.thread_name) + " has not 1 to 15 bytes", "give a shorter one");
    return read_duration(duration_, options.duration_ns);
  }
  [[nodiscard]] Status check_replay() const override {
    return usage_error("replay-noise: the recording comes after it",
                       "write noisectl replay-noise " + in_quotes(options.replay));
  }
  Status run() override { return make_again(options); }

 private:
  std::string cpus_;
  std::string duration_;
};

}  // namespace

Result<std::vector<selftest::ReplayPlan>> plan_replay(recording::Player& player, const ReplayNoiseOptions& options) {
  const recording::Playback& playback = player.playback();
  const std::size_t recorded = playback.description().base.cpus.size();
  if (playback.watches_tasks())
    return usage_error("the recording is of watched tasks: what they lost was no CPU's alone",
                       "record where loops measure, or import a list of detours");
  if (recorded != 1 && recorded != options.cpus.size()) {
    return usage_error(fmt::format("--cpus has {} CPUs, and the recording {}", options.cpus.size(), recorded),
                       "give as many");
  }
  DetourPlans visitor(playback, options);
  play_all(player, &visitor);
  if (Status whole = Measured::whole(player); !whole) return whole.error();
  if (visitor.too_many())
    return failure(fmt::format("there are more than {} detours", kMostReplayed),
                   "choose sources, or a shorter recording");
  if (const auto missing = visitor.missing()) {
    return usage_error("--source " + in_quotes(*missing) + ": none of it is in a detour there",
                       "'noisectl --replay FILE report' names those that are");
  }
  auto detours = visitor.take();
  if (Status good = check_replayed(detours); !good) return good.error();
  std::vector<selftest::ReplayPlan> plans;
  for (std::size_t i = 0; i < options.cpus.size(); ++i) {
    if (i < detours.size()) {
      plans.push_back({options.cpus[i], std::make_shared<std::vector<selftest::PlannedDetour>>(std::move(detours[i]))});
    } else {  // of the only CPU
      plans.push_back({options.cpus[i], plans.front().detours});
    }
  }
  return plans;
}

std::unique_ptr<Command> replay_noise_command() { return std::make_unique<ReplayNoiseCommand>(); }

}  // namespace noised::client
