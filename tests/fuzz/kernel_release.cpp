// SPDX-License-Identifier: Apache-2.0
// Two lines of any bytes, as uname(2) tells release and version: only a real-time kernel is refused, and what a
// distribution adds to the number changes nothing.
#include "fuzz.h"
#include "kernel/features.h"

using namespace noised;
using namespace noised::kernel;
using fuzz::check;

extern "C" int fuzz_kernel_release(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string release(text.substr(0, end));
  const std::string_view version = text.substr(std::min(end + 1, text.size()));
  const Status safe = check_ringbuf(release, version);
  const bool real_time = version.find("PREEMPT_RT") != std::string_view::npos;
  check(safe.ok() || real_time, "other kernels are not refused", text);
  check(check_ringbuf(release + "-rt5-amd64", version).ok() == safe.ok(), "a suffix changes nothing", release);
  if (safe) return 0;
  check(safe.error().code == ExitCode::failed && !safe.error().remedy.empty(), "the error has a remedy");
  check(safe.error().what.find(release) != std::string::npos, "the error names the kernel", safe.error().what);
  return 0;
}
