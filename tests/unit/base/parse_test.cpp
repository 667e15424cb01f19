// SPDX-License-Identifier: Apache-2.0
// Times, sizes and CPU lists: what is read, what is refused, and that refusals say how to write it.
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <string>

#include "base/cpus.h"
#include "base/text.h"
#include "base/units.h"

namespace noised {

using CpuNumbers = std::vector<unsigned>;

TEST_CASE("a time is a number and a unit") {
  CHECK(parse_time("200ns").value() == 200);
  CHECK(parse_time("1us").value() == 1'000);
  CHECK(parse_time("25ms").value() == 25'000'000);
  CHECK(parse_time("10s").value() == 10'000'000'000);
  CHECK(parse_time("2m").value() == 120'000'000'000);
  CHECK(parse_time("1h").value() == 3'600'000'000'000);
  CHECK(parse_time("0").value() == 0);
  CHECK(parse_time("0s").value() == 0);
}

TEST_CASE("a decimal fraction is exact or refused") {
  CHECK(parse_time("1.5ms").value() == 1'500'000);
  CHECK(parse_time("0.001us").value() == 1);
  CHECK(parse_time("1.000000001s").value() == 1'000'000'001);
  CHECK(parse_size("1.5KiB").value() == 1536);
  const auto half = parse_time("0.5ns");
  REQUIRE_FALSE(half);
  CHECK(half.error().what == "time '0.5ns' is not a whole number of nanoseconds");
}

TEST_CASE("what is not a time is a usage error with the remedy") {
  for (const char* text : {"", "ns", "-1ns", "+1ns", " 1ns", "1ns ", "1 ns", "1.ns", ".5s", "1.2.3s", "1e3ns", "0x1s",
                           "200", "1NS", "1min", "99999999999999999999ns", "6000000h", "0.00000000000000000001h"}) {
    INFO(text);
    const auto time = parse_time(text);
    REQUIRE_FALSE(time);
    CHECK(time.error().code == ExitCode::usage);
    CHECK(time.error().remedy == "write a number with ns, us, ms, s, m or h, such as 200ns");
  }
  CHECK(parse_time("200").error().what == "time '200' has no unit");
  CHECK(parse_time("1min").error().what == "time '1min' has an unknown unit");
}

TEST_CASE("the largest time is the largest number of nanoseconds") {
  CHECK(parse_time("18446744073709551615ns").value() == UINT64_MAX);
  CHECK_FALSE(parse_time("18446744073709551616ns"));
  CHECK_FALSE(parse_time("18446744073709552us"));
}

TEST_CASE("a size is in bytes or with a binary unit") {
  CHECK(parse_size("65536").value() == 65536);
  CHECK(parse_size("7B").value() == 7);
  CHECK(parse_size("512KiB").value() == 512 * 1024);
  CHECK(parse_size("2MiB").value() == 2 * 1024 * 1024);
  CHECK(parse_size("1GiB").value() == 1024 * 1024 * 1024);
  for (const char* text : {"", "MiB", "2MB", "2M", "2mib", "-1", "17179869184GiB"}) {
    INFO(text);
    REQUIRE_FALSE(parse_size(text));
    CHECK(parse_size(text).error().code == ExitCode::usage);
  }
}

TEST_CASE("a CPU list has numbers, ranges and strides") {
  CHECK(parse_cpu_list("").value() == CpuNumbers{});
  CHECK(parse_cpu_list("0").value() == CpuNumbers{0});
  CHECK(parse_cpu_list("1-3,5").value() == CpuNumbers{1, 2, 3, 5});
  CHECK(parse_cpu_list("5,1-3,2").value() == CpuNumbers{1, 2, 3, 5});
  CHECK(parse_cpu_list("2-2").value() == CpuNumbers{2});
  CHECK(parse_cpu_list("0-7:2/4").value() == CpuNumbers{0, 1, 4, 5});
  CHECK(parse_cpu_list("1-6:1/3,0").value() == CpuNumbers{0, 1, 4});
  CHECK(parse_cpu_list("8191").value() == CpuNumbers{8191});
}

TEST_CASE("what is not a CPU list is a usage error that quotes the bad part") {
  for (const char* text :
       {",",    "1,",    ",1",      "1,,2",    "a",       "1-",    "-1",   "1-2-3",        "3-1",         "1 2", " 1",
        "0-7:", "0-7:2", "0-7:0/4", "0-7:3/2", "0-7:2/0", "1:2/4", "8192", "0-4294967295", "99999999999", "1\n"}) {
    INFO(text);
    const auto cpus = parse_cpu_list(text);
    REQUIRE_FALSE(cpus);
    CHECK(cpus.error().code == ExitCode::usage);
    CHECK(cpus.error().remedy == "write numbers and ranges such as 1-3,5");
    CHECK(cpus.error().line().find('\n') == std::string::npos);
  }
  CHECK(parse_cpu_list("1,x-2").error().what == "CPU list '1,x-2': 'x-2' is neither a CPU nor a range");
  CHECK(parse_cpu_list("3-1").error().what == "CPU list '3-1': '3-1' runs backwards");
}

TEST_CASE("a CPU list is written as short as can be, and reads back") {
  CHECK(format_cpu_list({}) == "");
  CHECK(format_cpu_list({4}) == "4");
  CHECK(format_cpu_list({0, 1}) == "0-1");
  CHECK(format_cpu_list({0, 2, 3, 4, 7}) == "0,2-4,7");
  for (unsigned bits = 0; bits < 1024; ++bits) {
    CpuNumbers cpus;
    for (unsigned cpu = 0; cpu < 10; ++cpu) {
      if ((bits >> cpu & 1) != 0) cpus.push_back(cpu);
    }
    REQUIRE(parse_cpu_list(format_cpu_list(cpus)).value() == cpus);
  }
}

TEST_CASE("quoted user input stays on one line and short") {
  CHECK(in_quotes("1-3") == "'1-3'");
  CHECK(in_quotes("a\nb\tc\x7f") == "'a?b?c?'");
  CHECK(in_quotes(std::string(300, 'x')) == "'" + std::string(100, 'x') + "...'");
}

TEST_CASE("the nearest of some words is found, if one is near") {
  const std::string lines = "top\nreport\nrecord\nreload\n--threshold\n";
  CHECK(nearest("repotr", lines) == "report");  // two letters changed about
  CHECK(nearest("recrod", lines) == "record");
  CHECK(nearest("tpo", lines) == "top");
  CHECK(nearest("--treshhold", lines) == "--threshold");
  CHECK(nearest("report", lines) == "report");
  CHECK_FALSE(nearest("tip5", lines));
  CHECK_FALSE(nearest("", lines));
  CHECK_FALSE(nearest("something", lines));
  CHECK_FALSE(nearest(std::string(1000, 'x'), lines));
  CHECK_FALSE(nearest("report", ""));
}

}  // namespace noised
