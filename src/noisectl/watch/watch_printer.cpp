// SPDX-License-Identifier: Apache-2.0
// Each line is the whole so far: none but the last is kept.
#include "noisectl/watch/watch_printer.h"

#include <utility>

#include "views/losses.h"
#include "views/watch.h"

namespace noised::client {

Result<WatchPrinter> WatchPrinter::create(const TaskWatchOptions& options, std::FILE* stream) {
  std::optional<PhaseWatch> phases;
  if (options.phases) {
    Result<PhaseWatch> made = PhaseWatch::create(options.marks);
    if (!made) return made.error();
    phases.emplace(std::move(made).value());
  }
  if (options.output.empty()) return WatchPrinter(options, stream, std::nullopt, std::move(phases));
  Result<exports::NewFile> file = exports::NewFile::create(options.output);
  if (!file) return file.error();
  return WatchPrinter(options, stream, std::move(file).value(), std::move(phases));
}

bool WatchPrinter::take_losses(std::string_view line) {
  const Result<LossesView> losses = views::parse_losses(line);
  if (losses) {
    phases_->take(losses.value());
  } else {
    problem_ = losses.error();
  }
  return losses.ok();
}

bool WatchPrinter::write(const std::string& text) {
  if (file_) {
    file_->write(text);
    return file_->good();
  }
  return output_.write(text) && output_.flush();
}

bool WatchPrinter::line(std::string_view line) {
  if (line.empty()) return true;
  if (phases_ && views::is_losses(line)) return take_losses(line);
  Result<WatchReport> report = views::parse_watch(line);
  if (!report) {
    problem_ = report.error();
    return false;
  }
  last_ = std::move(report).value();
  ranks_.take(*last_);
  last_line_ = last_->ranks.empty() ? std::string(line) : views::to_json(*last_);
  const bool to_be_filled = last_->final && json_ && phases_;
  if (follow_ && !to_be_filled && !write((json_ ? last_line_ : views::summary_line(*last_)) + "\n")) return false;
  return !last_->final;
}

Status WatchPrinter::close() {
  if (!file_) return output_.finish();
  if (Status done = file_->finish(); !done) return done;
  file_->keep();
  return success();
}

Status WatchPrinter::finish(const Result<StreamEnd>& end) {
  const Error gone = end ? failure("daemon at " + socket_ + " went away", "see its log for the reason") : end.error();
  const bool stopped = end && end.value() == StreamEnd::stopped;
  if (!last_) {
    if (problem_) return *problem_;
    return stopped ? Status(failure("interrupted before watching began")) : Status(gone);
  }
  if (phases_) {
    phases_->fill(*last_);
    last_line_ = views::to_json(*last_);
    if (json_ && follow_) write(last_line_ + "\n");
  }
  // Each line was shown; a page is not the same as the lines.
  if (json_ && !follow_) write(last_line_ + "\n");
  if (!json_) write((follow_ ? "\n" : "") + views::to_text(*last_));
  if (Status closed = close(); !closed) return closed;
  if (problem_) return *problem_;
  if (last_->final || stopped) return success();
  return failure(gone.what, "the report ends early, with what was told until then");
}

}  // namespace noised::client
