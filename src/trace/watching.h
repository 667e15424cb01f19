// SPDX-License-Identifier: Apache-2.0
// What is to be seen of the watched CPUs.
#pragma once

namespace noised {

/// What loops suffer there, or tasks; or both, in turns.
struct Watching {
  bool loops = true;
  bool tasks = false;
};

}  // namespace noised
