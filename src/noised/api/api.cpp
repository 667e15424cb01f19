// SPDX-License-Identifier: Apache-2.0
// Handlers. They run on the HTTP thread, read snapshots and the feed, and cannot delay the pipeline.
#include "noised/api/api.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/clocks.h"
#include "base/text.h"
#include "noised/api/recording_stream.h"
#include "noised/api/watch_stream.h"
#include "probe/footprint.h"
#include "views/detour.h"
#include "views/views.h"

namespace noised::daemon {
namespace {

constexpr std::size_t kDetoursPerRead = 64;
constexpr const char* kRecordingType = "application/octet-stream";

// The address of an instruction of a program is for root alone: it tells where that program is in memory.
void hide_faults(DetourView& view) {
  for (DetourEntryView& entry : view.entries) {
    if (entry.kind != to_string(Kind::page_fault)) continue;
    std::erase_if(entry.detail, [](const auto& each) { return each.first == "ip" && each.second.starts_with("0x"); });
  }
}

// What a client may read of detours.
struct DetourReader {
  ShownNames names;
  bool faults;  // also where in their programs tasks had page faults

  void show(DetourView& view) const {
    names.apply(view);
    if (!faults) hide_faults(view);
  }
};

// The longest detours as lines of JSON, the longest first.
class LongestStream : public StreamSource {
 public:
  LongestStream(const ApiContext& context, std::size_t count, std::uint64_t min_ns, const DetourReader& reader) {
    const auto held = context.sources.hold();
    for (const account::FeedDetour& detour : context.feed.longest(count)) {
      if (detour.duration_ns < min_ns) break;
      DetourView view = to_view(detour, context.sources);
      reader.show(view);
      pending_ += views::to_json(view) + '\n';
    }
  }

  std::size_t read(char* buffer, std::size_t capacity) override {
    if (at_ == pending_.size()) return kEnd;
    const std::size_t length = std::min(capacity, pending_.size() - at_);
    std::memcpy(buffer, pending_.data() + at_, length);
    at_ += length;
    return length;
  }

 private:
  std::string pending_;
  std::size_t at_ = 0;
};

// Detours as lines of JSON, from a position of the feed on.
class DetourStream : public StreamSource {
 public:
  DetourStream(const ApiContext& context, bool follow, std::uint64_t min_ns, const DetourReader& reader)
      : context_(context), follow_(follow), min_ns_(min_ns), reader_(reader) {
    const std::uint64_t end = context_.feed.end();
    until_ = end;
    next_ = follow ? end : 0;
  }

  std::size_t read(char* buffer, std::size_t capacity) override {
    if (at_ == pending_.size()) refill();
    if (at_ == pending_.size()) return at_end() ? kEnd : 0;
    const std::size_t length = std::min(capacity, pending_.size() - at_);
    std::memcpy(buffer, pending_.data() + at_, length);
    at_ += length;
    return length;
  }

 private:
  // Until there is a line to send, or nothing left to look at: a filter may pass over many detours.
  void refill() {
    pending_.clear();
    at_ = 0;
    const auto held = context_.sources.hold();
    while (pending_.empty() && !at_end()) {
      const account::DetourFeed::Batch batch = context_.feed.read(next_, kDetoursPerRead);
      if (batch.next == next_ && batch.lost == 0) return;
      next_ = batch.next;
      if (batch.lost != 0) pending_ += views::lost_line_json(batch.lost) + "\n";
      for (const account::FeedDetour& detour : batch.detours) {
        if (detour.duration_ns < min_ns_) continue;
        DetourView view = to_view(detour, context_.sources);
        reader_.show(view);
        pending_ += views::to_json(view) + '\n';
      }
    }
  }

  // A listing ends with what was there when it began: where detours come faster than it is read, it would have no end.
  [[nodiscard]] bool at_end() const { return !follow_ && next_ >= until_; }

