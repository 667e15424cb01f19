// SPDX-License-Identifier: Apache-2.0
// Numbers and records come back as they were written; what was not written so is refused.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "recording/player.h"
#include "recording/records.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;

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

TaskRun run_of(std::uint64_t start_ns, std::uint64_t end_ns) {
  TaskRun run;
  run.start_ns = start_ns;
  run.end_ns = end_ns;
  return run;
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

TEST_CASE("a recording has the numbers of interrupts and tasks, and no address of a function or of a program",
          "[recording]") {
  constexpr std::uint64_t kAddress = 0xffffffff81234567U;
  std::vector<char> room(RecordWriter::kLongestRecord * kKindCount);
  RecordWriter writer;
  writer.begin(room, 1);
  for (std::size_t kind = 0; kind < kKindCount; ++kind)
    writer.interval(0, {1'000 * kind, 1'000 * kind + 500, 0, static_cast<Kind>(kind), 0, kAddress, 0, 0});
  RecordReader reader({room.data(), writer.size()}, 1);
  std::size_t numbers = 0;
  std::size_t seen = 0;
  for (Record record; reader.next(record);) {
    if (record.tag != RecordTag::interval) continue;
    const auto kind = static_cast<Kind>(seen++);
    const bool is_number = kind == Kind::irq || kind == Kind::vector || kind == Kind::softirq || kind == Kind::task;
    INFO(to_string(kind));
    CHECK(record.interval.id == (is_number ? kAddress : 0));
    numbers += is_number ? 1 : 0;
  }
  CHECK(reader.good());
  CHECK(seen == kKindCount);
  CHECK(numbers == 4);
}

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
                              RecordTag::begins, RecordTag::waits, RecordTag::sample, RecordTag::entries,
                              RecordTag::loss, RecordTag::run, RecordTag::current, RecordTag::stolen}) {
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
          to.detour(1, {.start_ns = 900, .end_ns = 2'100, .parts = {.overhead_ns = 200}}, {});
        }).empty());
  CHECK(problem_of([&](RecordWriter& to) { to.interval(1, interval); }) == "an interval has a source without a name");
  CHECK(problem_of([&](RecordWriter& to) {
          to.detour(0, {.start_ns = 900, .end_ns = 2'100, .parts = {.overhead_ns = 200}}, {});
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

TEST_CASE("records of watched tasks that contradict themselves end the playback, with the reason", "[recording]") {
  LedgerEntry entry;
  entry.start_ns = 1'000;
  entry.self_ns = 500;
  const Loss loss{{}, 12, 1, 0, LossKind::queued, 700};
  const RecordedDetour divided{.start_ns = 900, .end_ns = 1'600, .parts = {.overhead_ns = 200}};
  const auto named = [](RecordWriter& to) {
    to.source(Kind::irq, Category::io, "eth0");
    to.source(Kind::task, Category::scheduling, "rank");
  };
  CHECK(problem_of([&](RecordWriter& to) {
          named(to);
          to.entries(1, std::span(&entry, 1));
          to.loss(1, divided, loss, {});
        }).empty());
  CHECK(problem_of([&](RecordWriter& to) {
          named(to);
          to.loss(1, divided, loss, {});
        }) == "the parts of a loss do not add up");
  CHECK(problem_of([&](RecordWriter& to) {
          named(to);
          to.entries(1, std::span(&entry, 1));
          to.loss(1, {.start_ns = 900, .end_ns = 1'300}, loss, {});
        }) == "the parts of a loss do not add up");
  CHECK(problem_of([&](RecordWriter& to) { to.entries(1, std::span(&entry, 1)); }) ==
        "an entry has a source without a name");
  CHECK(problem_of([&](RecordWriter& to) {
          to.source(Kind::overhead, Category::overhead, "overhead");
          to.entries(1, std::span(&entry, 1));
        }) == "an entry has a source of no kernel activity");
  CHECK(problem_of([&](RecordWriter& to) {
          named(to);
          to.entries(1, std::span(&entry, 1));
          to.entries(0, std::span(&entry, 1));
        }) == "entries of two losses at once");
  for (const int what : {0, 1, 2}) {
    CHECK(problem_of([&](RecordWriter& to) {
            named(to);
            to.entries(1, std::span(&entry, 1));
            if (what == 0) to.loss(0, divided, loss, {});
            if (what == 1) to.begins(1, 1);
            if (what == 2) to.run(1, run_of(1, 2), {});
          }) == "entries of no loss");
  }
  CHECK(problem_of([&](RecordWriter& to) { to.loss(1, {.start_ns = 900, .end_ns = 900}, loss, {}); }) ==
        "a task without a name");
  CHECK(problem_of([&](RecordWriter& to) { to.loss(1, {.start_ns = 900, .end_ns = 800}, loss, {}); }) ==
        "a loss ends before it begins");
  CHECK(problem_of([&](RecordWriter& to) { to.run(1, run_of(900, 900), {}); }) == "a task without a name");
  CHECK(problem_of([&](RecordWriter& to) { to.run(1, run_of(900, 800), {}); }) == "a run ends before it begins");
  CHECK(problem_of([&](RecordWriter& to) { to.current(1, {12, 0, 0, 900}, 800); }) ==
        "a task has its CPU until before it had it");
}

TEST_CASE("a description of more CPUs than there can be is refused", "[recording]") {
  CHECK(Playback::begin(some_description(8'192)));
  CHECK_FALSE(Playback::begin(some_description(8'193)));
  CHECK_FALSE(Playback::begin("{}"));
}
