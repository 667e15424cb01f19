// SPDX-License-Identifier: Apache-2.0
// Records of any bytes: each becomes a source of its kind, and always the same one.
#include "system/names.h"

#include <cstring>

#include "fuzz.h"

using namespace noised;
using namespace noised::system;
using fuzz::check;

namespace {

constexpr std::string_view kSymbols =
    "0000000000001000 T tick_nohz_handler\n0000000000001000 t alias\n0000000000200000 t module_timer\t[module]\n";

}  // namespace

extern "C" int fuzz_names(const std::uint8_t* data, std::size_t size) {
  SourceTable sources;
  Names names(sources, Kallsyms::parse(kSymbols), "/nonexistent");
  for (; size >= sizeof(noised_task_record); data += sizeof(noised_task_record), size -= sizeof(noised_task_record)) {
    noised_task_record task;
    std::memcpy(&task, data, sizeof task);
    const SourceId id = names.resolve(task.record, task.comm);
    check(id < sources.size(), "the source is in the table");
    const Kind kind = task.record.kind < NOISED_KIND_COUNT ? static_cast<Kind>(task.record.kind) : Kind::none;
    check(sources.at(id).kind == kind, "the source has the record's kind", sources.at(id).name);
    check(sources.at(id).category == category_of(kind, sources.at(id).name), "the source has its category");
    check(kind == Kind::task || !sources.at(id).name.empty(), "the source has a name");
    check(kind == Kind::task || sources.at(id).name.find("0x") == std::string::npos, "no address is a name",
          sources.at(id).name);
    check(names.resolve(task.record, task.comm) == id, "the source is the same again", sources.at(id).name);
  }
  return 0;
}
