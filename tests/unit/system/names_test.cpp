// SPDX-License-Identifier: Apache-2.0
// Numbers to names, and names to sources and categories.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernel/programs.h"
#include "system/names.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::kernel;
using namespace noised::system;

namespace {

constexpr const char* kSymbols =
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 t tick_nohz_handler\n"
    "ffffffff81000100 t alias_of_it\n"
    "ffffffff81000200 D some_data\n"
    "ffffffffc0000000 t module_function\t[module]\n"
    "garbage\n"
    "ffffffff81000300 t last";

noised_record record_of(Kind kind, std::uint64_t id, std::uint8_t flags = 0) {
  noised_record record{};
  record.kind = static_cast<noised_u8>(kind);
  record.id = id;
  record.flags = flags;
  return record;
}

void write_irq(const test::TemporaryDirectory& root, const std::string& number, const std::string& actions) {
  const std::filesystem::path directory = root.path("sys/kernel/irq/" + number);
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "actions") << actions << "\n";
}

}  // namespace

TEST_CASE("records get the names that users know", "[trace]") {
  const test::TemporaryDirectory root;
  write_irq(root, "36", "virtio1-req.0");
  write_irq(root, "24", "ACPI:Ged");
  write_irq(root, "25", "ACPI:Ged");
  SourceTable sources;
  Names names(sources, Kallsyms::parse(kSymbols), root.path(""));
  const auto name = [&](const noised_record& record, const char* comm = nullptr) {
    return sources.at(names.resolve(record, comm)).name;
  };
  CHECK(name(record_of(Kind::vector, NOISED_VECTOR_LOCAL_TIMER)) == "local_timer");
  CHECK(name(record_of(Kind::vector, NOISED_VECTOR_X86_PLATFORM_IPI)) == "x86_platform_ipi");
  CHECK(name(record_of(Kind::vector, 99)) == "vector 99");
  CHECK(name(record_of(Kind::softirq, 3)) == "NET_RX");
  CHECK(name(record_of(Kind::softirq, 9)) == "RCU");
  CHECK(name(record_of(Kind::irq, 36)) == "virtio1-req.0");
  CHECK(name(record_of(Kind::irq, 36, NOISED_FLAG_UNHANDLED)) == "virtio1-req.0 (not handled)");
  CHECK(name(record_of(Kind::irq, 24)) == "ACPI:Ged:24");  // two irqs of one action stay apart
  CHECK(name(record_of(Kind::irq, 25)) == "ACPI:Ged:25");
  CHECK(name(record_of(Kind::irq, 7)) == "irq7");
  CHECK(name(record_of(Kind::hrtimer, 0xffffffff81000100)) == "tick_nohz_handler");
  CHECK(name(record_of(Kind::hrtimer, 0xffffffff81000101)) == "unknown");  // no function begins there
  CHECK(name(record_of(Kind::work, 0x1234)) == "unknown");
  CHECK(name(record_of(Kind::page_fault, 0x1234, NOISED_FLAG_IN_KERNEL)) == "kernel");
  CHECK(name(record_of(Kind::page_fault, 0x5678, NOISED_FLAG_KERNEL_ADDRESS)) == "user");
  CHECK(name(record_of(Kind::page_fault, 0, NOISED_FLAG_HANDLING)) == "handle_mm_fault");
  CHECK(name(record_of(Kind::timer, NOISED_ID_UNKNOWN)) == "unknown");
  CHECK(name(record_of(Kind::task, 42), "crond") == "crond");
  CHECK(name(record_of(Kind::task, 42, NOISED_FLAG_IDLE)) == kLeavingIdle);
  CHECK(kLeavingIdle.size() >= sizeof(noised_task_record::comm));  // no task can have this name
  // Two tasks of one name are one source; the same number of another kind is another.
  CHECK(names.resolve(record_of(Kind::task, 43), "crond") == names.resolve(record_of(Kind::task, 42), "crond"));
  CHECK(names.resolve(record_of(Kind::softirq, 1), nullptr) != names.resolve(record_of(Kind::vector, 1), nullptr));
}

