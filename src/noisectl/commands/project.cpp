// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/project.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "views/phases.h"
#include "views/projection.h"

namespace noised::client {
namespace {

constexpr std::uint64_t kMostNodes = 1'000'000'000;
constexpr std::size_t kMostSizes = 64;
constexpr std::size_t kMostDelays = 16;
constexpr double kMostPercent = 1e5;

std::optional<std::uint64_t> parse_size_of_job(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value == 0 || value > kMostNodes)
    return std::nullopt;
  return value;
}

/// Goes on from the last two of `sizes`, by their ratio, to below `last`; false where that makes no sense.
bool continue_to(std::uint64_t last, std::vector<std::uint64_t>& sizes) {
  if (sizes.size() < 2) return false;
  const double ratio = static_cast<double>(sizes.back()) / static_cast<double>(sizes[sizes.size() - 2]);
  if (ratio <= 1) return false;
  double next = static_cast<double>(sizes.back()) * ratio;
  while (next < static_cast<double>(last) - 0.5) {
    if (sizes.size() >= kMostSizes) return false;
    sizes.push_back(static_cast<std::uint64_t>(std::llround(next)));
    next *= ratio;
  }
  return true;
}

}  // namespace

Result<std::vector<std::uint64_t>> parse_nodes(std::string_view text) {
  const Error error = usage_error("--nodes " + std::string(text) + " is no list of at most 64 sizes from 1 to 10^9",
                                  "give such as 1,10,...,1000000");
  std::vector<std::uint64_t> sizes;
  bool left_out = false;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    at = comma + 1;
    if (part == "..." && !left_out) {
      left_out = true;
      continue;
    }
    const auto size = parse_size_of_job(part);
    if (!size || (left_out && !continue_to(*size, sizes))) return error;
    left_out = false;
    sizes.push_back(*size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (left_out || sizes.size() > kMostSizes) return error;
  return sizes;
}

Result<std::vector<double>> parse_delays(std::string_view text) {
  const Error error = usage_error("--delay " + in_quotes(text) + " is no list of at most 16 shares of the grain",
                                  std::string("give such as ") + kUsualDelayText);
  std::vector<double> shares;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    at = comma + 1;
    double percent = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), percent);
    const bool is_percent = problem == std::errc() && end + 1 == part.data() + part.size() && *end == '%';
    if (!is_percent || !(percent >= 0) || percent > kMostPercent) return error;
    shares.push_back(percent / 100);
  }
  std::sort(shares.begin(), shares.end());
  shares.erase(std::unique(shares.begin(), shares.end()), shares.end());
  if (shares.size() > kMostDelays) return error;
  return shares;
}

void ObservedVisitor::open(std::size_t cpu, std::uint64_t first_ns) {
  Seen& seen = cpus_[cpu];
  seen.open = true;
  seen.first_ns = seen.last_ns = std::max(first_ns, seen.last_ns);
  begin_stretch(cpu, seen.first_ns);
}

void ObservedVisitor::close(std::size_t cpu, std::uint64_t last_ns) {
  Seen& seen = cpus_[cpu];
  if (!seen.open) return;
  seen.open = false;
  seen.last_ns = std::max(seen.last_ns, last_ns);
  seen.observed_ns += seen.last_ns - seen.first_ns;
  end_stretch(cpu, seen.last_ns);
}

void ObservedVisitor::begins(std::size_t cpu, std::uint64_t first_ns) {
  Seen& seen = cpus_[cpu];
  if (seen.begun) {  // a new part: what it is the first to tell, opens it
    close(cpu, seen.last_ns);
    seen.parts = true;
    return;
  }
  seen.begun = true;
  open(cpu, playback_.recorded_from(cpu, first_ns));
}

void ObservedVisitor::detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) {
  if (!cpus_[cpu].open) open(cpu, ledger.detour.start_ns);
  add(cpu, ledger);
  cpus_[cpu].last_ns = std::max(cpus_[cpu].last_ns, ledger.detour.end_ns);
}

