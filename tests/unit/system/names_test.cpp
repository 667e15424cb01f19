// SPDX-License-Identifier: Apache-2.0
// Numbers to names, and names to sources and categories.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base_temporary_directory.h"
#include "trace/kallsyms.h"
#include "trace/names.h"
#include "trace/tracepoints.h"

using namespace noised;

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

TEST_CASE("kernel symbols are found at and inside functions", "[trace]") {
  const Kallsyms symbols = Kallsyms::parse(kSymbols);
  CHECK(symbols.find(0xffffffff81000100) == "tick_nohz_handler");
  CHECK(symbols.find(0xffffffff81000110) == "tick_nohz_handler+0x10");
  CHECK(symbols.find(0xffffffffc0000000) == "module_function");
  CHECK(symbols.find(0xffffffff81000300) == "last");
  CHECK_FALSE(symbols.find(0x1000).has_value());
  CHECK_FALSE(symbols.find(0xffffffffd0000000).has_value());  // far from every function
  CHECK(Kallsyms::parse("0000000000000000 T hidden\n").empty());
}

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
  CHECK(name(record_of(Kind::work, 0x1234)) == "0x1234");
  CHECK(name(record_of(Kind::page_fault, 0x1234, NOISED_FLAG_IN_KERNEL)) == "kernel");
  CHECK(name(record_of(Kind::page_fault, 0x5678, NOISED_FLAG_KERNEL_ADDRESS)) == "user");
  CHECK(name(record_of(Kind::page_fault, 0, NOISED_FLAG_HANDLING)) == "handle_mm_fault");
  CHECK(name(record_of(Kind::timer, NOISED_ID_UNKNOWN)) == "not known");
  CHECK(name(record_of(Kind::task, 42), "crond") == "crond");
  // Two tasks of one name are one source; the same number of another kind is another.
  CHECK(names.resolve(record_of(Kind::task, 43), "crond") == names.resolve(record_of(Kind::task, 42), "crond"));
  CHECK(names.resolve(record_of(Kind::softirq, 1), nullptr) != names.resolve(record_of(Kind::vector, 1), nullptr));
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
  CHECK(category_of(Kind::csd, "flush_tlb_func") == Category::ipi);
  CHECK(category_of(Kind::page_fault, "user") == Category::page_fault);
}

TEST_CASE("a full source table answers other, and counts", "[trace]") {
  SourceTable sources;
  for (Kind kind : {Kind::hypervisor, Kind::hardware, Kind::overhead, Kind::unexplained}) {
    CHECK(sources.at(sources.gap(kind)).kind == kind);
    CHECK(sources.at(sources.gap(kind)).name == to_string(kind));
  }
  const SourceId first = sources.intern(Kind::task, "first");
  for (int i = 0; sources.size() < SourceTable::kCapacity; ++i) sources.intern(Kind::task, std::to_string(i));
  CHECK(sources.overflowed() == 0);
  CHECK(sources.intern(Kind::work, "late") == sources.other(Kind::work));
  CHECK(sources.at(sources.other(Kind::work)).kind == Kind::work);
  CHECK(sources.at(sources.other(Kind::work)).name == "other");
  CHECK(sources.overflowed() == 1);
  CHECK(sources.intern(Kind::task, "first") == first);
}

TEST_CASE("every kind of interval that a program can send has a tracepoint in the list", "[trace]") {
  std::size_t essential = 0;
  for (const Probe& probe : known_probes()) {
    CHECK_FALSE(probe.entry.empty());
    CHECK(probe.kind != Kind::none);
    essential += probe.essential ? 1 : 0;
  }
  CHECK(essential == 1);
  CHECK(known_probes().size() == 30);
}