TEST_CASE("no kernel address is ever a name", "[trace]") {
  SourceTable sources;
  Names hidden(sources, Kallsyms::parse("0000000000000000 T _text\n"), "/nonexistent");
  for (unsigned kind = 0; kind < NOISED_KIND_COUNT; ++kind) {
    for (const std::uint64_t id : {0xffffffff814332e0ULL, 1ULL, NOISED_ID_UNKNOWN}) {
      (void)hidden.resolve(record_of(static_cast<Kind>(kind), id), "task");
      (void)hidden.resolve(record_of(static_cast<Kind>(kind), id, NOISED_FLAG_UNHANDLED), "task");
    }
  }
  for (SourceId id = 0; id < sources.size(); ++id) CHECK(sources.at(id).name.find("0x") == std::string::npos);
  CHECK(sources.at(hidden.resolve(Kind::hrtimer, 0xffffffff814332e0)).name == "unknown");
  CHECK(hidden.code(0xffffffff814332e0) == "unknown");
}

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kFunction = 0xffffffffc0218050;

// A machine whose modules and interrupts change, looked at every 25 ms.
struct Machine {
  test::TemporaryDirectory root;
  SourceTable sources;
  Names names;
  std::uint64_t now_ns = kSecondNs;

  Machine() : names(sources, symbols(), root.path("")) { names.look(now_ns); }
  Kallsyms symbols() const {
    unload();
    return Kallsyms::open(root.path("proc"));
  }
  void unload() const {
    root.write("proc/kallsyms", kSymbols);
    root.write("proc/modules", "");
  }
  void load(const std::string& module, const std::string& function) const {
    root.write("proc/kallsyms", std::string(kSymbols) + "\nffffffffc0218050 t " + function + "\t[" + module + "]\n");
    root.write("proc/modules", module + " 98304 0 - Live 0xffffffffc0218000\n");
  }
  void pass(std::uint64_t ns) {
    for (const std::uint64_t end_ns = now_ns + ns; now_ns < end_ns;) names.look(now_ns += 25'000'000);
  }
  std::string timer() { return sources.at(names.resolve(Kind::hrtimer, kFunction)).name; }
  std::string irq(std::uint64_t number) { return sources.at(names.resolve(Kind::irq, number)).name; }
};

}  // namespace

TEST_CASE("a module that is loaded after the start has its names at once, in its place another within a second",
          "[trace]") {
  Machine machine;
  machine.pass(kSecondNs);
  machine.load("null_blk", "null_cmd_timer_expired");
  machine.pass(200'000'000);
  CHECK(machine.timer() == "null_cmd_timer_expired");
  CHECK(machine.names.code(kFunction + 4) == "null_cmd_timer_expired+0x4");
  machine.unload();
  machine.pass(kSecondNs);
  CHECK(machine.timer() == "unknown");
  CHECK(machine.names.code(kFunction + 4) == "unknown");
  machine.load("other", "other_timer");
  machine.pass(kSecondNs);
  CHECK(machine.timer() == "other_timer");
  CHECK(machine.names.code(kFunction + 4) == "other_timer+0x4");
  // What is not at an address of a module's was never forgotten.
  CHECK(machine.sources.at(machine.names.resolve(Kind::hrtimer, 0xffffffff81000100)).name == "tick_nohz_handler");
}

TEST_CASE("what is unknown is looked for at once, at most eight times in 100 ms", "[trace]") {
  Machine machine;
  machine.pass(kSecondNs);
  machine.pass(200'000'000);
  std::uint64_t other = 0xffffffffc0300000;
  const auto look = [&] { CHECK(machine.sources.at(machine.names.resolve(Kind::work, ++other)).name == "unknown"); };
  look();
  machine.load("null_blk", "null_cmd_timer_expired");
  CHECK(machine.timer() == "null_cmd_timer_expired");  // so soon after the look before
  machine.unload();
  look();
  CHECK(machine.timer() == "unknown");  // which is known from now on, until somebody looks
  machine.load("null_blk", "null_cmd_timer_expired");
  CHECK(machine.timer() == "unknown");
  look();
  CHECK(machine.timer() == "null_cmd_timer_expired");
  // Looks are used up: what comes then is found when there are more.
  for (int i = 0; i < 8; ++i) look();
  machine.unload();
  machine.load("other", "other_timer");
  look();
  CHECK(machine.timer() == "null_cmd_timer_expired");
  machine.pass(100'000'000);
  look();
  CHECK(machine.timer() == "other_timer");
}

