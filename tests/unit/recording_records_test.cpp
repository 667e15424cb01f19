// SPDX-License-Identifier: Apache-2.0
// Numbers and records come back as they were written; what was not written so is refused.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "recording/player.h"
#include "recording/records.h"

using namespace noised;

namespace {

std::string some_description(unsigned cpus) {
  Description description;
  description.start = "2026-01-01T00:00:00Z";
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    CpuCounts& counts = description.base.cpus.emplace_back();
    counts.cpu = cpu;
    counts.threshold_ns = 200;
  }
  return to_json(description);
}

// What is wrong with the records of one block.
template <typename Write>
std::string problem_of(Write write) {
  std::array<char, 4096> room{};
  RecordWriter writer;
  writer.begin(room, 3);  // one more than the description has
  write(writer);
  auto playback = Playback::begin(some_description(2));
  REQUIRE(playback);
  return playback.value()->play({room.data(), writer.size()}, nullptr).value_or("");
}

}  // namespace

TEST_CASE("samples of the loop's work come back, each with its CPU", "[recording]") {
  struct Samples : PlayerVisitor {
    void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
      told.push_back({cpu, end_ns, iterations});
    }
    std::vector<std::array<std::uint64_t, 3>> told;
  };
  std::array<char, 4096> room{};
  RecordWriter writer;
  writer.begin(room, 2);
  writer.sample(1, 1'000, 0);
  writer.sample(0, UINT64_MAX, UINT64_MAX);
  writer.sample(1, 2'000, 77);
  auto playback = Playback::begin(some_description(2));
  REQUIRE(playback);
  Samples samples;
  CHECK_FALSE(playback.value()->play({room.data(), writer.size()}, &samples));
  CHECK(samples.told ==
        std::vector<std::array<std::uint64_t, 3>>{{1, 1'000, 0}, {0, UINT64_MAX, UINT64_MAX}, {1, 2'000, 77}});
}

TEST_CASE("a record of a CPU where there is none makes no sense", "[recording]") {
  for (const RecordTag tag : {RecordTag::interval, RecordTag::detour, RecordTag::moved, RecordTag::rested,
                              RecordTag::begins, RecordTag::waits, RecordTag::sample}) {
    std::array<char, 64> bytes{};
    bytes[0] = static_cast<char>(tag);
    auto playback = Playback::begin(some_description(0));
    REQUIRE(playback);
    CHECK(playback.value()->play({bytes.data(), bytes.size()}, nullptr) == "a record that makes no sense");
  }
}

TEST_CASE("a description from before there were samples and clocks is read", "[recording]") {
  auto json = nlohmann::json::parse(some_description(1));
  for (const char* const key : {"quantum_ns", "work", "grain_ns", "footprint_bytes", "policy", "priority"})
    json.erase(key);
  json["base"].erase("clock");
  json["base"]["cpus"][0].erase("switches");
  CHECK(parse_description(json.dump()).ok());
}

TEST_CASE("numbers of any size come back", "[recording]") {
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same every time
  std::array<char, 64> room{};
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t a = random() >> (random() % 64);
    const std::uint64_t b = random() >> (random() % 64);
    ByteWriter writer(room);
    writer.number(a);
    writer.distance(a, b);
    writer.distance(b, a);
    writer.text("abc");
    ByteReader reader({room.data(), writer.size()});
    REQUIRE(reader.number() == a);
    REQUIRE(reader.distance(a) == b);
    REQUIRE(reader.distance(b) == a);
    REQUIRE(reader.text() == "abc");
    REQUIRE((reader.good() && reader.at_end()));
    ByteReader cut({room.data(), writer.size() - 1});
    (void)cut.number();
    (void)cut.number();
    (void)cut.number();
    CHECK(cut.text().empty());
    CHECK_FALSE(cut.good());
  }
}

TEST_CASE("a number that does not fit 64 bits is refused", "[recording]") {
  ByteReader most("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  CHECK(most.number() == UINT64_MAX);
  CHECK(most.good());
  ByteReader more("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  CHECK(more.number() == 0);
  CHECK_FALSE(more.good());
}

TEST_CASE("records that contradict themselves end the playback, with the reason", "[recording]") {
  const Interval interval{1'000, 2'000, 0, Kind::irq, 0, 7, 0};
  CHECK(problem_of([&](RecordWriter& to) {
          to.source(Kind::irq, Category::io, "eth0");
          to.interval(1, interval);
          to.detour(1, {.start_ns = 900, .end_ns = 2'100, .overhead_ns = 200}, {});
        }).empty());
  CHECK(problem_of([&](RecordWriter& to) { to.interval(1, interval); }) == "an interval has a source without a name");
  CHECK(problem_of([&](RecordWriter& to) {
          to.detour(0, {.start_ns = 900, .end_ns = 2'100, .overhead_ns = 200}, {});
        }) == "the parts of a detour do not add up");
  CHECK(problem_of([&](RecordWriter& to) { to.detour(0, {.start_ns = 2'100, .end_ns = 900}, {}); }) ==
        "a detour ends before it begins");
  CHECK(problem_of([&](RecordWriter& to) { to.gap(0, RecordTag::moved, 2'100, 900); }) ==
        "a gap ends before it begins");
  CHECK(problem_of([&](RecordWriter& to) { to.begins(2, 1); }) == "a record that makes no sense");
  CHECK(problem_of([&](RecordWriter& to) { to.checkpoint("{}"); }).find("counts") != std::string::npos);
  for (const Kind kind : {Kind::none, Kind::hypervisor, Kind::hardware}) {
    CHECK(problem_of([&](RecordWriter& to) {
            to.source(kind, Category::hardware, "hardware");
            to.interval(1, interval);
          }) == "an interval has a source of no kernel activity");
  }
}

TEST_CASE("a description of more CPUs than there can be is refused", "[recording]") {
  CHECK(Playback::begin(some_description(8'192)));
  CHECK_FALSE(Playback::begin(some_description(8'193)));
  CHECK_FALSE(Playback::begin("{}"));
}
