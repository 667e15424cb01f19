// SPDX-License-Identifier: Apache-2.0
// A recording of any bytes, as a file or, past the checksums that no fuzzer guesses, as the records of a block: it is
// played as far as it makes sense, every detour adds up, and so does the report.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "account/watch_account.h"
#include "analysis/advice/advise.h"
#include "analysis/density/distributions.h"
#include "analysis/density/peak.h"
#include "analysis/fixed_work/phase_analysis.h"
#include "analysis/fixed_work/quanta.h"
#include "fuzz.h"
#include "noisectl/replay/replay_watch.h"
#include "page/charts.h"
#include "page/collector.h"
#include "recording/names_out.h"
#include "recording/player.h"
#include "views/advice.h"
#include "views/density.h"
#include "views/phases.h"
#include "views/views.h"
#include "views/watch.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;
using namespace noised::recording;
using namespace noised::system;
using fuzz::check;

namespace {

class Detours : public PlayerVisitor {
 public:
  explicit Detours(const Playback& playback) : playback_(playback) {}
  void detour(std::size_t cpu, const DetourLedger& ledger, std::string_view details) override {
    look_at(to_view(playback_, cpu, ledger, details));
    ++count;
  }
  void loss(std::size_t cpu, const Loss& loss, const DetourLedger& ledger, std::string_view details) override {
    look_at(to_view(playback_, cpu, loss, ledger, details));
    ++losses;
  }
  std::uint64_t count = 0;
  std::uint64_t losses = 0;

 private:
  static void look_at(const DetourView& view) {
    std::uint64_t sum_ns = view.overhead_ns;
    for (const DetourEntryView& entry : view.entries) sum_ns += entry.self_ns;
    check(sum_ns == view.duration_ns, "a detour adds up", views::to_json(view));
  }

  const Playback& playback_;
};

/// What is told of watched tasks, and which of them there are.
class Watched {
 public:
  explicit Watched(const Playback& playback)
      : playback_(playback),
        tasks_({SelectBy::comm, {}, "rank", false, {}}, playback.sources()),
        account_(playback.sources(), 1'000) {}
  void loss(const Loss& loss, const DetourLedger& ledger) {
    tasks_.loss(0, loss, ledger, {});
    account_.lost(loss, ledger);
  }
  void ran(const TaskRun& run, const RunFacts& facts) {
    tasks_.ran(0, run, facts);
    account_.ran(run, facts);
  }
  void finish() {
    (void)tasks_.settle();
    WatchReport report;
    account_.fill(report);
    for (const RunningTask& each : playback_.running()) account_.add_current(each.task, each.until_ns, report);
    check(views::parse_watch(views::to_json(report)).ok(), "the watch can be read back", views::to_json(report));
    check(!views::to_text(report).empty(), "the watch is shown");
  }

 private:
  const Playback& playback_;
  client::RecordedTasks tasks_;
  WatchAccount account_;
};

/// What pages, advice, densities, peaks, phases and series make of the same: any events, in any order.
class Readers : public PlayerVisitor {
 public:
  explicit Readers(const Playback& playback)
      : detours(playback),
        sources_(playback.sources()),
        watched_(playback),
        collector_(playback),
        tails_(none_, playback),
        advice_(playback.sources(), machine_),
        peak_(playback.sources(), 1'000, 100'000),
        quanta_(playback.description().base.cpus.size()) {
    for (std::size_t cpu = 0; cpu < quanta_.size(); ++cpu) {
      distributions_.push_back(std::make_unique<Distributions>(cpu == 0 ? 200 : 7'000));
      phases_.push_back(std::make_unique<PhaseAnalysis>(playback.sources(), cpu));
    }
  }
  void begins(std::size_t cpu, std::uint64_t first_ns) override {
    collector_.begins(cpu, first_ns);
    advice_.begins(cpu, first_ns);
    distributions_[cpu]->begin(first_ns);
    quanta_[cpu].interrupt();
    phases_[cpu]->interrupt();
  }
  void interval(std::size_t cpu, const Interval& interval) override {
    distributions_[cpu]->add(interval);
    quanta_[cpu].add(interval);
  }
  void detour(std::size_t cpu, const DetourLedger& ledger, std::string_view details) override {
    detours.detour(cpu, ledger, details);
    const std::string nameless = without_names(details);
    check(nameless.size() <= details.size(), "without names there is less to tell");
    collector_.detour(cpu, ledger, details);
    tails_.detour(cpu, ledger, details);
    advice_.detour(cpu, ledger, details);
    phases_[cpu]->add(ledger);
    distributions_[cpu]->add(ledger);
    peak_.add(ledger);
    quanta_[cpu].add(ledger.detour);
  }
  void loss(std::size_t cpu, const Loss& loss, const DetourLedger& ledger, std::string_view details) override {
    detours.loss(cpu, loss, ledger, details);
    watched_.loss(loss, ledger);
  }
  void ran(std::size_t /*cpu*/, const TaskRun& run, const RunFacts& facts) override { watched_.ran(run, facts); }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    collector_.gap(cpu, start_ns, end_ns);
    advice_.gap(cpu, start_ns, end_ns);
    phases_[cpu]->interrupt();
    distributions_[cpu]->skip(start_ns, end_ns);
  }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    collector_.sample(cpu, end_ns, iterations);
    phases_[cpu]->sample(end_ns, iterations);
    if (const auto quantum = quanta_[cpu].sample(end_ns, iterations))
      check(quantum->start_ns <= quantum->end_ns, "a quantum ends after it began");
  }
  void finish(const Report& report) {
    watched_.finish();
    collector_.finish(report);
    check(collector_.first_ns() <= collector_.last_ns(), "the page ends after it begins");
    advice_.finish();
    const Advice advice = advise(advice_, sources_, machine_, report);
    check(advice.detours == detours.count, "every detour is in the advice");
    check(!views::to_json(advice, report).empty(), "advice is shown");
    for (std::size_t cpu = 0; cpu < phases_.size(); ++cpu) {
      phases_[cpu]->finish();
      const auto shown = views::phases_of(static_cast<unsigned>(cpu), *phases_[cpu], sources_, report);
      check(!views::to_text({shown}, {}, report).empty(), "phases are shown");
    }
    std::vector<DensityComparison> densities;
    std::uint64_t counted = 0;
    for (std::size_t cpu = 0; cpu < distributions_.size(); ++cpu) {
      densities.push_back(distributions_[cpu]->finish(static_cast<unsigned>(cpu)));
      counted += densities.back().detours;
    }
    check(counted == detours.count, "every detour is in a density");
    check(!views::to_text(densities, report).empty(), "densities are shown");
    check(peak_.detours().count() <= detours.count, "no detour is in a peak twice");
  }

