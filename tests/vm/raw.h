// SPDX-License-Identifier: Apache-2.0
// The format of a raw capture: what the kernel's programs and the loops handed over, drain by drain, before anything
// was attributed. vm/raw.cpp writes it, unit/pipeline/raw_test.cpp plays it. One zstd frame of a Head and batches, each
// a Batch, its origins, and for each CPU a CpuBatch, its gaps and its records; all as they are in memory.
#pragma once

#include <noised/abi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace noised::raw {

inline constexpr std::uint64_t kMagic = 0x3130776172'64736eU;  // "nsdraw01"
inline constexpr std::size_t kMostCpus = 8;

struct Clock {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
  std::uint64_t half_width_ticks = 0;
};

struct Head {
  std::uint64_t magic = kMagic;
  std::uint64_t threshold_ns = 0;
  std::array<Clock, 2> clocks{};  ///< before anything was measured
  std::array<std::uint32_t, kMostCpus> cpus{};
  std::uint32_t cpu_count = 0;
  std::uint32_t counted_vectors = 0;  ///< bits by enum noised_vector: CpuBatch::interrupts counts these
  std::uint32_t on_hypervisor = 0;
  std::uint32_t reserved = 0;
  std::array<char, 64> kernel{};  ///< its release
};

/// One drain. The first was made before the loops began, the last after they had ended.
struct Batch {
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;  ///< nothing of it is younger
  Clock clock;                 ///< read after all gaps were
  std::uint64_t missed_runs = 0;
  std::uint64_t lost_origins = 0;
  std::uint32_t origins = 0;
  std::uint32_t origins_complete = 0;
};

/// What one CPU brought in a drain.
struct CpuBatch {
  std::uint64_t iterations = 0;  ///< the loop's progress, read before its gaps, as the next three
  std::uint64_t first_ticks = 0;
  std::uint64_t last_ticks = 0;
  std::uint64_t storing_ticks = 0;
  std::uint64_t task_start_ns = 0;  ///< of noised_cpu, read after the records, as the next three
  std::uint32_t probe_pid = 0;
  std::uint32_t current_pid = 0;
  std::uint32_t watched = 0;
  std::uint32_t is_away = 0;
  std::uint64_t lost_full = 0;
  std::uint64_t lost_nmi = 0;
  std::uint64_t lost_depth = 0;
  std::uint64_t lost_unpaired = 0;
  std::uint64_t lost_unseen = 0;
  std::uint64_t interrupts = 0;  ///< that the kernel counted since boot
  std::uint32_t gaps = 0;
  std::uint32_t record_bytes = 0;  ///< of its records: each says its size itself
};

struct Gap {
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;
  std::uint64_t kind = 0;  ///< GapKind
};

static_assert(std::has_unique_object_representations_v<Head> && std::has_unique_object_representations_v<Batch> &&
                  std::has_unique_object_representations_v<CpuBatch> && std::has_unique_object_representations_v<Gap>,
              "no byte of them is left to chance");

}  // namespace noised::raw