void ObservedVisitor::gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  close(cpu, start_ns);
  open(cpu, end_ns);
}

void ObservedVisitor::sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t /*iterations*/) {
  Seen& seen = cpus_[cpu];
  if (seen.open) seen.last_ns = std::max(seen.last_ns, end_ns);
}

// As long as the counts say that it was observed, but not beyond the last time that they were taken.
std::uint64_t ObservedVisitor::end_of(std::size_t cpu) const {
  const Seen& seen = cpus_[cpu];
  const recording::Counts& counts = playback_.counts();
  const std::uint64_t known_ns = seen.observed_ns + (seen.last_ns - seen.first_ns);
  const std::uint64_t observed_ns = counts.cpus[cpu].observed_ns;
  if (seen.parts || observed_ns <= known_ns || counts.clock.monotonic_ns <= seen.last_ns) return seen.last_ns;
  return seen.last_ns + std::min(observed_ns - known_ns, counts.clock.monotonic_ns - seen.last_ns);
}

void ObservedVisitor::finish() {
  for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    if (cpus_[cpu].open) close(cpu, end_of(cpu));
  }
}

void ObservedTotals::end_stretch(std::size_t cpu, std::uint64_t last_ns) {
  Total& total = cpus_[cpu];
  total.observed_ns += last_ns - total.first_ns;
  total.longest_ns = std::max(total.longest_ns, last_ns - total.first_ns);
}

PhasesVisitor::PhasesVisitor(const recording::Playback& playback, const ObservedTotals& totals, std::uint64_t grain_ns,
                             std::span<const analysis::RemovableSource> sources,
                             std::span<const analysis::AfterCost> after)
    : ObservedVisitor(playback), places_(cpus(), kNone), after_(after, playback.sources()) {
  std::vector<std::uint64_t> observed_ns;
  for (std::size_t cpu = 0; cpu < cpus(); ++cpu) {
    if (totals.longest_ns(cpu) <= grain_ns) continue;
    places_[cpu] = observed_ns.size();
    observed_ns.push_back(totals.observed_ns(cpu));
  }
  const auto least = std::min_element(observed_ns.begin(), observed_ns.end());
  phases_.emplace(grain_ns, observed_ns, least == observed_ns.end() ? 0 : *least, sources,
                  after.empty() ? nullptr : &after_);
}

void PhasesVisitor::begin_stretch(std::size_t cpu, std::uint64_t first_ns) {
  if (has(cpu)) phases_->begin(places_[cpu], first_ns);
}

void PhasesVisitor::add(std::size_t cpu, const account::DetourLedger& ledger) {
  if (has(cpu)) phases_->add(places_[cpu], ledger);
}

void PhasesVisitor::end_stretch(std::size_t cpu, std::uint64_t last_ns) {
  if (has(cpu)) phases_->end(places_[cpu], last_ns);
}

views::ProjectionView projection_of(analysis::ProjectionInput input, const ObservedTotals& totals,
                                    const PhasesVisitor& phases, const recording::Playback& playback) {
  views::ProjectionView view;
  std::vector<unsigned> left_out;
  for (std::size_t cpu = 0; cpu < playback.description().base.cpus.size(); ++cpu) {
    if (phases.has(cpu)) {
      input.cpus.push_back({playback.cpu_number(cpu), totals.observed_ns(cpu)});
    } else {
      left_out.push_back(playback.cpu_number(cpu));
    }
    view.longest_stretch_ns = std::max(view.longest_stretch_ns, totals.longest_ns(cpu));
  }
  input.phases = &phases.phases();
  view.projection = analysis::project(input);
  std::vector<unsigned>& none = view.projection.left_out;
  none.insert(none.end(), left_out.begin(), left_out.end());
  std::sort(none.begin(), none.end());
  view.all_sources = totals.sources().timed(playback.sources());
  view.untimed = totals.sources().untimed(playback.sources());
  return view;
}

