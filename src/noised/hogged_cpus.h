// SPDX-License-Identifier: Apache-2.0
// CPUs that an ordinary thread does not get.
#pragma once

#include <vector>

namespace noised::daemon {

/// Of these CPUs, those that threads of the caller's priority were not given within 2 s: a real-time task has all of
/// such a one, which kernels before Linux 6.12 allow. Nobody is left behind there.
std::vector<unsigned> hogged_cpus(const std::vector<unsigned>& cpus);

}  // namespace noised::daemon
