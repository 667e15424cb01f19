// SPDX-License-Identifier: Apache-2.0
// A run is told after what was lost in it, and its wait after that: the records are sorted when all are there.
#include "export/paraver/paraver_tasks.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"
#include "export/export.h"
#include "export/paraver/paraver_names.h"

namespace noised::exports {

void ParaverTasks::add(ParaverRecord record, std::size_t row, std::size_t cpu) {
  record.row = static_cast<std::uint32_t>(row);
  record.cpu = static_cast<std::uint32_t>(cpu);
  good_ = records_.add(record);
}

void ParaverTasks::loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
                        std::string_view /*details*/) {
  const std::size_t row = rows_.lost(loss);
  const Detour& detour = ledger.detour;
  ParaverTimeline one(sources_, [&](const ParaverRecord& record) { add(record, row, cpu); });
  one.detour(ledger);
  add({detour.start_ns, 0, static_cast<std::uint64_t>(loss.kind) + 1, kEventLoss}, row, cpu);
  if (loss.waited_ns != 0) add({detour.start_ns, 0, loss.waited_ns, kEventWaited}, row, cpu);
  Held& held = held_[{row, cpu}];
  held.push_back({detour.start_ns, detour.end_ns});
  if (held.size() >= kMostHeld) draw_older(row, cpu, held);
}

// Nothing but one run has so many without a word of its end.
void ParaverTasks::draw_older(std::size_t row, std::size_t cpu, Held& held) {
  std::ranges::sort(held, {}, &Span::start_ns);
  const std::size_t half = held.size() / 2;
  std::uint64_t at_ns = held.front().end_ns;
  for (std::size_t i = 1; i <= half; ++i) {
    if (held[i].start_ns > at_ns) add({at_ns, held[i].start_ns, kStateUndisturbed, 0}, row, cpu);
    at_ns = std::max(at_ns, held[i].end_ns);
  }
  // The first stays, for the time before it, and stands for all of them.
  held[0].end_ns = at_ns;
  held.erase(held.begin() + 1, held.begin() + static_cast<std::ptrdiff_t>(half) + 1);
}

void ParaverTasks::draw_run(std::size_t row, std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
  std::uint64_t at_ns = start_ns;
  if (const auto found = held_.find({row, cpu}); found != held_.end()) {
    Held& held = found->second;
    std::ranges::sort(held, {}, &Span::start_ns);
    const auto after = std::ranges::partition_point(held, [&](const Span& each) { return each.start_ns < end_ns; });
    for (auto each = held.begin(); each != after; ++each) {
      if (each->start_ns > at_ns) add({at_ns, each->start_ns, kStateUndisturbed, 0}, row, cpu);
      at_ns = std::max(at_ns, each->end_ns);
    }
    held.erase(held.begin(), after);
    if (held.empty()) held_.erase(found);
  }
  if (at_ns < end_ns) add({at_ns, end_ns, kStateUndisturbed, 0}, row, cpu);
}

void ParaverTasks::ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& /*facts*/) {
  draw_run(rows_.ran(run), cpu, run.start_ns, run.end_ns);
}

void ParaverTasks::finish(const recording::Playback& playback) {
  for (const recording::RunningTask& each : playback.running())
    draw_run(rows_.of(each.task.pid), each.cpu, each.task.start_ns, each.until_ns);
}

namespace {

/// Who stands where: processes by number, and their threads.
class Places {
 public:
  struct Place {
    std::size_t task = 0;  ///< from 1 up, as the next
    std::size_t thread = 0;
  };

  explicit Places(const TaskRows& rows) : rows_(rows.all()), order_(rows_.size()), places_(rows_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [this](std::size_t row) { return std::pair(process(row), rows_[row].pid); });
    for (const std::size_t row : order_) {
      if (threads_.empty() || process(row) != processes_.back()) {
        processes_.push_back(process(row));
        threads_.push_back(0);
      }
      places_[row] = {threads_.size(), ++threads_.back()};
    }
  }

  [[nodiscard]] const Place& of(std::size_t row) const { return places_[row]; }
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  [[nodiscard]] const std::vector<std::size_t>& threads() const { return threads_; }
  [[nodiscard]] const std::vector<std::uint32_t>& processes() const { return processes_; }
  [[nodiscard]] const TaskRows::Row& row(std::size_t at) const { return rows_[at]; }

 private:
  // Where no run of it ended, it is shown as one of its own.
  [[nodiscard]] std::uint32_t process(std::size_t row) const {
    return rows_[row].tgid == 0 ? rows_[row].pid : rows_[row].tgid;
  }

  const std::vector<TaskRows::Row>& rows_;
  std::vector<std::size_t> order_;
  std::vector<Place> places_;             // by row
  std::vector<std::uint32_t> processes_;  // in order, as the next
  std::vector<std::size_t> threads_;      // how many each has
};

std::string header(const recording::Playback& playback, const Places& places, std::uint64_t length_ns) {
  std::string tasks;
  for (const std::size_t threads : places.threads()) tasks += fmt::format("{}{}:1", tasks.empty() ? "" : ",", threads);
  return fmt::format("#Paraver ({}):{}_ns:1({}):1:{}({})\n", paraver_date(playback.description().start), length_ns,
                     playback.description().base.cpus.size(), places.threads().size(), tasks);
}

