// SPDX-License-Identifier: Apache-2.0
// Chains of one source out of a stream of detours: what is one chain, what is counted, and that memory is bounded.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "noisectl/top/chains.h"

using namespace noised;
using client::TopChains;
using client::TopChainsView;

namespace {

using Details = std::vector<std::pair<std::string, std::string>>;

DetourEntryView crond(std::uint64_t self_ns, Details details) {
  return {"task", "crond", self_ns, 0, std::move(details)};
}

DetourView detour(std::vector<DetourEntryView> entries, std::uint64_t start_ns = 1000, unsigned cpu = 1) {
  DetourView detour;
  detour.cpu = cpu;
  detour.start_ns = start_ns;
  detour.duration_ns = 500;
  detour.entries = std::move(entries);
  return detour;
}

Details woken(const std::string& pid, const std::string& waker, const std::string& waker_pid) {
  return {{"pid", pid}, {"waker", waker}, {"waker_pid", waker_pid}, {"waker_cpu", "0"}};
}

TopChains of_crond() { return TopChains({1, "task:crond"}); }

std::vector<std::string> texts(const TopChainsView& view) {
  std::vector<std::string> found;
  for (const client::TopChain& chain : view.chains) found.push_back(chain.text);
  return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("chains are told apart, summed, and most time comes first", "[noisectl]") {
  TopChains chains = of_crond();
  chains.add(detour({crond(100, woken("42", "systemd", "1"))}));
  chains.add(detour({crond(900, woken("42", "bash", "7"))}));
  chains.add(detour({crond(300, woken("42", "systemd", "1"))}));
  const TopChainsView view = chains.view();
  CHECK(texts(view) == Texts{"pid 42, woken by bash[7] on CPU 0", "pid 42, woken by systemd[1] on CPU 0"});
  CHECK(view.chains[1].count == 2);
  CHECK(view.chains[1].total_ns == 400);
  CHECK(view.chains[1].max_ns == 300);
}

TEST_CASE("a pid is shown only if all have the same, and makes no line of its own", "[noisectl]") {
  TopChains chains = of_crond();
  chains.add(detour({crond(100, woken("42", "bash", "7"))}));
  chains.add(detour({crond(100, woken("42", "bash", "8"))}));
  CHECK(texts(chains.view()) == Texts{"pid 42, woken by bash on CPU 0"});
  chains.add(detour({crond(100, woken("43", "bash", "7"))}));
  CHECK(texts(chains.view()) == Texts{"woken by bash on CPU 0"});
  chains.add(detour({crond(100, woken("43", "bash", "7"))}));
  CHECK(texts(chains.view()) == Texts{"woken by bash on CPU 0"});
  CHECK(chains.view().chains[0].count == 4);
}

TEST_CASE("addresses in user space, sends and remarks make no line of their own; kernel code does", "[noisectl]") {
  TopChains faults({1, "page_fault:user"});
  const auto fault = [](const std::string& ip) {
    return DetourEntryView{"page_fault", "user", 10, 0, {{"address", "user"}, {"ip", ip}}};
  };
  faults.add(detour({fault("0x1000"), fault("0x2000"), fault("copy_user")}));
  CHECK(texts(faults.view()) == Texts{"user address", "at copy_user, user address"});

  TopChains calls({1, "vector:call_function"});
  for (const char* sends : {"2", "3"})
    calls.add(detour({{"vector",
                       "call_function",
                       10,
                       0,
                       {{"sender", "bash"}, {"sender_cpu", "0"}, {"function", "flush_tlb_func"}, {"sends", sends}}}}));
  CHECK(texts(calls.view()) == Texts{"sent by bash on CPU 0, to run flush_tlb_func"});

  TopChains tasks = of_crond();
  tasks.add(detour({crond(10, {{"pid", "42"}, {"split", "true"}}), crond(10, {{"pid", "43"}, {"cut", "true"}})}));
  CHECK(texts(tasks.view()) == Texts{"no chain known"});
}

TEST_CASE("only this source on this CPU counts", "[noisectl]") {
  TopChains chains = of_crond();
  chains.add(detour({crond(100, {}), crond(50, {})}, 1000));
  chains.add(detour({crond(100, {})}, 2000, 2));
  chains.add(detour({{"task", "cron", 100, 0, {}}, {"work", "crond", 100, 0, {}}}, 3000));
  chains.add_missed(3);
  chains.add_missed(4);
  const TopChainsView view = chains.view();
  CHECK(view.detours == 2);
  CHECK(view.detours_with == 1);
  CHECK(view.missed == 7);
  CHECK(view.span_ns == 2500);
  REQUIRE(view.chains.size() == 1);
  CHECK(view.chains[0].count == 2);
  CHECK(of_crond().view().span_ns == 0);
}

TEST_CASE("intervals that the daemon summed have no chain, and no largest", "[noisectl]") {
  TopChains chains = of_crond();
  chains.add(detour({crond(4000, {{"intervals", "40"}}), crond(10, {{"pid", "42"}})}));
  const TopChainsView view = chains.view();
  CHECK(texts(view) == Texts{"chain not told: in detours of very many intervals", "pid 42"});
  CHECK(view.chains[0].count == 40);
  CHECK(view.chains[0].total_ns == 4000);
  CHECK(view.chains[0].max_ns == 0);
}

TEST_CASE("overhead is a source too, told of the detour as a whole", "[noisectl]") {
  TopChains chains({1, "overhead"});
  DetourView traced = detour({crond(100, {})});
  chains.add(traced);
  traced.overhead_ns = 30;
  chains.add(traced);
  const TopChainsView view = chains.view();
  CHECK(view.detours_with == 1);
  REQUIRE(view.chains.size() == 1);
  CHECK(view.chains[0].total_ns == 30);
}

TEST_CASE("the sources that share detours are counted by detour", "[noisectl]") {
  const DetourEntryView timer{"vector", "local_timer", 10, 0, {}};
  const DetourEntryView rcu{"softirq", "RCU", 70, 0, {}};
  TopChains chains = of_crond();
  chains.add(detour({timer, crond(100, {}), timer, crond(100, {})}));
  chains.add(detour({timer, rcu, crond(100, {})}));
  chains.add(detour({timer, rcu}));
  const TopChainsView view = chains.view();
  REQUIRE(view.partners.size() == 2);
  CHECK(view.partners[0].label == "vector:local_timer");
  CHECK(view.partners[0].detours == 2);
  CHECK(view.partners[0].total_ns == 30);
  CHECK(view.partners[1].label == "softirq:RCU");
  CHECK(view.partners[1].detours == 1);
  CHECK(view.partners[1].total_ns == 70);
}

TEST_CASE("beyond a thousand chains and sources the rest is one line, and nothing is lost", "[noisectl]") {
  TopChains chains = of_crond();
  for (std::size_t turn = 0; turn < TopChains::kMost + 5; ++turn) {
    const std::string name = std::to_string(turn);
    chains.add(detour({crond(10, woken("42", "waker" + name, "1")),
                       {"work", "first" + name, 1, 0, {}},
                       {"work", "second" + name, 1, 0, {}}}));
  }
  chains.add(detour({crond(25, woken("42", "waker" + std::to_string(TopChains::kMost), "1"))}));
  chains.add(detour({crond(10, woken("42", "waker0", "1"))}));
  const TopChainsView view = chains.view();
  REQUIRE(view.chains.size() == TopChains::kMost + 1);
  CHECK(view.chains.front().text == "pid 42, woken by waker0[1] on CPU 0");
  CHECK(view.chains.front().count == 2);
  CHECK(view.chains.back().text == "other: beyond the first 1000 chains");
  CHECK(view.chains.back().count == 6);
  CHECK(view.chains.back().total_ns == 75);
  CHECK(view.chains.back().max_ns == 25);
  REQUIRE(view.partners.size() == TopChains::kMost + 1);
  CHECK(view.partners.back().label == "other: beyond the first 1000 sources");
  CHECK(view.partners.back().detours == 505);  // 500 had a place for both of theirs
  CHECK(view.partners.back().total_ns == 1010);
}
