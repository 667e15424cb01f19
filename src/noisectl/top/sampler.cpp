// SPDX-License-Identifier: Apache-2.0
// Report, histogram and status, one after the other, at every interval.
#include "noisectl/top/sampler.h"

#include <algorithm>
#include <utility>

#include "views/views.h"

namespace noised::client {
namespace {

using Clock = std::chrono::steady_clock;

// The daemon answers from a snapshot: after this long the screen says that it does not.
constexpr std::chrono::milliseconds kSamplerAnswerTime{1000};

}  // namespace

Result<std::unique_ptr<TopSampler>> TopSampler::start(const std::string& socket, std::chrono::nanoseconds interval) {
  Result<HttpClient> client = HttpClient::create(socket);
  if (!client) return client.error();
  std::unique_ptr<TopSampler> sampler(new TopSampler(std::move(client).value(), interval));
  if (!sampler->stop_ || !sampler->ready_) return failure("eventfd", "too many open files? see 'ulimit -n'");
  sampler->thread_ = std::thread(&TopSampler::run, sampler.get());
  return sampler;
}

TopSampler::~TopSampler() {
  stop_.set();
  if (thread_.joinable()) thread_.join();
}

std::optional<Result<TopSample>> TopSampler::take() {
  ready_.clear();
  const std::lock_guard lock(mutex_);
  return std::exchange(newest_, std::nullopt);
}

void TopSampler::run() {
  leave_signals_to_main_thread();
  Clock::time_point next = Clock::now();
  for (;;) {
    if (!paused_) {
      Result<TopSample> sample = fetch();
      const std::lock_guard lock(mutex_);
      newest_ = std::move(sample);
      ready_.set();
    }
    next = std::max(next + interval_, Clock::now());
    // Rounded up, so as not to wake just before the moment; an interval may be longer than one wait.
    for (Clock::duration left = next - Clock::now();; left = next - Clock::now()) {
      if (stop_.wait(std::chrono::ceil<std::chrono::milliseconds>(left))) return;
      if (Clock::now() >= next) break;
    }
  }
}

Result<std::string> TopSampler::get(const char* path) {
  std::string body;
  const Result<StreamEnd> end = client_.stream(path, kSamplerAnswerTime, stop_.fd(), [&body](std::string_view line) {
    body += line;
    return true;
  });
  if (!end) return end.error();
  if (end.value() == StreamEnd::stopped) return failure("stopped");
  return body;
}

Result<TopSample> TopSampler::fetch() {
  const Result<std::string> report = get("/v1/report");
  if (!report) return report.error();
  Result<Report> parsed = views::parse_report(report.value());
  if (!parsed) return parsed.error();
  TopSample sample{std::move(parsed).value(), {}, {}, {}};
  // The view is worth having without these two.
  if (const Result<std::string> body = get("/v1/histogram"); body)
    if (Result<HistogramView> view = views::parse_histogram(body.value()); view) sample.histogram = view.value();
  if (const Result<std::string> body = get("/v1/status"); body)
    if (Result<StatusView> view = views::parse_status(body.value()); view) sample.status = view.value();
  return sample;
}

}  // namespace noised::client
