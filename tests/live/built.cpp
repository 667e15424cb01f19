// SPDX-License-Identifier: Apache-2.0
#include "command.h"

namespace noised::live {

const std::string kNoised = NOISED_BINARY, kNoisectl = NOISECTL_BINARY, kNoise = NOISE_BINARY, kMarker = MARKER_BINARY,
                  kVictim = VICTIM_BINARY, kQuiet = QUIET_BINARY, kSwarm = SWARM_BINARY, kTree = NOISED_SOURCE,
                  kMpiLibrary = NOISED_MPI_LIBRARY;

}  // namespace noised::live
