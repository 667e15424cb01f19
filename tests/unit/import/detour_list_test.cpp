// SPDX-License-Identifier: Apache-2.0
// Lists of detours: what is read, and which line is told where it is not.
#include <catch2/catch_test_macros.hpp>

#include "import/detour_list.h"

using namespace noised;
using noised::imports::DetourList;
using noised::imports::read_detour_list;

namespace {

DetourList list_of(std::string_view text) {
  auto list = read_detour_list(text, "list");
  INFO((list ? "" : list.error().line()));
  REQUIRE(list);
  return std::move(list).value();
}

std::string refusal_of(std::string_view text) {
  const auto list = read_detour_list(text, "list");
  REQUIRE_FALSE(list);
  CHECK(list.error().code == ExitCode::usage);
  CHECK_FALSE(list.error().remedy.empty());
  return list.error().what;
}

}  // namespace

TEST_CASE("a list of detours has its columns in any order, and comes out by start", "[import]") {
  const DetourList list = list_of(
      "# of a node\nsource,cpu,note,start_ns,duration_ns\r\n"
      "task:crond,3,x,500,100\r\n\"irq:eth0, of \"\"us\"\"\",1,,200,50\n\ntask:crond,1,,300,1\n,0,,5,6\n");
  REQUIRE(list.detours.size() == 4);
  REQUIRE(list.sources.size() == 3);
  CHECK(list.detours[0].start_ns == 5);
  CHECK(list.sources[list.detours[0].source].kind == Kind::unexplained);
  CHECK(list.detours[1].cpu == 1);
  CHECK(list.detours[1].end_ns == 250);
  CHECK(list.detours[1].line == 4);
  CHECK(list.sources[list.detours[1].source].name == "eth0, of \"us\"");
  CHECK(list.detours[2].source == list.detours[3].source);
  CHECK(list.sources[list.detours[3].source].kind == Kind::task);
  CHECK(list.detours[3].cpu == 3);
}

TEST_CASE("a list may tell ends, and no CPU and no source", "[import]") {
  const DetourList list = list_of("start_ns,end_ns\n10,20\n20,21");
  REQUIRE(list.detours.size() == 2);
  CHECK(list.detours[1].end_ns == 21);
  CHECK(list.detours[1].cpu == 0);
  CHECK(list.sources[0].name == "unexplained");
}

TEST_CASE("what selfish printed is a list", "[import]") {
  const DetourList list =
      list_of("# Selfish Benchmark\n# Time [ns]\tselfish duration [ns]\n0.00\t1500.00\n4000.49  119.5\n");
  REQUIRE(list.detours.size() == 2);
  CHECK(list.detours[1].start_ns == 4'000);
  CHECK(list.detours[1].end_ns == 4'120);
  for (const char* const wrong : {"1 2 3", "1", "-1.00 5.00", "1. 2", "1e3 5", "1.5x 2"})
    CHECK(refusal_of(std::string("# Selfish\n") + wrong + "\n") == "list:2: no time and duration in nanoseconds");
}

TEST_CASE("a list that makes no sense is refused with its line", "[import]") {
  CHECK(refusal_of("") == "list: no detour is listed");
  CHECK(refusal_of("start_ns,duration_ns\n") == "list: no detour is listed");
  CHECK(refusal_of("cpu,when\n1,2\n") == "list:1: no columns of detours");
  const std::string head = "cpu,start_ns,duration_ns,source\n";
  CHECK(refusal_of(head + "0,1.5,2,\n") == "list:2: a time is no whole number of nanoseconds");
  CHECK(refusal_of(head + "0,1\n") == "list:2: a time is no whole number of nanoseconds");
  CHECK(refusal_of(head + "0,5,0,\n") == "list:2: the detour does not end after its start");
  CHECK(refusal_of(head + "0,18446744073709551615,2,\n") == "list:2: the detour does not end after its start");
  CHECK(refusal_of(head + "0-3,1,2,\n") == "list:2: cpu is no number below 8192: '0-3'");
  CHECK(refusal_of(head + "8192,1,2,\n") == "list:2: cpu is no number below 8192: '8192'");
  CHECK(refusal_of(head + "0,1,2,crond\n") == "list:2: source 'crond' is no KIND:NAME");
  CHECK(refusal_of(head + "0,1,2,none:x\n") == "list:2: source 'none:x' is no KIND:NAME");
  CHECK(refusal_of(head + "0,1,2,task:\n") == "list:2: source 'task:' is no KIND:NAME");
  CHECK(refusal_of(head + "0,1,000,5,task:x\n") == "list:2: 5 fields for 4 columns");
  CHECK(refusal_of(head + "0,1,2,task:" + std::string(256, 'x') + "\n") ==
        "list:2: the name of a source has more than 255 bytes");
  CHECK(refusal_of(head + "0,1,2,\"task:x\n") == "list:2: a quote is not closed");
  CHECK(refusal_of(head + "1,9,9,\n0,10,1,\n1,17,5,\n") == "list:4: the detour overlaps that of line 2 on CPU 1");
}
