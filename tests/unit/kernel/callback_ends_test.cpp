// SPDX-License-Identifier: Apache-2.0
// Kernels on which a callback must tell its own end.
#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>

#include "kernel/features.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::kernel;
using noised::test::TemporaryDirectory;

namespace {

void write_device(const std::filesystem::path& directory, const char* name, const char* device) {
  std::filesystem::create_directories(directory / name);
  std::ofstream(directory / name / "current_device") << device;
}

}  // namespace

TEST_CASE("callbacks can do without their ends where all timers are the local APIC's", "[trace]") {
  constexpr const char* kUsual = "#1 SMP PREEMPT_DYNAMIC Debian";
  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path();
  write_device(directory, "broadcast", "hpet\n");
  CHECK(why_callback_ends_are_needed(kUsual, directory) == directory.string() + " names no clock event device");
  write_device(directory, "clockevent0", "lapic-deadline\n");
  write_device(directory, "clockevent1", "lapic\n");
  write_device(directory, "clockevent2", "");  // offline
  CHECK_FALSE(why_callback_ends_are_needed(kUsual, directory));
  CHECK(why_callback_ends_are_needed("#1 SMP PREEMPT_RT Debian", directory) == "on PREEMPT_RT callbacks sleep");
  write_device(directory, "clockevent2", "Hyper-V clockevent\n");
  CHECK(why_callback_ends_are_needed(kUsual, directory) == "the clock event device is 'Hyper-V clockevent'");
  CHECK(why_callback_ends_are_needed(kUsual, directory / "nowhere"));
}
