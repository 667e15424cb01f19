// SPDX-License-Identifier: Apache-2.0
// Names of tasks are anybody's: a field that holds one begins with what kind it is ("task:") or a brace, so that no
// spreadsheet takes it for a formula.
#include "export/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "export/new_file.h"
#include "model/json_fields.h"
#include "views/views.h"

namespace noised::exports {
namespace {

enum Table : std::size_t { kIntervalsTable, kDetoursTable, kEntriesTable, kNotObservedTable, kRunsTable, kTables };

struct TableHead {
  const char* file;
  const char* columns;
};
constexpr std::array<TableHead, kTables> kHeads{
    {{"intervals.csv", "cpu,start_ns,duration_ns,category,source,pid,flags\n"},
     {"detours.csv",
      "cpu,start_ns,duration_ns,incomplete,explained_ns,overhead_ns,hypervisor_ns,hardware_ns,unexplained_ns,pid,task,"
      "loss,waited_ns\n"},
     {"entries.csv", "cpu,detour_start_ns,start_ns,self_ns,depth,category,source,detail,pid\n"},
     {"not_observed.csv", "cpu,start_ns,end_ns\n"},
     {"runs.csv",
      "cpu,start_ns,duration_ns,pid,tgid,task,waited_ns,wait,preempted,ended,migrated,voluntary,involuntary,"
      "minor_faults,major_faults,unseen_runs,unseen_wait_ns\n"}}};
constexpr const char* kSourceColumns = "cpu,category,source,count,total_ns,min_ns,mean_ns,max_ns,stddev_ns\n";

/// Writes the tables while it is played.
class CsvTables : public recording::PlayerVisitor {
 public:
  CsvTables(const recording::Playback& playback, std::vector<NewFile> files)
      : playback_(playback), files_(std::move(files)) {
    for (std::size_t table = 0; table < files_.size(); ++table) files_[table].write(kHeads[table].columns);
  }

  void interval(std::size_t cpu, const Interval& interval) override {
    const Source& source = playback_.sources().at(interval.source);
    files_[kIntervalsTable].write(
        fmt::format("{},{},{},{},{},{},{}\n", playback_.cpu_number(cpu), interval.start_ns,
                    interval.end_ns - interval.start_ns, to_string(source.category), csv_field(source_text(source)),
                    interval.kind == Kind::task ? std::to_string(interval.id) : "", flags_text(interval)));
  }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override {
    write_detour(cpu, ledger, ",,,");
    write_entries(cpu, ledger, details, "");
  }
  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override {
    write_detour(cpu, ledger,
                 fmt::format("{},{},{},{}", loss.pid, task_field(loss.name), to_string(loss.kind), loss.waited_ns));
    write_entries(cpu, ledger, details, std::to_string(loss.pid));
  }
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override {
    if (!has_runs()) return;
    files_[kRunsTable].write(fmt::format(
        "{},{},{},{},{},{},{},{},{:d},{:d},{:d},{},{},{},{},{},{}\n", playback_.cpu_number(cpu), run.start_ns,
        run.end_ns - run.start_ns, run.pid, run.tgid, task_field(run.name), facts.waited_ns,
        facts.waited_ns == 0 ? "" : to_string(facts.wait), run.preempted, run.ended, facts.migrated, facts.voluntary,
        facts.involuntary, facts.minor_faults, facts.major_faults, facts.unseen_runs, facts.unseen_wait_ns));
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    files_[kNotObservedTable].write(fmt::format("{},{},{}\n", playback_.cpu_number(cpu), start_ns, end_ns));
  }

  [[nodiscard]] bool good() const {
    return std::all_of(files_.begin(), files_.end(), [](const NewFile& file) { return file.good(); });
  }
  Status finish() {
    for (NewFile& file : files_) {
      if (Status finished = file.finish(); !finished) return finished;
    }
    return success();
  }