namespace {

// Each source costs 60 ns a detour of one CPU, and 320 ns where CPUs are taken together (2 million detours of four: 13
// s with 20 sources); in 24 blocks of time some 10 KB a CPU, 250 MB at most; and 256 MiB at most for CPUs that wait for
// others.
constexpr std::size_t kMostSources = 20;
constexpr std::size_t kLeastSources = 4;
constexpr std::size_t kMostOfAllCpus = 1024;

std::size_t most_sources(std::size_t cpus) {
  return std::clamp(kMostOfAllCpus / std::max<std::size_t>(cpus, 1), kLeastSources, kMostSources);
}

constexpr std::size_t kLargestCosts = std::size_t{16} << 20U;

Result<views::PhaseAfterCosts> read_indirect(const std::string& path) {
  if (path.empty()) return views::PhaseAfterCosts();
  const auto text = read_file(path, kLargestCosts);
  if (!text) return usage_error("--indirect: " + text.error().what, "make it with 'noisectl phases --json'");
  auto costs = views::parse_after_costs(text.value());
  if (!costs) return usage_error("--indirect " + path + ": " + costs.error().what, costs.error().remedy);
  if (costs.value().costs.empty())
    return usage_error("--indirect " + path + ": it has no cost of the work behind a source",
                       "measure phases for longer");
  return costs;
}

Status run_project(const ProjectOptions& options) {
  const auto indirect = read_indirect(options.indirect);
  if (!indirect) return indirect.error();
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto first = measured.value().play();
  if (!first) return first.error();
  const recording::Playback& counted = first.value().playback();
  ObservedTotals totals(counted);
  play_all(first.value(), &totals);
  totals.finish();
  const std::size_t cpus = counted.description().base.cpus.size();

  analysis::ProjectionInput input{options.projected_grain_ns, options.nodes, {}, {}};
  input.delays = options.delays;
  input.sources = totals.sources().choose(most_sources(cpus), counted.sources());
  auto second = measured.value().play();
  if (!second) return second.error();
  recording::Player& player = second.value();
  PhasesVisitor phases(player.playback(), totals, options.projected_grain_ns, input.sources, indirect.value().costs);
  play_all(player, &phases);
  phases.finish();

  views::ProjectionView view = projection_of(std::move(input), totals, phases, player.playback());
  view.report = player.report();
  if (!options.indirect.empty())
    view.indirect = views::AddedIndirect{options.indirect, phases.after(), indirect.value().unknown};
  Output output(stdout);
  output.write(options.json ? views::to_json(view) + "\n" : views::to_text(view));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

class ProjectCommand final : public MeasuredCommand<ProjectOptions> {
 public:
  ProjectCommand() : MeasuredCommand("project", "what this noise costs a job on many nodes") {}

  void describe(CLI::App& sub) override {
    MeasuredCommand::describe(sub);
    sub.add_option("--grain", grain_, "time that the job computes between two barriers")->required()->type_name("TIME");
    sub.add_option("--nodes", nodes_, "sizes of the job, such as 1,10,...,1000000")
        ->capture_default_str()
        ->type_name("LIST");
    add_delays(sub, delays_);
    sub.add_option(
           "--indirect", options.indirect,
           "make each detour longer by what it costs the work behind it, as 'noisectl phases --json' printed it")
        ->check(not_empty())
        ->type_name("FILE");
    add_json(sub, options.json);
  }
  Status read() override {
    if (Status read = read_grain(grain_, options.projected_grain_ns); !read) return read;
    auto nodes = parse_nodes(nodes_);
    if (!nodes) return nodes.error();
    options.nodes = std::move(nodes).value();
    auto delays = parse_delays(delays_);
    if (!delays) return delays.error();
    options.delays = std::move(delays).value();
    return MeasuredCommand::read();
  }
  Status run() override { return run_project(options); }

 private:
  std::string grain_;
  std::string nodes_ = kUsualNodes;
  std::string delays_ = kUsualDelayText;
};

}  // namespace

std::unique_ptr<Command> project_command() { return std::make_unique<ProjectCommand>(); }

}  // namespace noised::client