TEST_CASE("an interrupt that changes hands has its new name, its old source stays", "[trace]") {
  Machine machine;
  for (std::uint64_t irq = 24; irq < 64; ++irq) {
    write_irq(machine.root, std::to_string(irq), "disk" + std::to_string(irq));
    CHECK(machine.irq(irq) == "disk" + std::to_string(irq));
  }
  const SourceId before = machine.names.resolve(Kind::irq, 30);
  (void)machine.names.resolve(record_of(Kind::irq, 30, NOISED_FLAG_UNHANDLED), nullptr);
  write_irq(machine.root, "30", "eth0");
  write_irq(machine.root, "63", "");
  std::filesystem::remove_all(machine.root.path("sys/kernel/irq/24"));
  machine.pass(3 * kSecondNs);  // a bounded number each second
  CHECK(machine.irq(30) == "eth0");
  CHECK(machine.sources.at(machine.names.resolve(record_of(Kind::irq, 30, NOISED_FLAG_UNHANDLED), nullptr)).name ==
        "eth0 (not handled)");
  CHECK(machine.irq(63) == "irq63");
  CHECK(machine.irq(24) == "irq24");
  CHECK(machine.irq(31) == "disk31");
  CHECK(machine.sources.at(before).name == "disk30");
  write_irq(machine.root, "24", "nvme0q1");
  machine.pass(3 * kSecondNs);
  CHECK(machine.irq(24) == "nvme0q1");
}

TEST_CASE("every source has the category of the contract", "[trace]") {
  CHECK(category_of(Kind::vector, "local_timer") == Category::periodic);
  CHECK(category_of(Kind::vector, "reschedule") == Category::scheduling);
  CHECK(category_of(Kind::vector, "call_function_single") == Category::ipi);
  CHECK(category_of(Kind::vector, "irq_work") == Category::ipi);
  CHECK(category_of(Kind::softirq, "TIMER") == Category::periodic);
  CHECK(category_of(Kind::softirq, "RCU") == Category::scheduling);
  CHECK(category_of(Kind::softirq, "NET_RX") == Category::io);
  CHECK(category_of(Kind::irq, "eth0") == Category::io);
  CHECK(category_of(Kind::task, "crond") == Category::preemption);
  CHECK(category_of(Kind::task, kLeavingIdle) == Category::scheduling);
  CHECK(category_of(Kind::csd, "flush_tlb_func") == Category::ipi);
  CHECK(category_of(Kind::page_fault, "user") == Category::page_fault);
}