  ApiContext context_;
  bool follow_;
  std::uint64_t min_ns_;
  DetourReader reader_;
  std::uint64_t until_ = 0;
  std::uint64_t next_ = 0;
  std::string pending_;
  std::size_t at_ = 0;
};

template <typename Build>
HttpResponse from_snapshot(const ApiContext& context, account::SnapshotDetail detail, std::size_t recent_slots,
                           Build build) {
  HttpResponse response;
  const auto held = context.sources.hold();
  const bool fresh = context.snapshots.read(
      [&](const account::Snapshot& snapshot) { response.body = build(snapshot) + '\n'; }, detail, recent_slots);
  return fresh ? response : http_error(503, "the pipeline does not answer");
}

std::string status_json(const ApiContext& context, const account::Snapshot& snapshot, const ShownNames& /*names*/) {
  StatusView status = context.settings;
  status.uptime_ns = snapshot.elapsed_ns;
  status.drain_interval_ns = snapshot.drain_interval_ns;
  status.clock = snapshot.clock;
  status.lost = snapshot.lost;
  status.orphan_intervals = snapshot.orphan_intervals;
  status.programs = snapshot.programs;
  status.aside = snapshot.aside;
  status.entry_cost = snapshot.entry_cost;
  status.unsupported = context.run.unsupported;
  snapshot.bounds.for_each([&](account::GapPlace place, Kind kind, const account::LearnedBounds::Row& row) {
    status.overhead_bounds.push_back(
        {to_string(place), std::string(to_string(kind)), row.cpus, row.least_ns, row.most_ns, row.samples});
  });
  return views::to_json(status);
}

std::string report_json(const ApiContext& context, const account::Snapshot& snapshot, const ShownNames& names) {
  Report report = account::build_report(snapshot, context.sources, context.run);
  names.apply(report);
  return views::to_json(report);
}

std::string histograms_json(const ApiContext& context, const account::Snapshot& snapshot, const ShownNames& names) {
  HistogramView histograms = account::build_histograms(snapshot, context.sources);
  names.apply(histograms);
  return views::to_json(histograms);
}

std::string recent_json(const ApiContext& context, const account::Snapshot& snapshot, const ShownNames& names) {
  Report report = account::build_recent(snapshot, context.sources, context.run);
  names.apply(report);
  report.start = utc_now(report.elapsed_ns);
  return views::to_json(report);
}

constexpr std::uint64_t kMostRecentNs = (account::kRecentSlots - 1) * account::kRecentSlotNs;

HttpResponse recent(const ApiContext& context, const HttpRequest& request) {
  std::uint64_t last_ns = kMostRecentNs;
  if (const auto last = request.query("last_ns")) {
    const auto ns = to_number<std::uint64_t>(*last);
    if (!ns || *ns == 0 || *ns > kMostRecentNs)
      return http_error(400, fmt::format("last_ns: 1 to {} expected, not '{}'", kMostRecentNs, *last));
    last_ns = *ns;
  }
  const ShownNames names = context.names.for_client(request);
  return from_snapshot(context, account::SnapshotDetail::recent, account::recent_slots_of(last_ns),
                       [&](const account::Snapshot& snapshot) { return recent_json(context, snapshot, names); });
}

StreamReply open_detours(const ApiContext& context, const HttpRequest& request) {
  const std::string follow = request.query("follow").value_or("0");
  if (follow != "0" && follow != "1") return http_error(400, "follow: 0 or 1 expected, not '" + follow + "'");
  const std::string min = request.query("min_ns").value_or("0");
  std::uint64_t min_ns = 0;
  const auto [end, error] = std::from_chars(min.data(), min.data() + min.size(), min_ns);
  if (error != std::errc{} || end != min.data() + min.size()) {
    return http_error(400, "min_ns: nanoseconds expected, not '" + min + "'");
  }
  const auto longest = request.query("longest");
  const DetourReader reader{context.names.for_client(request), request.is_root()};
  if (!longest) return std::make_unique<DetourStream>(context, follow == "1", min_ns, reader);
  const auto count = to_number<std::uint32_t>(*longest);
  if (!count || *count == 0) return http_error(400, "longest: a number above 0 expected, not '" + *longest + "'");
  if (follow == "1") return http_error(400, "longest: those of the past, so follow=1 makes no sense");
  return std::make_unique<LongestStream>(context, *count, min_ns, reader);
}

// What is wrong with the request, or what it wants the probes to run.
Result<PhaseRequest> phase_request(const HttpRequest& request) {
  PhaseRequest phases;
  const std::string grain = request.query("grain_ns").value_or("");
  const auto bytes = request.query("footprint_bytes");
  const auto footprint = request.query("footprint");
  const auto policy = request.query("policy");
  const auto time = probe::parse_grain(grain + "ns");
  if (!time || time.value() == 0) return failure("grain_ns: 1000 to 1000000000 expected, not '" + grain + "'");
  phases.grain_ns = time.value();
  if (bytes && footprint) return failure("footprint: in bytes or as a cache, not both");
  const auto choice = probe::parse_footprint(bytes ? *bytes : footprint.value_or("0"));
  if (!choice) return choice.error();
  phases.footprint = choice.value();
  if (policy && *policy != "other" && *policy != "fifo")
    return failure("policy: other or fifo expected, not '" + *policy + "'");
  if (policy) phases.fifo = *policy == "fifo";
  return phases;
}

// Held first, so that nobody else records what the probes do for this one. Without a grain they run their loop, as soon
// as phases of somebody who has gone end.
StreamReply record(const ApiContext& context, const PhaseRequest& phases, const HttpRequest& request) {
  if (context.settings.mode == "auto") {
    return http_error(409,
                      "loops and watching take turns here, and a recording is of one of them: set mode = \"probe\" or "
                      "mode = \"watch\"");
  }
  recording::Disclosure told = context.names.for_client(request).disclosure();
  told.faults = request.is_root();
  told.reader = fmt::format("process {} of user {}", request.client(), request.user());
  const bool change = phases.grain_ns != 0 || context.phases.active();
  if (!(change ? context.recorder.hold(std::move(told)) : context.recorder.open(std::move(told))))
    return http_error(423, context.recorder.reader() + " is recording: wait until that has ended");
  auto stream = std::make_unique<RecordingStream>(context.recorder);  // lets go of it where it is not returned
  if (!change) return stream;
  const auto changed = context.phases.ask(phases, context.snapshots.asked_descriptor());
  if (!changed) return http_error(503, "the probes do not answer: is a probed CPU offline, or held by something else?");
  if (!*changed) return http_error(409, changed->error().line());
  return stream;
}

// Nothing that a member of the group may ask for changes what is measured.
StreamReply open_recording(const ApiContext& context, const HttpRequest& request) {
  for (const char* const parameter : {"grain_ns", "footprint_bytes", "footprint", "policy"}) {
    if (request.query(parameter)) return http_error(400, std::string(parameter) + ": phases are a POST to /v1/phases");
  }
  return record(context, {}, request);
}

StreamReply open_phases(const ApiContext& context, const HttpRequest& request) {
  const auto phases = phase_request(request);
  if (!phases) return http_error(400, phases.error().line());
  if (context.settings.mode == "watch") {
    return http_error(
        409, "tasks are watched here, and there is no loop that could run phases: set mode = \"probe\", and name CPUs");
  }
  return record(context, phases.value(), request);
}

HttpResponse reload(const ApiContext& context) {
  const auto outcome = context.reloads.ask(context.snapshots.asked_descriptor());
  if (!outcome) return http_error(503, "the daemon does not answer");
  if (!*outcome) return http_error(409, outcome->error().line());
  const nlohmann::json body = {{"next_start", outcome->value()}};
  return {200, "application/json", body.dump() + "\n"};
}

}  // namespace

std::vector<HttpRoute> make_routes(const ApiContext& context) {
  const auto plain = [&context](auto build) {
    return PlainHandler([context, build](const HttpRequest& request) {
      const ShownNames names = context.names.for_client(request);
      return from_snapshot(context, account::SnapshotDetail::all, account::kRecentSlots,
                           [&](const account::Snapshot& snapshot) { return build(context, snapshot, names); });
    });
  };
  std::vector<HttpRoute> routes;
  routes.push_back({"/v1/status", plain(status_json)});
  routes.push_back({"/v1/report", plain(report_json)});
  routes.push_back(
      {"/v1/recent", PlainHandler([context](const HttpRequest& request) { return recent(context, request); })});
  routes.push_back({"/v1/histogram", plain(histograms_json)});
  routes.push_back(
      {"/v1/detours", StreamHandler([context](const HttpRequest& request) { return open_detours(context, request); })});
  routes.push_back({"/v1/recording",
                    StreamHandler([context](const HttpRequest& request) { return open_recording(context, request); }),
                    kRecordingType});
  routes.push_back({"/v1/phases",
                    RootHandler{[context](const HttpRequest& request) { return open_phases(context, request); }},
                    kRecordingType});
  routes.push_back({"/v1/watch", StreamHandler([context](const HttpRequest& request) -> StreamReply {
                      if (context.watch != nullptr) return open_watch(*context.watch, request);
                      return http_error(409, "loops measure here, and no tasks are watched: set mode = \"watch\"");
                    })});
  routes.push_back({"/v1/reload", RootHandler{[context](const HttpRequest&) { return reload(context); }}});
  return routes;
}

}  // namespace noised::daemon
