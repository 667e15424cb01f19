// SPDX-License-Identifier: Apache-2.0
// Sizes of caches from sysfs, and a walk that no prefetcher can shorten.
#include "probe/footprint.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"

namespace noised::probe {
namespace {

constexpr std::uint64_t kLine = sizeof(CacheLine);
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;
constexpr std::size_t kPage = 4096;
// More indexes than any CPU has caches.
constexpr unsigned kMostCaches = 16;

// Of a cache, half: the loop's own data and the ring need some lines, and pages of 4 KiB fall on the sets of a
// physically indexed cache at random, so that a larger walk evicts itself: of an L2 of 2 MiB, an iteration took 30 ns
// with 512 KiB, 32 to 34 with 1 MiB, 37 to 42 with 1.5 and 45 to 48 with all.
constexpr std::uint64_t kPart = 2;

std::string first_line(const std::string& path) {
  const auto text = read_file(path);
  return text ? text.value().substr(0, text.value().find('\n')) : std::string();
}

// "48K" or "2M", as the kernel writes it.
std::uint64_t cache_size(const std::string& text) {
  if (text.empty() || (text.back() != 'K' && text.back() != 'M')) return 0;
  const auto size = parse_size(text + "iB");
  return size ? size.value() : 0;
}

std::uint64_t data_cache(unsigned cpu, unsigned level, const std::string& sysroot) {
  for (unsigned index = 0; index < kMostCaches; ++index) {
    const std::string cache =
        fmt::format("{}/sys/devices/system/cpu/cpu{}/cache/index{}/", sysroot == "/" ? "" : sysroot, cpu, index);
    const std::string type = first_line(cache + "type");
    if (type != "Data" && type != "Unified") continue;
    if (first_line(cache + "level") == std::to_string(level)) return cache_size(first_line(cache + "size"));
  }
  return 0;
}

}  // namespace

Result<FootprintChoice> parse_footprint(std::string_view text) {
  if (text == "L1") return FootprintChoice{1, 0};
  if (text == "L2") return FootprintChoice{2, 0};
  const auto size = parse_size(text);
  if (!size || size.value() > kMostBytes || (size.value() != 0 && size.value() < kLine)) {
    return usage_error("footprint " + in_quotes(text) + " is not 0, L1, L2 or a size from 64 to 1GiB",
                       "write such as L1, or 256KiB");
  }
  return FootprintChoice{0, (size.value() + kLine - 1) / kLine * kLine};
}

std::string to_string(const FootprintChoice& footprint) {
  return footprint.cache_level == 0 ? std::to_string(footprint.bytes) : fmt::format("L{}", footprint.cache_level);
}

Result<std::uint64_t> footprint_bytes(const FootprintChoice& choice, const std::vector<unsigned>& cpus,
                                      const std::string& sysroot) {
  if (choice.cache_level == 0) return choice.bytes;
  std::uint64_t least = UINT64_MAX;
  for (const unsigned cpu : cpus) {
    const std::uint64_t bytes = data_cache(cpu, choice.cache_level, sysroot);
    if (bytes == 0) {
      return failure(fmt::format("footprint L{}: /sys/devices/system/cpu/cpu{}/cache does not tell the size of it",
                                 choice.cache_level, cpu),
                     "give a size, such as 24KiB");
    }
    least = std::min(least, bytes);
  }
  return std::max(least / kPart / kLine, std::uint64_t{1}) * kLine;
}

void link_lines(std::span<CacheLine> lines) {
  for (CacheLine& line : lines) line.next = &line;
  std::minstd_rand random;  // NOLINT(cert-msc51-cpp): the same every time
  for (std::size_t left = lines.size(); left > 1; --left) {
    std::swap(lines[left - 1].next, lines[random() % (left - 1)].next);
  }
}

Result<Footprint> Footprint::create(std::uint64_t bytes) {
  Footprint footprint;
  if (bytes == 0) return footprint;
  footprint.count_ = bytes / kLine;
  footprint.lines_.reset(static_cast<CacheLine*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)));
  if (footprint.lines_ != nullptr) return footprint;
  return failure(fmt::format("footprint: no memory for {} bytes", bytes), "give a smaller one");
}

void Footprint::link() {
  if (lines_ == nullptr) return;
  const std::span<CacheLine> lines(lines_.get(), count_);
  locked_ = ::mlock(lines.data(), lines.size_bytes()) == 0;
  for (CacheLine& line : lines) ::new (&line) CacheLine;
  link_lines(lines);
}

Result<std::uint64_t> parse_grain(std::string_view text) {
  auto time = parse_time(text);
  if (!time) return time.error();
  if (time.value() != 0 && (time.value() < kShortestGrainNs || time.value() > kLongestGrainNs)) {
    return usage_error("grain " + in_quotes(text) + " is not between 1us and 1s", "write such as 1ms");
  }
  return time;
}

}  // namespace noised::probe
