// SPDX-License-Identifier: Apache-2.0
// Played once into a file for each CPU, in which all is in order of time; then these are merged.
#include "export/paraver/paraver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "base/files.h"
#include "export/export.h"
#include "export/new_file.h"
#include "export/paraver/paraver_names.h"
#include "export/paraver/paraver_sort.h"
#include "export/paraver/paraver_tasks.h"
#include "export/paraver/paraver_timeline.h"

namespace noised::exports {
namespace {

/// A CPU: its timeline and where its records wait.
struct Row {
  Row(ParaverSpill spill_of, const SourceTable& sources)
      : spill(std::move(spill_of)), timeline(sources, [this](const ParaverRecord& record) { add(record); }) {}

  void add(const ParaverRecord& record) {
    if (!first_ns) first_ns = record.time_ns;
    last_ns = std::max({last_ns, record.time_ns, record.end_ns});
    good = spill.add(record);
  }

  ParaverSpill spill;
  ParaverTimeline timeline;
  std::optional<std::uint64_t> first_ns;
  std::uint64_t last_ns = 0;
  bool good = true;
  bool begun = false;
};
using Rows = std::vector<std::unique_ptr<Row>>;

class ParaverFiller : public recording::PlayerVisitor {
 public:
  ParaverFiller(const recording::Playback& playback, Rows& rows) : playback_(playback), rows_(rows) {}

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    rows_[cpu]->timeline.detour(ledger);
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    rows_[cpu]->timeline.gap(start_ns, end_ns);
  }
  // Of a recording that began after the daemon, the loop's beginning says nothing of the time until the first detour:
  // those before it were not recorded.
  void begins(std::size_t cpu, std::uint64_t first_ns) override {
    Row& row = *rows_[cpu];
    const bool whole = playback_.description().base.cpus[cpu].observed_ns == 0 && !row.begun;
    row.begun = true;
    whole ? row.timeline.begin(first_ns) : row.timeline.interrupt();
  }
  [[nodiscard]] bool good() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const auto& row) { return row->good; });
  }

 private:
  const recording::Playback& playback_;
  Rows& rows_;
};

Result<Rows> make_rows(const recording::Playback& playback, const std::string& out) {
  Rows rows;
  for (std::size_t i = 0; i < playback.description().base.cpus.size(); ++i) {
    auto spill = ParaverSpill::create(out);
    if (!spill) return spill.error();
    rows.push_back(std::make_unique<Row>(std::move(spill).value(), playback.sources()));
  }
  return rows;
}

struct Names {
  std::string base;
  std::string trace = base + ".prv";
  std::string config = base + ".pcf";
  std::string rows = base + ".row";
};

Names names_of(const std::string& out) { return {out.ends_with(".prv") ? out.substr(0, out.size() - 4) : out}; }

std::string header(const recording::Playback& playback, std::uint64_t length_ns) {
  const std::size_t cpus = playback.description().base.cpus.size();
  std::string tasks;
  for (std::size_t i = 0; i < cpus; ++i) tasks += i == 0 ? "1:1" : ",1:1";
  return fmt::format("#Paraver ({}):{}_ns:1({}):1:{}({})\n", paraver_date(playback.description().start), length_ns,
                     cpus, cpus, tasks);
}

/// Writes the .prv from the rows.
class Merger {
 public:
  Merger(Rows& rows, NewFile& file) : rows_(rows), file_(file) {
    bool any = false;
    for (const auto& row : rows) {
      total_ += row->spill.size();
      if (!row->first_ns) continue;
      zero_ns_ = any ? std::min(zero_ns_, *row->first_ns) : *row->first_ns;
      end_ns_ = std::max(end_ns_, row->last_ns);
      any = true;
    }
  }

  [[nodiscard]] std::uint64_t length_ns() const { return end_ns_ - zero_ns_; }

  /// What is told of the whole recording, after everything else; `cpu`: its place.
  void at_end(std::size_t cpu, std::uint32_t type, std::uint64_t value) {
    if (value != 0) write(cpu, {end_ns_, 0, value, type});
  }

