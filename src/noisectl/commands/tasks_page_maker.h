// SPDX-License-Identifier: Apache-2.0
// The page of a recording of watched tasks.
#pragma once

#include "base/result.h"

#include <string>

#include "noisectl/client/measured.h"

namespace noised::client {

struct MadePage {
  std::string text;
  Status whole = success();  ///< or what is wrong with the end of the recording
};

/// Plays what was measured once, which is of watched tasks. Memory is that of the tables of each CPU.
Result<MadePage> make_tasks_page(const Measured& measured);

}  // namespace noised::client
