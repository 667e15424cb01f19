// SPDX-License-Identifier: Apache-2.0
// A bulk-synchronous program: phases of fixed work, each ended by a barrier. Either as it is, with a rank on each CPU
// (barrier, to be started by mpirun), or with many ranks that take turns on one CPU (turns): there, a rank's phase
// begins at a time that was drawn beforehand, whatever the noise does, as that of a rank among many others does.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fixed_work.h"

using namespace noised;
using namespace noised::bench;

namespace {

using Times = std::vector<std::uint64_t>;

// Between two turns there is time for noise of this length to end, so that hardly a turn has to wait for the one
// before.
constexpr double kRestNs = 1e6;
// barrier: after phases of this length together, each rank looks how fast its CPU is now.
constexpr double kLookEveryNs = 1e6;

bool pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

// Room for so many, that no page of it is first touched while phases run.
Times room_for(std::size_t count) {
  Times values(count);
  values.clear();
  return values;
}

// -- turns

int take_turns(unsigned cpu, double seconds, double grain_ns) {
  if (!pin(cpu)) return 1;
  const Work work = calibrate(grain_ns);
  const double rest_ns = grain_ns + kRestNs;
  std::mt19937_64 random{std::random_device{}()};
  std::uniform_real_distribution<double> gap_ns(rest_ns, 3 * rest_ns);
  const auto count = static_cast<std::size_t>(seconds * 1e9 / (2 * rest_ns));
  Times phases = room_for(count);
  Times undisturbed = room_for(count + 1);
  const std::uint64_t look = work.ticks(2 * Work::kPieces * Work::kPieceNs);
  std::uint64_t late = 0;
  undisturbed.push_back(work.undisturbed_ns());
  std::uint64_t start = read_tsc_ordered() + work.ticks(rest_ns);
  for (std::size_t i = 0; i < count; ++i) {
    while (read_tsc() < start) {
    }
    work.phase();
    const std::uint64_t end = read_tsc_ordered();
    phases.push_back(work.ns(end - start));
    start += work.ticks(gap_ns(random));
    undisturbed.push_back(end + look < start ? work.undisturbed_ns() : undisturbed.back());
    if (read_tsc() >= start) ++late;  // from its plan on, it takes what is left of this one too: at most a grain
  }
  fmt::print("{{\"late\": {}, \"every\": 1, \"phases_ns\": [{}], \"undisturbed_ns\": [[{}]]}}\n", late,
             fmt::join(phases, ", "), fmt::join(undisturbed, ", "));
  return 0;
}

// -- barrier

struct Phases {
  Times took;         // from barrier to barrier
  Times undisturbed;  // before them, and after each so many
  Times barriers;     // right after another one: what they take themselves
};

std::uint64_t meet() {
  MPI_Barrier(MPI_COMM_WORLD);
  return read_tsc_ordered();
}

Phases run_phases(const Work& work, std::size_t looks, std::size_t every) {
  Phases phases{room_for(looks * every), room_for(looks + 1), room_for(looks)};
  phases.undisturbed.push_back(work.undisturbed_ns());
  for (std::size_t i = 0; i < looks; ++i) {
    std::uint64_t begin = meet();
    for (std::size_t phase = 0; phase < every; ++phase) {
      work.phase();
      const std::uint64_t end = meet();
      phases.took.push_back(work.ns(end - begin));
      begin = end;
    }
    phases.barriers.push_back(work.ns(meet() - begin));
    phases.undisturbed.push_back(work.undisturbed_ns());
  }
  return phases;
}

// Those of all ranks, each in brackets, at rank 0.
std::vector<std::string> gather(const Times& times) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = static_cast<int>(times.size());
  Times all(times.size() * static_cast<std::size_t>(ranks));
  MPI_Gather(times.data(), count, MPI_UINT64_T, all.data(), count, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  std::vector<std::string> lists;
  for (auto at = all.begin(); at != all.end(); at += count)
    lists.push_back(fmt::format("[{}]", fmt::join(at, at + count, ", ")));
  return lists;
}

void meet_at_barriers(int rank, double seconds, double grain_ns) {
  MPI_Barrier(MPI_COMM_WORLD);  // ranks calibrate together: each as fast as it is beside the other
  const Work work = calibrate(grain_ns);
  const auto every = static_cast<std::size_t>(std::max(1.0, kLookEveryNs / grain_ns));
  const auto looks = static_cast<std::size_t>(seconds * 1e9 / (static_cast<double>(every) * grain_ns));
  const Phases phases = run_phases(work, looks, every);
  const std::vector<std::string> undisturbed = gather(phases.undisturbed);
  if (rank != 0) return;
  fmt::print("{{\"barrier_ns\": {:.0f}, \"every\": {}, \"phases_ns\": [{}], \"undisturbed_ns\": [{}]}}\n",
             second_decile(phases.barriers), every, fmt::join(phases.took, ", "), fmt::join(undisturbed, ", "));
}

}  // namespace

// barrier SECONDS GRAIN_NS CPU..., one for each rank, or turns SECONDS GRAIN_NS CPU: prints as JSON how long phases
// took.
int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc < 5 || (mode != "turns" && mode != "barrier")) return 2;
  const double seconds = std::strtod(argv[2], nullptr);
  const double grain_ns = std::strtod(argv[3], nullptr);
  std::vector<unsigned> cpus;
  for (int i = 4; i < argc; ++i) cpus.push_back(static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)));
  if (mode == "turns") return take_turns(cpus.front(), seconds, grain_ns);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!pin(cpus.at(static_cast<std::size_t>(rank)))) MPI_Abort(MPI_COMM_WORLD, 1);
  meet_at_barriers(rank, seconds, grain_ns);
  MPI_Finalize();
  return 0;
}
