// SPDX-License-Identifier: Apache-2.0
// The live view as styled lines for a terminal of any size: the list of sources, or the page of the opened one. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "noisectl/top/model.h"

namespace noised::client {

// Styled lines, and those that both pages of the live view have. Pure: nothing here knows ncurses.

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

/// The screen's lines from the top: at most `height`, each at most `width` characters, printable ASCII only.
std::vector<TopLine> lay_out(const TopModel& model, std::size_t width, std::size_t height);

/// How many sources, or chains of the opened source, fit on a screen of this height.
std::size_t visible_rows(const TopModel& model, std::size_t height);

/// A bar of `width` characters for a share (1 is everything), logarithmic from 0.001% to 100%.
std::string share_bar(double share, std::size_t width);

}  // namespace noised::client
