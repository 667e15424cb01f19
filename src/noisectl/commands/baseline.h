// SPDX-License-Identifier: Apache-2.0
// noisectl baseline: keeps what a machine is like in a file, and says what has changed since.
#pragma once

#include <string>

#include "noisectl/client/options.h"

namespace noised::client {

struct BaselineOptions : MeasureOptions {
  bool save = false;  ///< in place of comparing
  std::string file;   ///< the baseline to create, or the one to compare with
  bool json = false;  ///< when comparing
};

}  // namespace noised::client
