// SPDX-License-Identifier: Apache-2.0
// Each command: one request, its answer as it came (--json) or as text.
#include "noisectl/commands.h"

#include <csignal>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "noisectl/advise_command.h"
#include "noisectl/baseline_command.h"
#include "noisectl/density_command.h"
#include "noisectl/export_command.h"
#include "noisectl/histogram_cpu.h"
#include "noisectl/http_client.h"
#include "noisectl/output.h"
#include "noisectl/page_command.h"
#include "noisectl/peak_command.h"
#include "noisectl/phases_command.h"
#include "noisectl/project_command.h"
#include "noisectl/quiet.h"
#include "noisectl/record_command.h"
#include "noisectl/replay_command.h"
#include "noisectl/replay_top.h"
#include "noisectl/replay_watch.h"
#include "noisectl/report_command.h"
#include "noisectl/selftest_command.h"
#include "noisectl/series_command.h"
#include "noisectl/stop_signals.h"
#include "noisectl/top_screen.h"
#include "noisectl/watch_command.h"
#include "views/json_parts.h"
#include "views/lost_line.h"
#include "views/views.h"

namespace noised::client {
namespace {

// The daemon answers from a snapshot: what takes this long will not come.
constexpr std::chrono::seconds kAnswerTime{10};

Status print(std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  Output output(stdout);
  output.write(text);
  return output.finish();
}

/// GET `path`, printed as it came or as `parse` and `print_view` make it; then `check` decides how it ends.
template <typename Parse, typename Print, typename Check>
Status show(const Options& options, const char* path, Parse parse, Print print_view, Check check) {
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  Result<std::string> body = client.value().get(path, kAnswerTime);
  if (!body) return body.error();
  const auto view = parse(body.value());
  if (!view && !options.json) return view.error();
  Status printed = options.json ? print(std::move(body.value())) : print_view(view.value());
  return printed && view ? check(view.value()) : printed;
}

template <typename Parse>
Status show(const Options& options, const char* path, Parse parse) {
  return show(
      options, path, parse, [](const auto& view) { return print(views::to_text(view)); },
      [](const auto&) { return success(); });
}

Status histogram(const Options& options) {
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  const Result<std::string> body = client.value().get("/v1/histogram", kAnswerTime);
  if (!body) return body.error();
  Result<HistogramView> view = views::parse_histogram(body.value());
  if (!view) return view.error();
  if (options.cpu) {
    if (Status kept = keep_cpu(*options.cpu, view.value()); !kept) return kept;
  }
  if (options.range) return print_peak(options, view.value());
  return print(options.json ? views::to_json(view.value()) : views::to_text(view.value()));
}

/// Prints the lines of a detour stream, up to a number of detours.
class DetourPrinter {
 public:
  explicit DetourPrinter(const Options& options) : options_(options), left_(options.count) {}

  /// False ends the stream.
  bool line(std::string_view line) {
    if (line.empty()) return true;
    const auto lost = views::parse_lost_line(line);
    Result<std::string> shown = show(line, lost);
    if (!shown) {
      problem_ = shown.error();
      return false;
    }
    if (!output_.write(shown.value() + "\n")) return false;
    // A reader of a live stream wants each line now; a listing of what is kept is one piece.
    if (options_.follow && !output_.flush()) return false;
    return lost || !left_ || --*left_ > 0;
  }

  Status finish() {
    Status done = output_.finish();
    return problem_ ? Status(*problem_) : done;
  }

 private:
  [[nodiscard]] Result<std::string> show(std::string_view line, std::optional<std::uint64_t> lost) const {
    if (options_.json) return std::string(line);
    if (lost) return views::lost_line_text(*lost);
    const Result<DetourView> detour = views::parse_detour(line);
    if (!detour) return detour.error();
    return views::to_text(detour.value());
  }

  const Options& options_;
  Output output_{stdout};
  std::optional<std::uint64_t> left_;
  std::optional<Error> problem_;
};

Status detours(const Options& options) {
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  if (options.follow) keep_off_probed(options.socket);
  const StopSignals stop;
  DetourPrinter printer(options);
  const std::string path = fmt::format("/v1/detours?follow={}&min_ns={}", options.follow ? 1 : 0, options.min_ns);
  const Result<StreamEnd> end =
      client.value().stream(path, options.follow ? std::chrono::seconds{0} : kAnswerTime, stop.fd(),
                            [&printer](std::string_view line) { return printer.line(line); });
  if (Status printed = printer.finish(); !printed) return printed;
  if (!end) return end.error();
  if (options.follow && end.value() == StreamEnd::finished)
    return failure("daemon at " + options.socket + " went away", "see its log for the reason");
  return success();
}

Status reload(const Options& options) {
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  const Result<std::string> body = client.value().post("/v1/reload", kAnswerTime);
  if (!body) return body.error();
  if (options.json) return print(body.value());
  const auto answer = nlohmann::json::parse(body.value(), nullptr, false);
  const bool told = answer.is_object() && answer.contains("next_start") && answer["next_start"].is_string();
  const std::string waiting = told ? answer["next_start"].get<std::string>() : "";
  return print(waiting.empty() ? "reloaded"
                               : "reloaded; these settings take effect at the next start only: " + waiting);
}

Status run_live(const Options& options) {
  switch (options.command) {
    case Command::top:
      return run_top(options);
    case Command::report:
      return show(
          options, "/v1/report", views::parse_report,
          [&](const Report& report) { return print_report(options, report); },
          [](const Report& report) { return views::check_not_blind(report.lost); });
    case Command::detours:
      return detours(options);
    case Command::histogram:
      if (options.cpu || options.range) return histogram(options);
      return show(options, "/v1/histogram", views::parse_histogram);
    case Command::status:
      return show(
          options, "/v1/status", views::parse_status,
          [](const StatusView& status) { return print(views::to_text(status)); },
          [](const StatusView& status) { return views::check_not_blind(status.lost); });
    case Command::record:
      return run_record(options);
    case Command::reload:
      return reload(options);
    case Command::selftest:
      return run_selftest(options);
    case Command::watch:
      return run_watch(options);
    default:
      return failure("unknown command");
  }
}

}  // namespace

Status run(const Options& options) {
  switch (options.command) {
    case Command::export_trace:
      return run_export(options);
    case Command::advise:
      return run_advise(options);
    case Command::density:
      return run_density(options);
    case Command::project:
      return run_project(options);
    case Command::baseline_save:
      return save_baseline(options);
    case Command::baseline_diff:
      return diff_baseline(options);
    case Command::ftq:
    case Command::fwq:
    case Command::selfish:
    case Command::latencytest:
      return run_series(options);
    case Command::phases:
      return run_phases(options);
    default:
      break;
  }
  if (!options.html.empty()) return run_page(options);
  if (options.replay.empty()) return run_live(options);
  if (options.command == Command::watch) return run_replay_watch(options);
  return options.command == Command::top ? run_replay_top(options) : run_replay(options);
}

Status run_command_line(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of the write, not a death
  Result<CommandLine> parsed = parse_command_line(argc, argv);
  if (!parsed) return parsed.error();
  if (const auto* answer = std::get_if<Answer>(&parsed.value())) return print(answer->text);
  return run(std::get<Options>(parsed.value()));
}

}  // namespace noised::client