  Detours detours;

 private:
  const SourceTable& sources_;
  const Machine machine_;
  const std::vector<page::MergedSource> none_;
  Watched watched_;
  page::Collector collector_;
  page::Tails tails_;
  AdviceCollector advice_;
  PeakCounter peak_;
  std::vector<std::unique_ptr<Distributions>> distributions_;
  std::vector<QuantumSeries> quanta_;
  std::vector<std::unique_ptr<PhaseAnalysis>> phases_;
};

// Sums of many played detours may pass 2^64, which those of a measurement cannot: then they stop there.
void check_report(const Playback& playback, Readers& readers) {
  Snapshot snapshot;
  playback.fill(snapshot);
  std::uint64_t counted = 0;
  for (const CpuSnapshot& cpu : snapshot.cpus) {
    const DetourTotals& all = cpu.statistics.totals();
    counted += all.detours;
    const std::uint64_t parts_ns =
        all.explained_ns + all.overhead_ns + all.hypervisor_ns + all.hardware_ns + all.unexplained_ns;
    check(all.detour_ns == UINT64_MAX || parts_ns == all.detour_ns, "the ledger of a CPU adds up");
  }
  check(counted == readers.detours.count + readers.detours.losses, "every detour is counted");
  const Report report = build_report(snapshot, playback.sources(), {});
  check(views::parse_report(views::to_json(report)).ok(), "the report can be read back", views::to_json(report));
  readers.finish(report);
}

std::string description(bool watches) {
  Description two;
  if (watches) two.base.status.mode = "watch";
  two.start = "2026-01-01T00:00:00Z";
  two.base.cpus.resize(2);
  two.base.cpus[1].cpu = 3;
  return to_json(two);
}

void play_block(std::string_view block, bool watches) {
  static const std::array kDescriptions = {description(false), description(true)};
  const std::string& description = kDescriptions[watches ? 1 : 0];
  auto playback = Playback::begin(description);
  check(playback.ok(), "the description can be read back", description);
  Readers readers(*playback.value());
  const auto problem = playback.value()->play(block, &readers);
  check(!problem || !problem->empty(), "a problem has a name");
  check_report(*playback.value(), readers);
}

void play_file(std::string_view bytes) {
  Descriptor file(::memfd_create("recording", MFD_CLOEXEC));
  check(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "the file is written");
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  auto player = Player::open(path);
  if (!player) {
    check(player.error().line().find(path) != std::string::npos, "an error names the file", player.error().line());
    return;
  }
  Readers readers(player.value().playback());
  while (player.value().step(&readers)) {
  }
  check_report(player.value().playback(), readers);
}

}  // namespace

extern "C" int fuzz_recording(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text(data + 1, size - 1);
  data[0] % 2 == 0 ? play_block(bytes, data[0] % 4 == 2) : play_file(bytes);
  return 0;
}
