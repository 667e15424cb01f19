// SPDX-License-Identifier: Apache-2.0
// What the instrument took, among what everybody took.
#include "views/own.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace noised;

namespace {

ReportSource source(unsigned cpu, const char* kind, const char* name, std::uint64_t total_ns) {
  ReportSource made;
  made.cpu = cpu;
  made.kind = kind;
  made.name = name;
  made.total_ns = total_ns;
  return made;
}

}  // namespace

TEST_CASE("what noised and noisectl took is summed over CPUs and named, and nobody else's is") {
  std::vector<ReportSource> sources{source(1, "task", "crond", 1'000'000),     source(1, "task", "noised-victim", 500),
                                    source(1, "work", "noised", 700),          source(1, "task", "noisedx", 700),
                                    source(1, "irq", "noised/http", 1'000),    source(2, "task", "noisectl2", 9),
                                    source(2, "hypervisor", "hypervisor", 500)};
  CHECK(views::own_noise_text(sources, 2'000'000) == "nothing");
  CHECK(views::own_noise_text({}, 0) == "nothing");
  sources.push_back(source(1, "task", "other", 5));  // the table of sources was full
  CHECK(views::own_noise_text(sources, 2'000'000) == "nothing, of the tasks that have names here");
  sources.pop_back();
  sources.push_back(source(1, "task", "noised", 3'000));
  CHECK(views::own_noise_text(sources, 100'000) == "3.00 us (3.00%) by noised 3.00 us");
  sources.push_back(source(2, "task", "noised", 4'000));
  sources.push_back(source(2, "task", "noisectl", 8'000));
  sources.push_back(source(2, "task", "noised/http", 2'000));
  sources.push_back(source(3, "task", "noised/3", 1'000));
  CHECK(views::own_noise_text(sources, 100'000) ==
        "18.0 us (18.0%) by noisectl 8.00 us, noised 7.00 us, noised/http 2.00 us, ...");
}