TEST_CASE("a job that renames its threads leaves room for everybody else", "[trace]") {
  CHECK(task_name("kworker/1:0", false) == "kworker/1:*");
  CHECK(task_name("kworker/u8:12H", false) == "kworker/u8:*H");
  CHECK(task_name("kworker/R-xfs-1", false) == "kworker/R-xfs-1");
  CHECK(task_name("worker-4711", false) == "worker-4711");
  CHECK(task_name("worker-4711", true) == "worker-*");
  CHECK(task_name("1a22b333", true) == "*a*b*");
  CHECK(task_name("", true).empty());

  SourceTable sources;
  Names names(sources, Kallsyms::parse(""));
  noised_record record{};
  record.kind = NOISED_KIND_TASK;
  const auto name_of = [&](const std::string& comm) { return sources.at(names.resolve(record, comm.c_str())).name; };
  CHECK(name_of("thread-17") == "thread-17");
  for (int i = 0; i < 100'000; ++i) (void)name_of("thread-" + std::to_string(i));
  CHECK(sources.overflowed() == 0);
  CHECK(sources.tasks() < 1'100);
  CHECK(name_of("thread-99999") == "thread-*");
  CHECK(name_of("thread-17") == "thread-17");
  CHECK(name_of("agent") == "agent");
  // Names that are not numbered fill the share of tasks, and nothing else.
  const auto letters = [](int number) {
    std::string text;
    for (; number > 0; number /= 26) text += static_cast<char>('a' + number % 26);
    return "z" + text;
  };
  for (int i = 0; i < 20'000; ++i) (void)name_of(letters(i));
  CHECK(sources.tasks() == SourceTable::kTasks);
  CHECK(sources.overflowed() > 0);
  CHECK(name_of("late-agent") == "other");
  CHECK(name_of("agent") == "agent");
  record.kind = NOISED_KIND_SOFTIRQ;
  record.id = 3;
  CHECK(sources.at(names.resolve(record, nullptr)).name == "NET_RX");
}

TEST_CASE("where names are many, those that were silent for ten minutes leave, the longest silent first", "[trace]") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  SourceTable sources;
  Names names(sources, Kallsyms::parse(""));
  const auto letters = [](std::size_t number) {
    std::string text = "z";
    for (int at = 0; at < 4; ++at, number /= 26) text += static_cast<char>('a' + number % 26);
    return text;
  };
  std::uint64_t now_ns = kSecond;
  names.look(now_ns);
  const SourceId own = names.task("noised");
  const SourceId agent = names.task("agent");
  std::vector<SourceId> ids;
  for (std::size_t number = 0; sources.tasks() < SourceTable::kTasks; ++number) {
    now_ns += kSecond / 10;  // 5 minutes for all of them
    names.look(now_ns);
    ids.push_back(names.task(letters(number).c_str()));
  }
  CHECK(sources.at(names.task("late")).name == "other");
  CHECK(names.silent().empty());
  const std::uint64_t filled_ns = now_ns;
  // The agent is seen again, the daemon's own is touched; 10 minutes after the first 500, these are silent.
  now_ns = 51 * kSecond + 600 * kSecond;
  names.look(now_ns);
  CHECK(names.task("agent") == agent);
  names.touch(own);
  std::vector<Departure> departures = names.silent();
  CHECK(departures.size() >= 499);
  CHECK(departures.size() <= 501);
  for (const Departure& departure : departures) CHECK(std::ranges::find(ids, departure.from) < ids.begin() + 501);
  CHECK(names.silent().empty());  // so soon
  names.let_go(departures);
  CHECK(sources.departed() == departures.size());
  CHECK(sources.at(names.task("late")).name == "late");
  CHECK(sources.at(names.task(letters(0).c_str())).name == letters(0));
  CHECK(names.task(letters(0).c_str()) != ids[0]);
  CHECK(sources.at(ids[0]).name == "other");
  CHECK(names.task(letters(2'000).c_str()) == ids[2'000]);
  // No more leave than it takes.
  now_ns = filled_ns + 6'000 * kSecond;
  names.look(now_ns);
  for (std::size_t number = 5'000; sources.tasks() < SourceTable::kTasks; ++number) names.task(letters(number).c_str());
  departures = names.silent();
  CHECK(sources.tasks() - departures.size() == SourceTable::kTasks / 4 * 3);
  names.let_go(departures);
  now_ns += 6'000 * kSecond;
  names.look(now_ns);
  CHECK(names.silent().empty());
}

TEST_CASE("a full source table answers other, and counts", "[trace]") {
  SourceTable sources;
  for (Kind kind : {Kind::hypervisor, Kind::hardware, Kind::overhead, Kind::unexplained}) {
    CHECK(sources.at(sources.gap(kind)).kind == kind);
    CHECK(sources.at(sources.gap(kind)).name == to_string(kind));
  }
  const SourceId first = sources.intern(Kind::task, "first");
  for (int i = 0; sources.size() < SourceTable::kCapacity; ++i) sources.intern(Kind::work, std::to_string(i));
  CHECK(sources.overflowed() == 0);
  CHECK(sources.intern(Kind::work, "late") == sources.other(Kind::work));
  CHECK(sources.at(sources.other(Kind::work)).kind == Kind::work);
  CHECK(sources.at(sources.other(Kind::work)).name == "other");
  CHECK(sources.overflowed() == 1);
  CHECK(sources.intern(Kind::task, "first") == first);
}

TEST_CASE("every kind of interval that a program can send has a tracepoint in the list", "[trace]") {
  std::size_t essential = 0;
  for (const TracedSource& traced : traced_sources()) {
    CHECK_FALSE(traced.entry.empty());
    CHECK(traced.kind != Kind::none);
    essential += traced.essential ? 1 : 0;
  }
  CHECK(essential == 1);
  CHECK(traced_sources().size() == 31);
  CHECK(only_tells_origins("csd_queue_cpu"));
  CHECK(only_tells_origins("sched_wakeup"));
  CHECK_FALSE(only_tells_origins("csd_function_entry"));
  CHECK_FALSE(only_tells_origins("sched_process_fork"));
}
