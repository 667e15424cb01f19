// SPDX-License-Identifier: Apache-2.0
// A recording for the live view: what it shows at its end is what the replay reports, and it can be paused.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "noisectl/replay/replay_feed.h"
#include "unit/recording/scene.h"

using namespace noised;
using namespace noised::recording;
using namespace noised::test;
using client::ReplayFeed;
using client::TopSample;

namespace {

constexpr std::chrono::milliseconds kInterval{100};

/// A recording of about 5 s, with a checkpoint at every few milliseconds.
class Recorded {
 public:
  Recorded() {
    Recorder recorder(run.sources, run.status, run.description, 64);
    auto file = create_recording(path);
    REQUIRE(file);
    REQUIRE(recorder.open());
    recorder.after_drain(run);
    for (int i = 0; i < 100; ++i) {
      run.drain(&recorder, 50);
      write_blocks(recorder, file.value());
    }
    finish(run, recorder);
    write_blocks(recorder, file.value());
  }

  TemporaryDirectory directory;
  std::string path = directory.path("run");
  RecordedRun run;
};

std::unique_ptr<ReplayFeed> start(const std::string& path, double speed) {
  auto feed = ReplayFeed::start(path, speed, kInterval);
  REQUIRE(feed);
  return std::move(feed).value();
}

/// Every sample until the recording has ended.
std::vector<TopSample> samples_of(ReplayFeed& feed) {
  std::vector<TopSample> samples;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (samples.empty() || !samples.back().replay->ended) {
    REQUIRE(std::chrono::steady_clock::now() < patience);
    std::optional<Result<TopSample>> news = feed.take();
    if (!news) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    REQUIRE(*news);
    samples.push_back(std::move(*news).value());
  }
  return samples;
}

}  // namespace

TEST_CASE("the live view of a recording ends with its report", "[replay_top]") {
  const Recorded recorded;
  const auto feed = start(recorded.path, 1e6);
  const std::vector<TopSample> samples = samples_of(*feed);
  CHECK(views::to_json(samples.back().report) == views::to_json(recorded.run.report()));
  CHECK(samples.back().replay->position_ns == recorded.run.report().elapsed_ns);
  CHECK(samples.back().replay->problem.empty());
  CHECK(samples.back().histogram);
  CHECK(feed->damage().empty());
}

TEST_CASE("a recording takes its time, divided by the speed", "[replay_top]") {
  const Recorded recorded;
  const std::uint64_t length_ns = recorded.run.report().elapsed_ns;
  const double speed = static_cast<double>(length_ns) / 1e9;  // a second
  const auto began = std::chrono::steady_clock::now();
  const auto feed = start(recorded.path, speed);
  const std::vector<TopSample> samples = samples_of(*feed);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  CHECK(took > 0.95);  // what is due within 20 ms is not waited for
  CHECK(samples.size() >= 5);
  CHECK(samples.size() <= 12);
  for (std::size_t i = 1; i < samples.size(); ++i) {
    CHECK(samples[i].report.elapsed_ns >= samples[i - 1].report.elapsed_ns);
    // Rates are of observed time: it grows with the detours.
    CHECK(samples[i].report.cpus.at(0).observed_ns >= samples[i - 1].report.cpus.at(0).observed_ns);
  }
}

TEST_CASE("a paused recording stands still, and loses nothing", "[replay_top]") {
  const Recorded recorded;
  const double speed = static_cast<double>(recorded.run.report().elapsed_ns) / 5e8;
  const auto feed = start(recorded.path, speed);
  feed->pause(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what was under way arrives
  (void)feed->take();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  CHECK_FALSE(feed->take());
  feed->pause(false);
  CHECK(views::to_json(samples_of(*feed).back().report) == views::to_json(recorded.run.report()));
}

TEST_CASE("chains are of the last detours played when a source is opened", "[replay_top]") {
  const Recorded recorded;
  const auto feed = start(recorded.path, 1e6);
  const Report report = samples_of(*feed).back().report;
  CHECK_FALSE(feed->view());
  REQUIRE(recorded.run.detours.size() > ReplayFeed::kKept);
  const ReportSource& source = report.sources.front();
  feed->follow(client::TopKey{source.cpu, client::label_of(source.kind, source.name)});
  const auto chains = feed->view();
  REQUIRE(chains);
  std::uint64_t of_cpu = 0;
  for (std::size_t i = recorded.run.detours.size() - ReplayFeed::kKept; i < recorded.run.detours.size(); ++i) {
    const auto detour = views::parse_detour(recorded.run.detours[i]);
    of_cpu += detour.value().cpu == source.cpu ? 1 : 0;
  }
  CHECK(chains->detours == of_cpu);
  CHECK(chains->detours_with > 0);
  feed->follow(std::nullopt);
  CHECK_FALSE(feed->view());
}

TEST_CASE("of a damaged recording everything before the damage is shown", "[replay_top]") {
  const Recorded recorded;
  const auto size = std::filesystem::file_size(recorded.path);
  std::filesystem::resize_file(recorded.path, size / 2);
  const auto feed = start(recorded.path, 1e6);
  const TopSample last = samples_of(*feed).back();
  CHECK(last.replay->problem.find("the file ends inside of a block") != std::string::npos);
  CHECK(feed->damage().find("the file ends inside of a block") != std::string::npos);
  CHECK(last.report.elapsed_ns > recorded.run.report().elapsed_ns / 4);
  CHECK(last.report.elapsed_ns < recorded.run.report().elapsed_ns);
  CHECK(last.report.cpus.at(0).detours > 0);
}

TEST_CASE("what is no recording is an error at once, and one that is left ends at once", "[replay_top]") {
  const Recorded recorded;
  CHECK_FALSE(ReplayFeed::start("/dev/null", 1, kInterval));
  const auto began = std::chrono::steady_clock::now();
  start(recorded.path, 1e-3).reset();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
}
