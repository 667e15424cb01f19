// SPDX-License-Identifier: Apache-2.0
// The page of an opened source: its numbers, the chains seen with it, and the sources that share its detours. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "noisectl/top/layout.h"
#include "noisectl/top/model.h"

namespace noised::client {

/// The page's lines; the model must have an opened source.
std::vector<TopLine> lay_out_page(const TopModel& model, std::size_t width, std::size_t height);

/// How many chains fit on a page of this height.
std::size_t chain_rows(const TopModel& model, std::size_t height);

}  // namespace noised::client
