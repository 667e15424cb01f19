// SPDX-License-Identifier: Apache-2.0
// The memory that a phase of work walks through, a cache line each iteration.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace noised::probe {

/// What the user wants phases to touch: nothing, so many bytes, or what fits in a cache.
struct FootprintChoice {
  unsigned cache_level = 0;  ///< 1 or 2: of the CPU's data caches; 0: as `bytes` says
  std::uint64_t bytes = 0;   ///< 0: nothing; whole cache lines

  bool operator==(const FootprintChoice&) const = default;
};

/// "0", "L1", "L2" or a size from 64 bytes to 1 GiB, rounded up to whole cache lines; usage error otherwise.
Result<FootprintChoice> parse_footprint(std::string_view text);
/// The same as text that parse_footprint() reads.
std::string to_string(const FootprintChoice& footprint);

/// The bytes of a choice on these CPUs: of a cache, the part of the smallest of them that does not evict itself
/// (footprint.cpp). Fails where the kernel does not tell. `sysroot` is "/" but for tests.
Result<std::uint64_t> footprint_bytes(const FootprintChoice& choice, const std::vector<unsigned>& cpus,
                                      const std::string& sysroot = "/");

/// A cache line that names the next one.
struct alignas(64) CacheLine {
  CacheLine* next = nullptr;
};

/// Links the lines to one cycle through all of them, in a random order that is the same each time (Sattolo 1986): no
/// prefetcher knows what comes next, and each load waits for the one before.
void link_lines(std::span<CacheLine> lines);

/// The lines, in memory and, where the limit allows it, locked there; given back to the heap, which keeps them
/// (noised/low_noise.h).
class Footprint {
 public:
  Footprint() = default;
  /// Reserves it; fails where there is not so much memory. 0 bytes: nothing will be touched.
  static Result<Footprint> create(std::uint64_t bytes);
  /// Makes the cycle; to be called on the CPU that walks through it, so that the memory is near. 1 GiB takes seconds.
  void link();

  /// A line of the cycle; null if nothing is touched.
  [[nodiscard]] const CacheLine* lines() const { return lines_.get(); }
  /// False where RLIMIT_MEMLOCK did not allow it: a page of it may be swapped out, and come back by a page fault.
  [[nodiscard]] bool is_locked() const { return locked_; }

 private:
  struct Free {
    void operator()(CacheLine* lines) const { std::free(lines); }
  };
  std::unique_ptr<CacheLine, Free> lines_;
  std::size_t count_ = 0;
  bool locked_ = true;
};

// How long phases of work may be, and what else the user says of them.

/// Below it a phase is no longer than what the loop takes for noise; above it no recording is long enough.
inline constexpr std::uint64_t kShortestGrainNs = 1'000;
inline constexpr std::uint64_t kLongestGrainNs = 1'000'000'000;

/// A time from 1 us to 1 s in nanoseconds, or 0: no phases; usage error otherwise.
Result<std::uint64_t> parse_grain(std::string_view text);

}  // namespace noised::probe
