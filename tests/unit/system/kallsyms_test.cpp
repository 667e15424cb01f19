// SPDX-License-Identifier: Apache-2.0
// Addresses to functions, and modules that come and go: on trees of files that are made up.
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "system/kallsyms.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::system;
using noised::test::TemporaryDirectory;

namespace {

const std::string kKernel =
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 t tick_nohz_handler\n"
    "ffffffff81000100 t alias_of_it\n"
    "ffffffff81000200 D some_data\n"
    "garbage\n"
    "ffffffff81000300 t last\n";
// As on a kernel whose function tracer is on: the last symbol before all modules.
const std::string kTrampoline = "ffffffffc0200000 t ftrace_trampoline\t[__builtin__ftrace]\n";
const std::string kNullBlk =
    "ffffffffc0218000 t null_init_hctx\t[null_blk]\n"
    "ffffffffc0218050 t null_cmd_timer_expired\t[null_blk]\n";
const std::string kNullBlkLine = "null_blk 98304 0 - Live 0xffffffffc0218000\n";
constexpr std::uint64_t kTimer = 0xffffffffc0218050;

}  // namespace

TEST_CASE("kernel symbols are found at and inside functions", "[trace]") {
  const Kallsyms symbols =
      Kallsyms::parse(kKernel + "ffffffffc0000000 t module_function\t[module]\nffffffff81000400 t z");
  CHECK(symbols.at(0xffffffff81000100) == "tick_nohz_handler");
  CHECK_FALSE(symbols.at(0xffffffff81000110).has_value());
  CHECK(symbols.around(0xffffffff81000100) == "tick_nohz_handler");
  CHECK(symbols.around(0xffffffff81000110) == "tick_nohz_handler+0x10");
  CHECK(symbols.at(0xffffffffc0000000) == "module_function");
  CHECK(symbols.around(0xffffffff81000400) == "z");
  for (const std::uint64_t nowhere : {0x1000ULL, 0xffffffff80ffffffULL, 0xffffffffd0000000ULL, ~0ULL}) {
    CHECK_FALSE(symbols.at(nowhere).has_value());
    CHECK_FALSE(symbols.around(nowhere).has_value());
  }
  CHECK(Kallsyms::parse("0000000000000000 T hidden\n").empty());
}

TEST_CASE("an address far behind a function, or behind its module, is in none", "[trace]") {
  const Kallsyms symbols = Kallsyms::parse(kKernel + kTrampoline + "ffffffffc0300100 t nvme_irq\t[nvme]\n",
                                           "nvme 4096 2 ext4,xfs, Live 0xffffffffc0300000 (E)\n");
  CHECK(symbols.around(0xffffffff81000300 + 0xffff) == "last+0xffff");
  CHECK_FALSE(symbols.around(0xffffffff81000300 + 0x10000).has_value());
  CHECK(symbols.around(0xffffffffc0300fff) == "nvme_irq+0xeff");
  CHECK_FALSE(symbols.around(0xffffffffc0301000).has_value());
  // Nobody says how long what no module has is.
  CHECK(symbols.around(0xffffffffc0200000) == "ftrace_trampoline");
  CHECK_FALSE(symbols.around(0xffffffffc0200010).has_value());
}

TEST_CASE("modules that load, unload and come back are followed", "[trace]") {
  const TemporaryDirectory proc;
  proc.write("kallsyms", kKernel + kTrampoline);
  proc.write("modules", "");
  Kallsyms symbols = Kallsyms::open(proc.path());
  CHECK(symbols.follows_modules());
  CHECK_FALSE(symbols.refresh());
  CHECK_FALSE(symbols.at(kTimer).has_value());

  proc.write("kallsyms", kKernel + kNullBlk + kTrampoline);
  proc.write("modules", kNullBlkLine);
  CHECK(symbols.refresh());
  CHECK(symbols.at(kTimer) == "null_cmd_timer_expired");
  CHECK(symbols.around(kTimer + 8) == "null_cmd_timer_expired+0x8");
  CHECK(symbols.around(0xffffffff81000110) == "tick_nohz_handler+0x10");

  // Who uses it, and how often, is no news; nor is a symbol that comes without a module.
  proc.write("kallsyms", kKernel);
  proc.write("modules", "null_blk 98304 7 configfs,dm_mod, Live 0xffffffffc0218000\n");
  CHECK_FALSE(symbols.refresh());
  CHECK(symbols.at(kTimer) == "null_cmd_timer_expired");

  proc.write("modules", "");
  CHECK(symbols.refresh());
  CHECK_FALSE(symbols.at(kTimer).has_value());

  proc.write("kallsyms", kKernel + "ffffffffc0218050 t other_timer\t[other]\n");
  proc.write("modules", "other 98304 0 - Live 0xffffffffc0218000\n");
  CHECK(symbols.refresh());
  CHECK(symbols.at(kTimer) == "other_timer");

  proc.write("kallsyms", kKernel + "ffffffffc0700050 t other_timer\t[other]\n");
  proc.write("modules", "other 98304 0 - Live 0xffffffffc0700000\n");
  CHECK(symbols.refresh());
  CHECK_FALSE(symbols.at(kTimer).has_value());
  CHECK(symbols.at(0xffffffffc0700050) == "other_timer");
}

