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
    "<ul><li><a href=\"/metrics\">Metrics</a></li><li><a href=\"/-/healthy\">Health</a></li>"
    "<li><a href=\"/-/ready\">Readiness</a></li></ul>\n"
    "</body></html>\n";

}  // namespace

// Metrics, all the same: who asks only whether noised is well can ask as often as the one who scrapes.
void Web::look(std::uint64_t now_ns) {
  if (looked_ns_ != 0 && now_ns - looked_ns_ < fresh_ns_) return;
  looked_ns_ = now_ns;
  body_.reset();
  const auto held = sources_.all.hold();
  snapshots_.read(
      [&](const account::Snapshot& snapshot) {
        complete_ = account::complete_lately(snapshot);
        body_ = std::make_shared<const std::string>(metrics_.text(snapshot, sources_, run_));
      },
      account::SnapshotDetail::summary);
}

HttpResponse Web::metrics() {
  look(monotonic_ns());
  if (body_ == nullptr) return {503, kText, "the pipeline does not answer\n"};
  HttpResponse response;
  response.content_type = Metrics::kContentType;
  response.shared_body = body_;
  return response;
}

HttpResponse Web::healthy() {
  look(monotonic_ns());
  if (body_ == nullptr) return {503, kText, "unhealthy: the pipeline does not answer\n"};
  return {200, kText, "healthy\n"};
}

HttpResponse Web::ready() {
  look(monotonic_ns());
  if (body_ == nullptr) return {503, kText, "not ready: the pipeline does not answer\n"};
  if (!complete_) return {503, kText, "not ready: data was lost in the last minute; noised_lost_total tells where\n"};
  return {200, kText, "ready\n"};
}

std::vector<HttpRoute> Web::routes() {
  std::vector<HttpRoute> routes;
  routes.push_back(
      {"/", PlainHandler([](const HttpRequest&) { return HttpResponse{200, "text/html; charset=utf-8", kLanding}; })});
  routes.push_back({"/metrics", PlainHandler([this](const HttpRequest&) { return metrics(); })});
  routes.push_back({"/-/healthy", PlainHandler([this](const HttpRequest&) { return healthy(); })});
  routes.push_back({"/-/ready", PlainHandler([this](const HttpRequest&) { return ready(); })});
  return routes;
}

}  // namespace noised::daemon