  Status merge(const Progress& progress) {
    if (!rows_.empty()) write(0, {zero_ns_, 0, zero_ns_, kEventTimeZero});
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (Status status = rows_[i]->spill.rewind(); !status) return status;
      if (Status status = advance(i); !status) return status;
    }
    for (std::uint64_t written = 0; !heads_.empty() && file_.good(); ++written) {
      if (written % kBetweenProgress == 0) {
        const double share = static_cast<double>(written) / static_cast<double>(total_);
        if (!progress(kShareOfPlaying + (1 - kShareOfPlaying) * share)) return interrupted();
      }
      const Head head = heads_.top();
      heads_.pop();
      write(head.cpu, head.record);
      if (Status status = advance(head.cpu); !status) return status;
    }
    return success();
  }

 private:
  struct Head {
    ParaverRecord record;
    std::size_t cpu;
    bool operator<(const Head& other) const {  // the top of the queue is the greatest
      if (record.time_ns != other.record.time_ns) return record.time_ns > other.record.time_ns;
      return cpu > other.cpu;
    }
  };

  Status advance(std::size_t cpu) {
    auto next = rows_[cpu]->spill.next();
    if (!next) return next.error();
    if (next.value()) heads_.push({*next.value(), cpu});
    return success();
  }

  void write(std::size_t cpu, const ParaverRecord& record) {
    const std::size_t row = cpu + 1;  // Paraver counts from 1
    const std::uint64_t time_ns = record.time_ns - zero_ns_;
    if (record.type == 0) {
      file_.write(fmt::format("1:{}:1:{}:1:{}:{}:{}\n", row, row, time_ns, record.end_ns - zero_ns_, record.value));
    } else {
      file_.write(fmt::format("2:{}:1:{}:1:{}:{}:{}\n", row, row, time_ns, record.type, record.value));
    }
  }

  Rows& rows_;
  NewFile& file_;
  std::priority_queue<Head> heads_;
  std::uint64_t zero_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::uint64_t total_ = 0;
};

void tell_losses(const recording::Player& player, const StatusView& status, Merger& merger) {
  const LossesByCpu losses = losses_by_cpu(player.playback(), status.lost);
  for (std::size_t i = 0; i < losses.on.size(); ++i) merger.at_end(i, kEventLost, losses.on[i]);
  if (losses.on.empty()) return;
  merger.at_end(0, kEventLostAnywhere, losses.anywhere);
  for (std::size_t i = 0; i < status.unsupported.size(); ++i) merger.at_end(0, kEventUnsupported, i + 1);
}

Status write_cpus(recording::Player& player, const std::string& base, NewFile& trace, NewFile& config, NewFile& names,
                  const Progress& progress) {
  auto rows = make_rows(player.playback(), base);
  if (!rows) return rows.error();
  ParaverFiller filler(player.playback(), rows.value());
  const auto shared = [&progress](double share) { return progress(kShareOfPlaying * share); };
  if (Status all = play_all(player, filler, shared, [&filler] { return filler.good(); }); !all) return all;

  Merger merger(rows.value(), trace);
  trace.write(header(player.playback(), merger.length_ns()));
  if (Status merged = merger.merge(progress); !merged) return merged;
  const StatusView status = player.status();
  tell_losses(player, status, merger);
  config.write(paraver_config(player.playback(), status.unsupported));
  names.write(paraver_rows(player.playback()));
  return success();
}

}  // namespace

Status can_export_paraver(const std::string& out) {
  const Names names = names_of(out);
  if (names.base.empty()) return usage_error("the name of the export is empty", "give one before .prv");
  for (const std::string& name : {names.trace, names.config, names.rows}) {
    if (Status can = NewFile::can_create(name); !can) return can;
  }
  return success();
}

Status export_paraver(const Play& play, const std::string& out, const Progress& progress) {
  if (Status can = can_export_paraver(out); !can) return can;
  allow_open_files();
  const Names names = names_of(out);
  auto trace = NewFile::create(names.trace);
  if (!trace) return trace.error();
  auto config = NewFile::create(names.config);
  if (!config) return config.error();
  auto cpus = NewFile::create(names.rows);
  if (!cpus) return cpus.error();

  auto played = play();
  if (!played) return played.error();
  recording::Player& player = played.value();
  const std::array files = {&trace.value(), &config.value(), &cpus.value()};
  Status written = player.playback().watches_tasks()
                       ? write_paraver_tasks(player, names.base, trace.value(), config.value(), cpus.value(), progress)
                       : write_cpus(player, names.base, trace.value(), config.value(), cpus.value(), progress);
  if (!written) return written;
  for (NewFile* file : files) {
    if (Status finished = file->finish(); !finished) return finished;
  }
  for (NewFile* file : files) file->keep();
  return exported_whole(player);
}

}  // namespace noised::exports
