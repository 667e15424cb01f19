// SPDX-License-Identifier: Apache-2.0
// Lists of detours: an error names the file; what is accepted is in order, and of sources that can be named.
#include "import/detour_list.h"
#include "fuzz.h"

extern "C" int fuzz_detour_list(const std::uint8_t* data, std::size_t size) {
  using namespace noised;
  using fuzz::check;
  const std::string text(fuzz::text(data, size));
  const auto list = imports::read_detour_list(text, "fuzz.csv");
  if (!list) {
    fuzz::check_error(list.error(), ExitCode::usage);
    check(list.error().what.starts_with("fuzz.csv:"), "an error names the file", list.error().what);
    return 0;
  }
  check(!list.value().detours.empty(), "an empty list is refused");
  std::uint64_t before_ns = 0;
  for (const imports::ListedDetour& detour : list.value().detours) {
    check(detour.start_ns >= before_ns, "by start", text);
    check(detour.end_ns > detour.start_ns, "a detour lasts", text);
    check(detour.source < list.value().sources.size(), "a source is listed", text);
    before_ns = detour.start_ns;
  }
  for (const imports::ListedSource& source : list.value().sources)
    check(source.kind != Kind::none && !source.name.empty(), "a source has a kind and a name", text);
  return 0;
}