 private:
  [[nodiscard]] bool has_runs() const { return files_.size() > kRunsTable; }
  [[nodiscard]] std::string task_field(SourceId name) const {
    return csv_field(source_text(playback_.sources().at(name)));
  }
  void write_detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view victim) {
    files_[kDetoursTable].write(fmt::format("{},{},{},{:d},{},{},{},{},{},{}\n", playback_.cpu_number(cpu),
                                            ledger.detour.start_ns, ledger.detour.end_ns - ledger.detour.start_ns,
                                            ledger.detour.in_doubt, ledger.explained_ns, ledger.overhead_ns,
                                            ledger.hypervisor_ns, ledger.hardware_ns, ledger.unexplained_ns, victim));
  }
  void write_entries(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details,
                     std::string_view pid) {
    std::vector<Json> known;
    each_detail(details, [&](std::size_t entry, std::string_view key, std::string_view value) {
      if (entry >= known.size()) known.resize(entry + 1, Json::object());
      known[entry][std::string(key)] = as_utf8(value);
    });
    for (std::size_t at = 0; at < ledger.entries.size(); ++at) {
      const account::LedgerEntry& entry = ledger.entries[at];
      const Source& source = playback_.sources().at(entry.source);
      const bool more = at < known.size() && !known[at].empty();
      files_[kEntriesTable].write(fmt::format("{},{},{},{},{},{},{},{},{}\n", playback_.cpu_number(cpu),
                                              ledger.detour.start_ns, entry.start_ns, entry.self_ns, entry.depth,
                                              to_string(source.category), csv_field(source_text(source)),
                                              more ? csv_field(dump(known[at])) : "", pid));
    }
  }

  const recording::Playback& playback_;
  std::vector<NewFile> files_;
};

Status write_file(NewDirectory& directory, const char* name, std::string_view text) {
  auto file = directory.file(name);
  if (!file) return file.error();
  NewFile open = std::move(file).value();
  open.write(text);
  return open.finish();
}

std::string sources_text(const Report& report) {
  std::string text = kSourceColumns;
  for (const ReportSource& source : report.sources) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}\n", source.cpu, source.category,
                        csv_field(as_utf8(source.kind + ":" + source.name)), source.count, source.total_ns,
                        source.min_ns, source.mean_ns, source.max_ns, source.stddev_ns);
  }
  return text;
}

std::string machine_text(const Report& report, const recording::Description& description) {
  return dump(Json{{"host", report.host},
                   {"kernel", report.kernel},
                   {"processor", description.processor},
                   {"boot_parameters", description.boot_parameters},
                   {"clock", "CLOCK_MONOTONIC"}}) +
         "\n";
}

Status write_summary(NewDirectory& directory, const Report& report, const recording::Description& description) {
  if (Status written = write_file(directory, "sources.csv", sources_text(report)); !written) return written;
  if (Status written = write_file(directory, "report.json", views::to_json(report) + "\n"); !written) return written;
  return write_file(directory, "machine.json", machine_text(report, description));
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char each : text) field += each == '"' ? "\"\"" : std::string(1, each);
  return field + "\"";
}

Status export_csv(const Play& play, const std::string& out, const Progress& progress) {
  auto player = play();
  if (!player) return player.error();
  auto directory = NewDirectory::create(out);
  if (!directory) return directory.error();
  std::vector<NewFile> files;
  const recording::Playback& playback = player.value().playback();
  for (std::size_t table = 0; table < (playback.watches_tasks() ? kTables : kRunsTable); ++table) {
    auto file = directory.value()->file(kHeads[table].file);
    if (!file) return file.error();
    files.push_back(std::move(file).value());
  }
  CsvTables tables(playback, std::move(files));
  Status played = play_all(player.value(), tables, progress, [&tables] { return tables.good(); });
  if (!played) return played;
  if (Status finished = tables.finish(); !finished) return finished;
  if (Status written = write_summary(*directory.value(), player.value().report(), playback.description()); !written) {
    return written;
  }
  directory.value()->keep();
  return exported_whole(player.value());
}

}  // namespace noised::exports
