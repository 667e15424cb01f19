// SPDX-License-Identifier: Apache-2.0
// The whole trace: each CPU's rows, and above them what holds for all of it.
#include "export/perfetto/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "export/perfetto/perfetto_cpu.h"
#include "export/perfetto/perfetto_tasks.h"

namespace noised::exports {
namespace {

// Tracks of no CPU: below those of the first.
constexpr std::uint64_t kRun = 1;
constexpr std::uint64_t kRecording = 2;
constexpr std::uint64_t kLost = 3;
constexpr std::uint64_t kUnsupported = 4;

class PerfettoTrace : public recording::PlayerVisitor {
 public:
  PerfettoTrace(const recording::Playback& playback, NewFile file)
      : playback_(playback), file_(std::move(file)), actors_(file_), tasks_(file_, playback) {
    for (std::size_t place = 0; place < playback.description().base.cpus.size(); ++place) {
      cpus_.push_back(std::make_unique<PerfettoCpu>(file_, actors_, playback.sources(), playback.cpu_number(place)));
    }
  }

  void interval(std::size_t cpu, const Interval& interval) override {
    extend(interval.start_ns, interval.end_ns);
    cpus_[cpu]->interval(interval);
  }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override {
    extend(ledger.detour.start_ns, ledger.detour.end_ns);
    cpus_[cpu]->detour(ledger, details);
  }
  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override {
    extend(ledger.detour.start_ns, ledger.detour.end_ns);
    tasks_.loss(cpu, loss, ledger, details);
  }
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& /*facts*/) override {
    extend(run.start_ns, run.end_ns);
    tasks_.ran(cpu, run);
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    extend(start_ns, end_ns);
    cpus_[cpu]->not_observed(start_ns, end_ns);
  }
  void begins(std::size_t cpu, std::uint64_t first_ns) override {
    const std::uint64_t from_ns = playback_.recorded_from(cpu, first_ns);
    extend(from_ns, from_ns);
  }

  [[nodiscard]] bool good() const { return file_.good(); }
  Status finish(const Report& report, const recording::Description& description);

 private:
  void extend(std::uint64_t start_ns, std::uint64_t end_ns) {
    first_ns_ = std::min(first_ns_, start_ns);
    last_ns_ = std::max(last_ns_, end_ns);
  }
  void draw_run(const Report& report, const recording::Description& description);
  void draw_lost(const ReportLost& lost, std::uint64_t not_drawn);
  void draw_unsupported(const std::vector<std::string>& unsupported);
  void draw_all_through(std::uint64_t track, const std::string& name, const PerfettoFile::WriteNotes& notes = {});

  const recording::Playback& playback_;
  PerfettoFile file_;
  PerfettoActors actors_;
  std::vector<std::unique_ptr<PerfettoCpu>> cpus_;
  PerfettoTasks tasks_;
  std::uint64_t first_ns_ = UINT64_MAX;
  std::uint64_t last_ns_ = 0;
};

void PerfettoTrace::draw_all_through(std::uint64_t track, const std::string& name,
                                     const PerfettoFile::WriteNotes& notes) {
  file_.begin(track, std::min(first_ns_, last_ns_), {.name = name, .category = "run", .repeated = false}, notes);
}

void note_cpu(PerfettoFile::Notes& notes, const ReportCpu& cpu) {
  notes.number("cpu", cpu.cpu);
  notes.number("threshold_ns", cpu.threshold_ns);
  notes.number("observed_ns", cpu.observed_ns);
  notes.number("not_observed_ns", cpu.blind_ns);
  notes.number("detours", cpu.detours);
  notes.number("detour_ns", cpu.detour_ns);
  notes.number("explained_ns", cpu.explained_ns);
  notes.number("overhead_ns", cpu.overhead_ns);
  notes.number("hypervisor_ns", cpu.hypervisor_ns);
  notes.number("hardware_ns", cpu.hardware_ns);
  notes.number("unexplained_ns", cpu.unexplained_ns);
}

void PerfettoTrace::draw_run(const Report& report, const recording::Description& description) {
  file_.track({kRun, 0, "noised", 0, ""});
  file_.track({kRecording, kRun, "recording", 1, "From the first to the last event of the recording."});
  draw_all_through(kRecording, fmt::format("{}, kernel {}", report.host, report.kernel), [&](auto& notes) {
    notes.text("host", report.host);
    notes.text("kernel", report.kernel);
    notes.text("processor", description.processor);
    notes.text("boot_parameters", description.boot_parameters);
    notes.text("daemon_start", report.start);
    notes.number("elapsed_ns", report.elapsed_ns);
    notes.text("clock", report.clock.source);
    notes.number("clock_uncertainty_ns", report.clock.uncertainty_ns);
    if (report.clock.containment) notes.real("containment", *report.clock.containment);
    notes.number("lost_events", report.lost.events);
    notes.number("lost_detours", report.lost.detours);
    notes.number("unpaired", report.lost.unpaired);
    notes.number("missed_runs", report.lost.missed_runs);
    notes.number("incomplete_detours", report.lost.incomplete_detours);
    notes.list("cpus", report.cpus.size(),
               [&](PerfettoFile::Notes& cpu, std::size_t at) { note_cpu(cpu, report.cpus[at]); });
  });
  file_.end(kRecording, last_ns_);
}

void PerfettoTrace::draw_lost(const ReportLost& lost, std::uint64_t not_drawn) {
  std::vector<std::string> names;
  for (const ReportLoss& loss : lost.by) {
    const std::string where = loss.cpu ? fmt::format(" (CPU {})", *loss.cpu) : "";
    names.push_back(fmt::format("lost: {} {}{}", loss.count, loss.reason, where));
  }
  if (not_drawn != 0) names.push_back(fmt::format("not drawn: {}, more overlap than there can be", not_drawn));
  if (names.empty()) return;
  file_.track({kLost, kRun, "lost", 2, "When it was lost is not known: at some time in between."});
  for (const std::string& name : names) draw_all_through(kLost, name);
  for (std::size_t i = 0; i < names.size(); ++i) file_.end(kLost, last_ns_);
}

void PerfettoTrace::draw_unsupported(const std::vector<std::string>& unsupported) {
  if (unsupported.empty()) return;
  file_.track({kUnsupported, kRun, "unsupported", 3, "What could not be seen at all."});
  for (const std::string& what : unsupported) draw_all_through(kUnsupported, what);
  for (std::size_t i = 0; i < unsupported.size(); ++i) file_.end(kUnsupported, last_ns_);
}

Status PerfettoTrace::finish(const Report& report, const recording::Description& description) {
  std::uint64_t not_drawn = 0;
  for (const auto& cpu : cpus_) {
    cpu->finish();
    not_drawn += cpu->not_drawn();
  }
  tasks_.finish();
  not_drawn += tasks_.not_drawn();
  draw_run(report, description);
  draw_lost(report.lost, not_drawn);
  draw_unsupported(report.unsupported);
  return file_.finish();
}

}  // namespace

Status export_perfetto(const Play& play, const std::string& out, const Progress& progress) {
  auto player = play();
  if (!player) return player.error();
  auto file = NewFile::create(out);
  if (!file) return file.error();
  const recording::Playback& playback = player.value().playback();
  PerfettoTrace trace(playback, std::move(file).value());
  Status played = play_all(player.value(), trace, progress, [&trace] { return trace.good(); });
  if (!played) return played;
  if (Status finished = trace.finish(player.value().report(), playback.description()); !finished) return finished;
  return exported_whole(player.value());
}

}  // namespace noised::exports
