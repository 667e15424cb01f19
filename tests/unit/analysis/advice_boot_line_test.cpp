// SPDX-License-Identifier: Apache-2.0
// The kernel's command line, as the kernel itself reads it.
#include <catch2/catch_test_macros.hpp>

#include "analysis/advice/boot_line.h"

namespace noised {

using namespace noised::analysis;

using Cpus = std::vector<unsigned>;

TEST_CASE("parameters of the command line: the last one counts, and what follows -- is not the kernel's", "[advice]") {
  const BootLine line("quiet nohz_full=1 nosoftlockup  nohz-full=2-3 psi=1\n root=/dev/x -- nohz_full=7");
  CHECK(line.value("nohz_full") == "2-3");
  CHECK(line.value("nosoftlockup") == "");
  CHECK(line.value("psi") == "1");
  CHECK_FALSE(line.value("rcu_nocbs").has_value());
  CHECK(line.cpus("nohz_full")->cpus == Cpus{2, 3});
  CHECK(line.cpus("rcu_nocbs")->cpus.empty());
}

TEST_CASE("flags come before the CPUs", "[advice]") {
  const BootLine line("isolcpus=managed_irq,domain,1,3 irqaffinity=0,2 rcu_nocbs=all bad=1-N");
  const auto isolcpus = line.cpus("isolcpus");
  REQUIRE(isolcpus);
  CHECK(isolcpus->flags == std::vector<std::string>{"managed_irq", "domain"});
  CHECK(isolcpus->cpus == Cpus{1, 3});
  CHECK(line.cpus("irqaffinity")->cpus == Cpus{0, 2});
  CHECK_FALSE(line.cpus("rcu_nocbs").has_value());
  CHECK_FALSE(line.cpus("bad").has_value());
}

TEST_CASE("CPUs and flags are added to those that are there", "[advice]") {
  const BootLine line("isolcpus=nohz,domain,5 nohz_full=7");
  CHECK(line.with("isolcpus", {"managed_irq", "domain"}, {1, 2, 3}) == "isolcpus=nohz,domain,managed_irq,1-3,5");
  CHECK(line.with("nohz_full", {}, {1}) == "nohz_full=1,7");
  CHECK(line.with("rcu_nocbs", {}, {1, 2}) == "rcu_nocbs=1-2");
}

TEST_CASE("sets of CPUs", "[advice]") {
  CHECK(includes({1, 2, 3}, {1, 3}));
  CHECK(includes({1}, {}));
  CHECK_FALSE(includes({1, 2}, {1, 3}));
  CHECK(united({1, 3}, {2, 3}) == Cpus{1, 2, 3});
  CHECK(without({1, 2, 3}, {2}) == Cpus{1, 3});
}

}  // namespace noised
