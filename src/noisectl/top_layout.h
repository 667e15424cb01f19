// SPDX-License-Identifier: Apache-2.0
// The live view as styled lines for a terminal of any size: the list of sources, or the page of the opened one. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "noisectl/top_lines.h"
#include "noisectl/top_model.h"

namespace noised::client {

/// The screen's lines from the top: at most `height`, each at most `width` characters, printable ASCII only.
std::vector<TopLine> lay_out(const TopModel& model, std::size_t width, std::size_t height);

/// How many sources, or chains of the opened source, fit on a screen of this height.
std::size_t visible_rows(const TopModel& model, std::size_t height);

/// A bar of `width` characters for a share (1 is everything), logarithmic from 0.001% to 100%.
std::string share_bar(double share, std::size_t width);

}  // namespace noised::client
