// SPDX-License-Identifier: Apache-2.0
// Once everything has been seen, counting and taking snapshots allocate nothing. Replaces the program's operator new.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "model/tables.h"

namespace {

// Per thread, so that other threads of the test program do not count here.
thread_local std::uint64_t allocations = 0;
thread_local std::uint64_t allocated_bytes = 0;

void* counted_allocation(std::size_t size) noexcept {
  ++allocations;
  allocated_bytes += size;
  return std::malloc(size == 0 ? 1 : size);
}

void* counted_allocation_or_throw(std::size_t size) {
  void* memory = counted_allocation(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// All forms but the aligned ones, which nothing here uses: a sanitizer's own versions of the rest would not call
// these, and would object to memory from one pair freed by the other.
void* operator new(std::size_t size) { return counted_allocation_or_throw(size); }
void* operator new[](std::size_t size) { return counted_allocation_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted_allocation(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted_allocation(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace {

using noised::CombinationTable;
using noised::CpuStatistics;
using noised::Histogram;
using noised::Kind;
using noised::SourceId;

// The same detours for the same seed: the second time, nothing in them is new.
void add_detours(CpuStatistics& cpu, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 5000; ++i) {
    std::array<SourceId, 20> sources{};
    const std::size_t count = random() % sources.size();
    std::iota(sources.begin(), sources.end(), static_cast<SourceId>(random() % 200));
    const std::uint64_t self_ns = random() >> (4 + random() % 60);
    for (std::size_t s = 0; s < count; ++s) cpu.add_source(sources[s], Kind::task, self_ns);
    cpu.add_detour({.end_ns = self_ns}, {.explained_ns = self_ns});
    cpu.add_combination(std::span(sources).first(count), self_ns);
  }
}

template <typename Action>
std::uint64_t allocations_during(Action&& action) {
  const std::uint64_t before = allocations;
  action();
  return allocations - before;
}

}  // namespace

TEST_CASE("this program's allocations are counted", "[statistics]") {
  REQUIRE(allocations_during([] { std::vector<int> vector(100); }) > 0);
  REQUIRE(allocations_during([] { std::make_unique<std::array<int, 64>>(); }) > 0);
}

TEST_CASE("counting what was seen before allocates nothing", "[statistics]") {
  CpuStatistics cpu;
  REQUIRE(allocations_during([&] { add_detours(cpu, 1); }) > 0);
  REQUIRE(cpu.combinations().other().moments.count() > 0);  // the full table is part of the steady state
  REQUIRE(allocations_during([&] { add_detours(cpu, 1); }) == 0);
}

TEST_CASE("new combinations allocate nothing once the table is full", "[statistics]") {
  CombinationTable table(4);
  for (SourceId id = 0; id < 4; ++id) table.add(std::span(&id, 1), 1);
  REQUIRE(allocations_during([&] {
            for (SourceId id = 100; id < 200; ++id) table.add(std::span(&id, 1), 1);
          }) == 0);
  REQUIRE(table.other().moments.count() == 100);
}

TEST_CASE("a snapshot into an earlier one allocates nothing", "[statistics]") {
  CpuStatistics cpu;
  CpuStatistics snapshot;
  add_detours(cpu, 2);
  REQUIRE(allocations_during([&] { cpu.copy_to(snapshot); }) > 0);
  add_detours(cpu, 2);
  REQUIRE(allocations_during([&] { cpu.copy_to(snapshot); }) == 0);
  REQUIRE(snapshot.totals().detours == 10000);
}

TEST_CASE("one new source costs a snapshot that source, not all of them", "[statistics]") {
  CpuStatistics cpu;
  CpuStatistics snapshot;
  for (SourceId id = 0; id < 100; ++id) cpu.add_source(id, Kind::task, 1000);
  cpu.copy_to(snapshot);
  cpu.add_source(100, Kind::task, 1000);
  // Its place in the vector, itself, and one octave.
  REQUIRE(allocations_during([&] { cpu.copy_to(snapshot); }) <= 3);
  REQUIRE(snapshot.source(100)->moments.count() == 1);
}

TEST_CASE("a source of narrow range costs at most 2 KiB", "[statistics]") {
  CpuStatistics cpu;
  cpu.add_source(0, Kind::task, 0);
  const std::uint64_t before = allocated_bytes;
  for (std::uint64_t self_ns = 1024; self_ns < 4096; ++self_ns) cpu.add_source(1, Kind::vector, self_ns);
  REQUIRE(allocated_bytes - before > 0);
  REQUIRE(allocated_bytes - before <= 2048);
}

TEST_CASE("a histogram allocates once for each octave", "[statistics]") {
  Histogram histogram;
  REQUIRE(allocations_during([&] {
            for (std::uint64_t value = 4096; value < 8192; ++value) histogram.add(value);
          }) == 1);
  REQUIRE(allocations_during([&] { histogram.add(8192); }) == 1);
  REQUIRE(allocations_during([&] { histogram.add(UINT64_MAX); }) == 1);
}