/// Writes records in order of time. States of a row that overlap mean nothing there: the later one begins when the
/// other has ended, and an event tells what it has less.
class TaskWriter {
 public:
  TaskWriter(ParaverSort& records, NewFile& file, const Places& places)
      : records_(records), file_(file), places_(places), until_ns_(places.order().size()) {}

  Status write_all(const Progress& progress) {
    for (std::uint64_t written = 0; file_.good(); ++written) {
      if (written % kBetweenProgress == 0) {
        const double share = static_cast<double>(written) / static_cast<double>(std::max(records_.size(), written + 1));
        if (!progress(kShareOfPlaying + (1 - kShareOfPlaying) * share)) return interrupted();
      }
      const auto next = records_.next();
      if (!next) return next.error();
      if (!next.value()) break;
      write(*next.value());
    }
    return success();
  }
  /// What is told of the whole recording: at the first row.
  void event(std::size_t cpu, std::uint64_t at_ns, std::uint64_t type, std::uint64_t value) {
    file_.write(fmt::format("2:{}:1:1:1:{}:{}:{}\n", cpu + 1, at_ns - records_.first_ns(), type, value));
  }

 private:
  void write(ParaverRecord record) {
    const Places::Place& place = places_.of(record.row);
    const auto told = [&](unsigned kind, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
      file_.write(fmt::format("{}:{}:1:{}:{}:{}:{}:{}\n", kind, record.cpu + 1, place.task, place.thread, a, b, c));
    };
    const std::uint64_t at_ns = record.time_ns - records_.first_ns();
    if (record.type != 0) return told(2, at_ns, record.type, record.value);
    std::uint64_t& until_ns = until_ns_[record.row];
    if (record.time_ns >= until_ns) {
      until_ns = record.end_ns;
      return told(1, at_ns, record.end_ns - records_.first_ns(), record.value);
    }
    told(2, at_ns, kEventOverlap, std::min(until_ns, record.end_ns) - record.time_ns);
    record.time_ns = until_ns;
    if (record.end_ns > until_ns) records_.add_again(record);
  }

  ParaverSort& records_;
  NewFile& file_;
  const Places& places_;
  std::vector<std::uint64_t> until_ns_;  // by row: it has its states until then
};

void tell_losses(const recording::Player& player, const StatusView& status, std::uint64_t end_ns, TaskWriter& writer) {
  const LossesByCpu losses = losses_by_cpu(player.playback(), status.lost);
  for (std::size_t cpu = 0; cpu < losses.on.size(); ++cpu) {
    if (losses.on[cpu] != 0) writer.event(cpu, end_ns, kEventLost, losses.on[cpu]);
  }
  if (losses.anywhere != 0) writer.event(0, end_ns, kEventLostAnywhere, losses.anywhere);
  for (std::size_t i = 0; i < status.unsupported.size(); ++i) writer.event(0, end_ns, kEventUnsupported, i + 1);
}

std::string row_names(const recording::Playback& playback, const Places& places) {
  const auto name = [&](const TaskRows::Row& row) {
    return row.name == account::kNoName ? std::string("task")
                                        : on_one_line(as_utf8(playback.sources().at(row.name).name));
  };
  const std::vector<recording::CpuCounts>& cpus = playback.description().base.cpus;
  std::string text;
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "LEVEL CPU SIZE {}\n", cpus.size());
  for (const recording::CpuCounts& cpu : cpus) fmt::format_to(to, "CPU {}\n", cpu.cpu);
  fmt::format_to(to, "\nLEVEL NODE SIZE 1\n{}\n\nLEVEL TASK SIZE {}\n",
                 on_one_line(as_utf8(playback.description().base.status.host)), places.processes().size());
  for (const std::uint32_t process : places.processes()) fmt::format_to(to, "process {}\n", process);
  fmt::format_to(to, "\nLEVEL THREAD SIZE {}\n", places.order().size());
  for (const std::size_t row : places.order())
    fmt::format_to(to, "{} {}\n", name(places.row(row)), places.row(row).pid);
  return text;
}

}  // namespace

Status write_paraver_tasks(recording::Player& player, const std::string& base, NewFile& trace, NewFile& config,
                           NewFile& names, const Progress& progress) {
  const recording::Playback& playback = player.playback();
  ParaverSort records(base);
  ParaverTasks tasks(playback.sources(), records);
  const auto shared = [&progress](double share) { return progress(kShareOfPlaying * share); };
  if (Status all = play_all(player, tasks, shared, [&tasks] { return tasks.good(); }); !all) return all;
  tasks.finish(playback);
  if (Status sorted = records.sort(); !sorted) return sorted;
  if (records.size() == 0)
    return failure("the recording has no watched task: there is nothing to draw", "watch while tasks run");
  const Places places(tasks.rows());
  trace.write(header(playback, places, records.last_ns() - records.first_ns()));
  TaskWriter writer(records, trace, places);
  writer.event(0, records.first_ns(), kEventTimeZero, records.first_ns());
  if (Status written = writer.write_all(progress); !written) return written;
  const StatusView status = player.status();
  tell_losses(player, status, records.last_ns(), writer);
  config.write(paraver_config(playback, status.unsupported));
  names.write(row_names(playback, places));
  return success();
}

}  // namespace noised::exports
