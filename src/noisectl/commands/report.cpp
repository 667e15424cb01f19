// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/report.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/state_file.h"
#include "noisectl/client/answer.h"
#include "noisectl/client/last_selftest.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "noisectl/commands/page_file.h"
#include "noisectl/commands/page_maker.h"
#include "noisectl/commands/project.h"
#include "noisectl/commands/tasks_page_maker.h"
#include "noisectl/replay/replay.h"
#include "views/lost.h"
#include "views/report.h"
#include "views/views.h"

namespace noised::client {
namespace {

// On a page, a projection is one section of many. noisectl project has no usual grain.
constexpr const char* kUsualGrain = "1ms";
constexpr std::uint64_t kMostRecentNs = 60'000'000'000;
// Of 512 CPUs with a hundred sources each: 250 bytes a source.
constexpr std::size_t kLargestReport = std::size_t{64} << 20U;

std::string shown(const ReportOptions& options, const Report& report) {
  if (options.json) return views::to_json(report) + "\n";
  if (options.csv) return views::to_csv(report, options.by.value_or(ReportBy::sources));
  // That of a recording is of another time, and maybe of another machine.
  const bool is_here = options.replay.empty() && !options.last;
  return views::to_text(report, options.by.value_or(ReportBy::ledger),
                        is_here ? last_selftest_text(report, last_selftest_path()) : std::string());
}

// With --csv, what was lost goes to standard error.
Status print_report(const ReportOptions& options, const Report& report) {
  Output output(stdout);
  output.write(shown(options, report));
  if (options.csv && views::anything_lost(report.lost))
    std::fputs(("noisectl: lost: " + views::lost_text(report.lost) + "\n").c_str(), stderr);
  if (Status written = output.finish(); !written) return written;
  return views::check_not_blind(report.lost);
}

Result<MadePage> make_page(const Measured& measured, const ReportOptions& options) {
  const auto player = measured.play();
  if (!player) return player.error();
  if (player.value().playback().watches_tasks()) return make_tasks_page(measured);
  const auto parts = collect_page(measured, {options.projected_grain_ns, options.nodes, options.replay.empty()});
  if (!parts) return parts.error();
  return MadePage{page::render(parts.value()->input()), parts.value()->whole};
}

Status create_page(const ReportOptions& options) {
  // Made again when there is something to put into it: until then, who is interrupted leaves nothing behind.
  auto file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  if (file->value().replaces()) file.reset();
  MeasureOptions measure = options;
  measure.needs_loop = false;  // of watched tasks there is a page, too
  const auto measured = Measured::get(measure);
  if (!measured) return measured.error();
  const auto page = make_page(measured.value(), options);
  if (!page) return page.error();
  if (file == nullptr) file = std::make_unique<Result<PageFile>>(PageFile::create(options.html));
  if (!*file) return file->error();
  const Status replaced = file->value().fill(page.value().text);
  return replaced ? page.value().whole : replaced;
}

Status print_last(const ReportOptions& options) {
  const std::string path = last_report_path();
  const auto text = read_file(path, kLargestReport);
  if (!text)
    return failure(text.error().what,
                   "a service leaves it there when it is stopped, for root, and where service.socket_names is \"all\" "
                   "for its group");
  const auto report = views::parse_report(text.value());
  if (!report) return failure(path + " is no report: " + report.error().what, "wait until the next stop of noised");
  return print_report(options, report.value());
}

class ReportCommand final : public CommandOf<ReportOptions> {
 public:
  ReportCommand() : CommandOf("report", "everything since the daemon started") {}

  void describe(CLI::App& sub) override {
    static const std::map<std::string, ReportBy> kBy{{"ledger", ReportBy::ledger},
                                                     {"sources", ReportBy::sources},
                                                     {"combinations", ReportBy::combinations},
                                                     {"events", ReportBy::events}};
    add_json(sub, options.json);
    sub.add_flag("--csv", options.csv, "print comma-separated values, of the sources unless --by says other")
        ->excludes("--json");
    sub.add_option("--html", options.html, "create a page with tables and charts")
        ->check(not_empty())
        ->excludes("--json")
        ->excludes("--csv")
        ->type_name("FILE");
    sub.add_option("--by", options.by,
                   "one table: sources, combinations, events; ledger: everything, with --csv by CPU")
        ->excludes("--json")
        ->excludes("--html")
        ->transform(CLI::CheckedTransformer(kBy).description(""))
        ->type_name("WHAT");
    last_option_ = sub.add_option("--last", last_,
                                  "only the last TIME, up to 60s, in steps of 10s; without a TIME: all of the "
                                  "service that was stopped last")
                       ->expected(0, 1)
                       ->excludes("--html")
                       ->type_name("[TIME]");
    add_duration(sub, duration_, "--html of a daemon: measure so long (10s)")->needs("--html");
    sub.add_option("--grain", grain_, "--html: time that a job computes between two barriers (1ms)")
        ->needs("--html")
        ->check(not_empty())
        ->type_name("TIME");
  }
  Status read() override {
    if (Status read = read_last(); !read) return read;
    if (options.html.empty()) return success();  // the others need it
    if (Status read = read_grain(grain_.empty() ? kUsualGrain : grain_, options.projected_grain_ns); !read) return read;
    auto nodes = parse_nodes(kUsualNodes);
    if (!nodes) return nodes.error();
    options.nodes = std::move(nodes).value();
    return read_duration(duration_, options.duration_ns);
  }
  [[nodiscard]] Status check_replay() const override {
    if (options.last || options.last_ns != 0)
      return usage_error("--last is of a daemon, not of a recording", "leave one of the two out");
    return check_no_duration(options.duration_ns);
  }
  Status run() override { return run_report(options); }

 private:
  Status read_last() {
    options.last = last_option_->count() > 0 && last_.empty();
    if (last_.empty()) return success();
    if (Status read = read_time("--last", last_, options.last_ns); !read) return read;
    if (options.last_ns != 0 && options.last_ns <= kMostRecentNs) return success();
    return usage_error("--last " + last_ + " is not between 1ns and 60s", "a daemon keeps its last minute apart");
  }

  CLI::Option* last_option_ = nullptr;
  std::string last_;
  std::string duration_;
  std::string grain_;
};

}  // namespace

Status run_report(const ReportOptions& options) {
  if (!options.html.empty()) return create_page(options);
  if (options.last) return print_last(options);
  if (!options.replay.empty()) {
    return run_replay(options.replay, [&](recording::Player& player) {
      play_all(player);
      return print_report(options, player.report());
    });
  }
  const std::string path =
      options.last_ns == 0 ? "/v1/report" : "/v1/recent?last_ns=" + std::to_string(options.last_ns);
  return show_answer(
      options.socket, path.c_str(), options.json, views::parse_report,
      [&](const Report& report) { return print_report(options, report); },
      [](const Report& report) { return views::check_not_blind(report.lost); });
}

std::unique_ptr<Command> report_command() { return std::make_unique<ReportCommand>(); }

}  // namespace noised::client
