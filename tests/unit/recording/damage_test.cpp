// SPDX-License-Identifier: Apache-2.0
// A file that is cut, or wrong somewhere, gives what lies before that, says so, and nothing else.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "account/lost_counts.h"
#include "unit/recording/scene.h"

using namespace noised;
using namespace noised::recording;
using namespace noised::test;

namespace {

struct Sample {
  TemporaryDirectory directory;
  std::string bytes;
  std::vector<std::string> detours;
  std::string report;

  Sample() {
    RecordedRun run;
    Recorder recorder(run.sources, run.status, run.description, 1024);
    auto file = create_recording(directory.path("good"));
    REQUIRE(file);
    REQUIRE(recorder.open());
    recorder.after_drain(run);
    for (int i = 0; i < 8; ++i) {
      run.drain(&recorder, 10);
      write_blocks(recorder, file.value());
    }
    finish(run, recorder);
    write_blocks(recorder, file.value());
    detours = run.detours;
    report = views::to_json(run.report());
    std::ostringstream text;
    text << std::ifstream(directory.path("good"), std::ios::binary).rdbuf();
    bytes = text.str();
  }

  [[nodiscard]] Result<Player> open(const std::string& changed) const {
    directory.write("changed", changed);
    return Player::open(directory.path("changed"));
  }
};

struct Survived {
  std::vector<std::string> detours;
  std::string report;
  std::string damage;
};

// Nothing if it is refused as a whole.
std::optional<Survived> survive(const Sample& sample, const std::string& changed) {
  auto player = sample.open(changed);
  if (!player) {
    CHECK(player.error().line().find("changed") != std::string::npos);
    return std::nullopt;
  }
  DetourTexts played(player.value().playback());
  while (player.value().step(&played)) {
  }
  return Survived{played.texts, views::to_json(player.value().report()), player.value().damage()};
}

void check_beginning(const Sample& sample, const Survived& played) {
  REQUIRE(played.detours.size() <= sample.detours.size());
  CHECK(std::equal(played.detours.begin(), played.detours.end(), sample.detours.begin()));
}

}  // namespace

TEST_CASE("a recording that is cut anywhere gives what came before, and says where it ends", "[recording]") {
  const Sample sample;
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  std::size_t refused = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::size_t size = i < 200 ? static_cast<std::size_t>(i) : random() % sample.bytes.size();
    const auto played = survive(sample, sample.bytes.substr(0, size));
    if (!played) {
      ++refused;
      continue;
    }
    INFO("cut after " << size);
    REQUIRE(played->damage.find("changed: ") != std::string::npos);
    CHECK(played->report.find("the rest of the recording: ") != std::string::npos);
    check_beginning(sample, *played);
  }
  CHECK(refused < 500);  // those within the description
}

TEST_CASE("a recording with a wrong bit gives what came before, and says where it is", "[recording]") {
  const Sample sample;
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  for (int i = 0; i < 1'000; ++i) {
    std::string changed = sample.bytes;
    const std::size_t at = random() % changed.size();
    changed[at] = static_cast<char>(changed[at] ^ (1 << (random() % 8)));
    const auto played = survive(sample, changed);
    if (!played) continue;
    INFO("byte " << at);
    REQUIRE_FALSE(played->damage.empty());
    check_beginning(sample, *played);
  }
}

TEST_CASE("blocks that are missing, twice there or in another order are not played", "[recording]") {
  const Sample sample;
  std::vector<std::pair<std::size_t, std::size_t>> blocks;  // begin, size
  for (std::size_t at = kRecordingMagic.size(); at < sample.bytes.size();) {
    std::uint32_t packed = 0;
    std::memcpy(&packed, sample.bytes.data() + at + 16, sizeof(packed));
    blocks.emplace_back(at, 40 + packed);
    at += 40 + packed;
  }
  REQUIRE(blocks.size() > 5);
  const auto bytes_of = [&](std::size_t block) {
    return sample.bytes.substr(blocks[block].first, blocks[block].second);
  };
  std::string head = sample.bytes.substr(0, blocks[2].first);
  for (const std::string& rest : {bytes_of(3) + bytes_of(4), bytes_of(1), bytes_of(3) + bytes_of(2)}) {
    const auto played = survive(sample, head + rest);
    REQUIRE(played);
    CHECK(played->damage.find("a block is missing, or twice here") != std::string::npos);
    check_beginning(sample, *played);
  }
  const auto more = survive(sample, sample.bytes + "x");
  REQUIRE(more);
  CHECK(more->detours == sample.detours);
  CHECK(more->damage.find("something follows the end") != std::string::npos);
  const auto good = survive(sample, sample.bytes);
  REQUIRE(good);
  CHECK(good->damage.empty());
  CHECK(good->report == sample.report);
}

TEST_CASE("what is no recording is refused with its name", "[recording]") {
  const TemporaryDirectory directory;
  directory.write("text", "hello");
  directory.write("other", "\x89noised.recording/9\r\n\x1a\nmore");
  const auto line = [&](const std::string& name) { return Player::open(directory.path(name)).error().line(); };
  CHECK(line("text").find("is no recording") != std::string::npos);
  CHECK(line("other").find("a recording of another version") != std::string::npos);
  CHECK(line("").find("is a directory") != std::string::npos);
  CHECK(line("none").find("No such file") != std::string::npos);
  CHECK(create_recording(directory.path("text")).error().line().find("exists") != std::string::npos);
}
