// SPDX-License-Identifier: Apache-2.0
// Styled lines, and those that both pages of the live view have. Pure: nothing here knows ncurses.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "noisectl/top_model.h"

namespace noised::client {

enum class TopStyle { plain, title, heading, good, alarm, faint, selected };

struct TopLine {
  std::string text;
  TopStyle style = TopStyle::plain;
};

/// What stands at the top of every page: the host, why the daemon does not answer or how a recording ended, the keys if
/// asked for, what is lost; without a sample, that there is none.
std::vector<TopLine> page_head(const TopModel& model);

/// "last 1.00 s", or "since start".
std::string interval_text(const TopModel& model);

/// The lines cut to the screen, with `keys` as its last row; a screen of one row has no room for that.
std::vector<TopLine> fit_to_screen(std::vector<TopLine> lines, const std::string& keys, std::size_t width,
                                   std::size_t height);

/// How many rows fit between the `above` lines and the row of keys.
std::size_t rows_between(std::size_t above, std::size_t height);

}  // namespace noised::client