TEST_CASE("what a module needs for its start only is forgotten when it has started", "[trace]") {
  const TemporaryDirectory proc;
  proc.write("kallsyms", kKernel + kNullBlk + "ffffffffc0228000 t init_module\t[null_blk]\n");
  proc.write("modules", "null_blk 102400 1 - Loading 0xffffffffc0218000\n");
  Kallsyms symbols = Kallsyms::open(proc.path());
  CHECK(symbols.at(0xffffffffc0228000) == "init_module");
  proc.write("kallsyms", kKernel + kNullBlk);
  proc.write("modules", kNullBlkLine);
  CHECK(symbols.refresh());
  CHECK_FALSE(symbols.at(0xffffffffc0228000).has_value());
}

TEST_CASE("symbols of many modules are read across the pieces of the files", "[trace]") {
  const TemporaryDirectory proc;
  std::string text = kKernel;
  std::string modules;
  constexpr std::uint64_t kFirst = 0xffffffffc0000000;
  constexpr std::uint64_t kCount = 3000;  // 200 KB of each
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::string name = "module_" + std::to_string(i);
    const std::string address = fmt::format("{:x}", kFirst + 16 * i);
    text += address + " t function_of_" + name + "\t[" + name + "]\n";
    modules += name + " 16 1 a_user_of_it,another_user_of_it, Live 0x" + address + "\n";
  }
  proc.write("kallsyms", text);
  proc.write("modules", modules);
  const Kallsyms symbols = Kallsyms::open(proc.path());
  for (std::uint64_t i = 0; i < kCount; i += 7) {
    REQUIRE(symbols.at(kFirst + 16 * i) == "function_of_module_" + std::to_string(i));
    REQUIRE(symbols.around(kFirst + 16 * i + 15) == "function_of_module_" + std::to_string(i) + "+0xf");
  }
  CHECK_FALSE(symbols.around(kFirst + 16 * kCount).has_value());
}

TEST_CASE("where there are no addresses or no modules, nothing is read again", "[trace]") {
  const TemporaryDirectory proc;
  CHECK(Kallsyms::open(proc.path()).empty());
  proc.write("kallsyms", "0000000000000000 T _text\n");
  proc.write("modules", "");
  Kallsyms hidden = Kallsyms::open(proc.path());
  CHECK(hidden.empty());
  proc.write("modules", kNullBlkLine);
  CHECK_FALSE(hidden.refresh());

  const TemporaryDirectory built_in;
  built_in.write("kallsyms", kKernel);
  Kallsyms fixed = Kallsyms::open(built_in.path());
  CHECK_FALSE(fixed.empty());
  CHECK_FALSE(fixed.follows_modules());
  CHECK_FALSE(fixed.refresh());
}

TEST_CASE("the tick's callback is found by either name", "[trace]") {
  CHECK(tick_function(Kallsyms::parse(kKernel)) == 0xffffffff81000100);
  CHECK(tick_function(Kallsyms::parse(
            "ffffffff81000100 t tick_sched_timer_dying\nffffffff81000200 t tick_sched_timer\n")) == 0xffffffff81000200);
  CHECK(tick_function(Kallsyms::parse("")) == 0);
  CHECK(Kallsyms::parse(kKernel).address_of("tick") == 0);
}
