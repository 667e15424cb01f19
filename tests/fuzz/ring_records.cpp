// SPDX-License-Identifier: Apache-2.0
// Rings of any bytes, and detours of the loop between them: whatever the kernel's records say, every ledger adds up,
// and so does what is counted, kept and shown.
#include <array>

#include "input.h"
#include "machine.h"

using namespace noised;
using namespace noised::probe;
using fuzz::Input;

namespace {

constexpr std::uint64_t kAddress = 0xffffffff81000100;

// Nothing is said of these bytes, not even how many they are.
struct Raw {
  explicit Raw(Input& input) : size(input.take<std::uint8_t>() % bytes.size()) { input.take(bytes.data(), size); }

  alignas(8) std::array<std::uint8_t, 128> bytes{};
  std::size_t size;
};

std::uint64_t id_of(std::uint8_t number) { return number < 0x80 ? number : kAddress + number - 0x80; }

// A record of an interval that ended lately: random bytes rarely lie in one detour.
noised_task_record record_of(Input& input, fuzz::Machine& machine) {
  noised_task_record task{};
  task.record.kind = input.take<std::uint8_t>() % (NOISED_KIND_COUNT + 1);
  task.record.flags = input.take<std::uint8_t>();
  task.record.id = id_of(input.take<std::uint8_t>());
  task.record.duration_ns = input.take<std::uint16_t>();
  machine.pass(input.take<std::uint16_t>());
  task.record.start_ns = machine.now_ns() - task.record.duration_ns;
  task.comm[0] = input.take<char>();
  return task;
}

noised_origin origin_of(Input& input, fuzz::Machine& machine) {
  noised_origin origin{};
  origin.kind = input.take<std::uint8_t>() % (NOISED_ORIGIN_COUNT + 1);
  origin.context_kind = input.take<std::uint8_t>() % (NOISED_KIND_COUNT + 1);
  origin.context_id = id_of(input.take<std::uint8_t>());
  origin.subject = id_of(input.take<std::uint8_t>());
  origin.task = input.take<std::uint8_t>();
  origin.pid = input.take<std::uint8_t>();
  origin.comm[0] = input.take<char>();
  origin.time_ns = machine.now_ns() - input.take<std::uint16_t>();
  return origin;
}

GapKind gap_of(unsigned number) {
  return number == 0xf ? GapKind::moved : number == 0xe ? GapKind::rested : GapKind::detour;
}

// From the byte that says what comes next.
void step(std::uint8_t what, Input& input, fuzz::Machine& machine) {
  switch (what % 8) {
    case 0: {
      const Raw raw(input);
      return machine.add_record(raw.bytes.data(), raw.size);
    }
    case 1: {
      const Raw raw(input);
      return machine.add_origin(raw.bytes.data(), raw.size);
    }
    case 2:
    case 3: {
      const noised_task_record task = record_of(input, machine);
      const bool is_task = task.record.kind == NOISED_KIND_TASK;
      return machine.add_record(&task, is_task ? sizeof(task) : sizeof(task.record));
    }
    case 4: {
      const noised_origin origin = origin_of(input, machine);
      return machine.add_origin(&origin, sizeof(origin));
    }
    default:
      const auto ago_ns = input.take<std::uint32_t>();
      const auto length_ns = input.take<std::uint32_t>();
      return machine.drain(ago_ns, length_ns, gap_of(what >> 4U));
  }
}

}  // namespace

extern "C" int fuzz_ring_records(const std::uint8_t* data, std::size_t size) {
  fuzz::Machine machine;
  Input input(data, size);
  while (!input.over()) step(input.take<std::uint8_t>(), input, machine);
  machine.check_report(size % 16 == 0);
  return 0;
}
