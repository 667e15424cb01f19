// SPDX-License-Identifier: Apache-2.0
// What a check found, on one line.
#pragma once

#include <string>

#include "model/check.h"

namespace noised::views {

/// "noisy: CPU 1: a detour of 2.41 ms, above 20.0 us, by task:stress 2.40 ms", with what else was found, at most three
/// of each; without a line end.
std::string to_text(const CheckView& check);
/// The same, all of it, as one JSON object, schema "noised.check/1".
std::string to_json(const CheckView& check);

}  // namespace noised::views
