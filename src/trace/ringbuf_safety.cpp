// SPDX-License-Identifier: Apache-2.0
// The one question that only a version answers: a defect leaves no trace in BTF.
#include "trace/ringbuf_safety.h"

#include <array>
#include <charconv>
#include <string>
#include <tuple>

namespace noised {
namespace {

using Version = std::tuple<unsigned, unsigned, unsigned>;

Version parse_release(std::string_view release) {
  std::array<unsigned, 3> parts{};
  const char* at = release.data();
  const char* const end = at + release.size();
  for (unsigned& part : parts) {
    const auto [next, error] = std::from_chars(at, end, part);
    if (error != std::errc{} || next == end || *next != '.') break;
    at = next + 1;
  }
  return {parts[0], parts[1], parts[2]};
}

bool is_mended(const Version& version) {
  if (version >= Version{6, 11, 5}) return true;
  return version >= Version{6, 6, 83} && version < Version{6, 7, 0};
}

}  // namespace

Status check_ringbuf(std::string_view release, std::string_view version) {
  if (version.find("PREEMPT_RT") == std::string_view::npos || is_mended(parse_release(release))) return success();
  return failure("kernel " + std::string(release) +
                     " is PREEMPT_RT and may sleep in BPF ring buffers where it must not (CVE-2024-50138)",
                 "boot 6.6.83, 6.11.5 or later; if this one has the fix, insist with --force-ringbuf");
}

}  // namespace noised
