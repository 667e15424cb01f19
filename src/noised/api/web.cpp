// SPDX-License-Identifier: Apache-2.0
// Pages for monitoring.
#include "noised/api/web.h"

#include "base/clocks.h"

namespace noised::daemon {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kLanding =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>noised</title></head>\n"
    "<body><h1>noised " NOISED_VERSION
    "</h1>\n<p>Who takes time from this node's CPUs.</p>\n"
    "<ul><li><a href=\"/metrics\">Metrics</a></li><li><a href=\"/-/healthy\">Health</a></li></ul>\n"
    "</body></html>\n";

}  // namespace

bool Health::judge(const ReportLost& lost, std::uint64_t now_ns) {
  const std::uint64_t total = lost.events + lost.detours + lost.unpaired + lost.missed_runs;
  if (total > lost_) lost_ns_ = now_ns;
  lost_ = total;
  return lost_ns_ == 0 || now_ns - lost_ns_ > kMemoryNs;
}

HttpResponse Web::metrics(std::uint64_t now_ns) {
  HttpResponse response;
  response.content_type = Metrics::kContentType;
  if (body_ == nullptr || now_ns - made_ns_ >= fresh_ns_) {
    body_.reset();
    snapshots_.read(
        [&](const account::Snapshot& snapshot) {
          body_ = std::make_shared<const std::string>(metrics_.text(snapshot, sources_, run_));
        },
        account::SnapshotDetail::summary);
    made_ns_ = now_ns;
    if (body_ == nullptr) return {503, kText, "the pipeline does not answer\n"};
  }
  response.shared_body = body_;
  return response;
}

HttpResponse Web::healthy(std::uint64_t now_ns) {
  if (judged_ns_ == 0 || now_ns - judged_ns_ >= fresh_ns_) {
    verdict_ = judge(now_ns);
    judged_ns_ = now_ns;
  }
  return verdict_;
}

HttpResponse Web::judge(std::uint64_t now_ns) {
  bool complete = false;
  if (!snapshots_.read([&](const account::Snapshot& snapshot) { complete = health_.judge(snapshot.lost, now_ns); },
                       account::SnapshotDetail::summary)) {
    return {503, kText, "unhealthy: the pipeline does not answer\n"};
  }
  if (!complete) return {503, kText, "unhealthy: data was lost in the last minute; noised_lost_total tells where\n"};
  return {200, kText, "healthy\n"};
}

std::vector<HttpRoute> Web::routes() {
  std::vector<HttpRoute> routes;
  routes.push_back(
      {"/", PlainHandler([](const HttpRequest&) { return HttpResponse{200, "text/html; charset=utf-8", kLanding}; })});
  routes.push_back({"/metrics", PlainHandler([this](const HttpRequest&) { return metrics(monotonic_ns()); })});
  routes.push_back({"/-/healthy", PlainHandler([this](const HttpRequest&) { return healthy(monotonic_ns()); })});
  return routes;
}

}  // namespace noised::daemon
