// SPDX-License-Identifier: Apache-2.0
// Rows of one task are in order each, though a wait is told after what was lost in the run behind it.
#include "export/perfetto/perfetto_tasks.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "export/export.h"
#include "export/perfetto/perfetto_cpu.h"

namespace noised::exports {
namespace {

// Above the tracks of all CPUs; and their place is below them.
constexpr std::uint64_t kTasks = std::uint64_t{1} << 40U;
constexpr unsigned kBelowCpus = 1U << 16U;
constexpr std::uint64_t kTrackBits = 6;

}  // namespace

PerfettoTasks::Rows& PerfettoTasks::rows_of(std::size_t task) {
  const auto found = rows_.find(task);
  if (found != rows_.end()) return found->second;
  if (task == 0) file_.track({kTasks, 0, "tasks", kBelowCpus, "Those that were watched."});
  const TaskRows::Row& of = tasks_.all()[task];
  const std::string name = of.name == account::kNoName ? "task" : playback_.sources().at(of.name).name;
  const std::uint64_t id = kTasks + ((std::uint64_t{task} + 1) << kTrackBits);
  file_.track({id, kTasks, fmt::format("{} [{}]", name, of.pid), static_cast<unsigned>(task), ""});
  const auto row = [&](unsigned rank, const char* title, const char* description) {
    return PerfettoRow(file_, {id + std::uint64_t{rank} * Lanes::kMost, id, title, rank, description});
  };
  return rows_
      .emplace(task, Rows{row(1, "runs", "When it had a CPU, and which."),
                          row(2, "interrupted", "What it lost while it had one: named after the largest part."),
                          row(3, "waited", "What it lost while it had none: named after who had its CPU longest.")})
      .first->second;
}

void PerfettoTasks::loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
                         std::string_view details) {
  Rows& rows = rows_of(tasks_.lost(loss));
  std::vector<std::pair<std::size_t, std::pair<std::string_view, std::string_view>>> known;
  each_detail(details, [&](std::size_t entry, std::string_view key, std::string_view value) {
    known.emplace_back(entry, std::pair(key, value));
  });
  const auto more = [&](PerfettoFile::Notes& notes, std::size_t at) {
    for (const auto& [entry, detail] : known) {
      if (entry == at) notes.text(detail.first, detail.second);
    }
  };
  const std::string name = largest_part(ledger, playback_.sources());
  PerfettoRow& row = loss.kind == account::LossKind::interrupted ? rows.interrupted : rows.waited;
  const bool drawn = row.bar(ledger.detour.start_ns, ledger.detour.end_ns,
                             {.name = name, .category = to_string(loss.kind)}, [&](auto& notes) {
                               notes.number("cpu", playback_.cpu_number(cpu));
                               if (loss.waited_ns != 0) notes.number("waited_ns", loss.waited_ns);
                               note_ledger(ledger, playback_.sources(), more, notes);
                             });
  if (!drawn) ++not_drawn_;
}

void PerfettoTasks::draw_run(Rows& rows, std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  const std::string name = fmt::format("CPU {}", playback_.cpu_number(cpu));
  if (!rows.runs.bar(start_ns, end_ns, {.name = name, .category = "run", .repeated = true}, {})) ++not_drawn_;
}

void PerfettoTasks::ran(std::size_t cpu, const account::TaskRun& run) {
  const std::size_t task = tasks_.ran(run);
  Rows& rows = rows_of(task);
  draw_run(rows, cpu, run.start_ns, run.end_ns);
  if (!run.ended) return;
  rows.runs.finish();
  rows.interrupted.finish();
  rows.waited.finish();
  rows_.erase(task);
}

void PerfettoTasks::finish() {
  for (const recording::RunningTask& each : playback_.running())
    draw_run(rows_of(tasks_.of(each.task.pid)), each.cpu, each.task.start_ns, each.until_ns);
  for (auto& [task, rows] : rows_) {
    rows.runs.finish();
    rows.interrupted.finish();
    rows.waited.finish();
  }
}

}  // namespace noised::exports
