// SPDX-License-Identifier: Apache-2.0
// Styles, colours and special keys of a terminal.
#include "noisectl/top/terminal.h"

#include <algorithm>
#include <clocale>
#include <cstdio>

#define NCURSES_NOMACROS  // its macros take names such as scroll from everyone
#include <curses.h>

namespace noised::client {
namespace {

constexpr short kGood = 1;
constexpr short kAlarm = 2;

// More than any list has.
constexpr long kEverything = 1'000'000;

// A terminal sends its special keys in one piece; a human's Escape should not wait for ncurses' usual second.
constexpr int kEscapeMs = 25;

attr_t attribute(TopStyle style) {
  switch (style) {
    case TopStyle::plain:
      return A_NORMAL;
    case TopStyle::title:
      return A_BOLD;
    case TopStyle::heading:
      return A_REVERSE;
    case TopStyle::good:
      return static_cast<attr_t>(COLOR_PAIR(kGood));
    case TopStyle::alarm:
      return static_cast<attr_t>(COLOR_PAIR(kAlarm)) | A_BOLD;
    case TopStyle::faint:
      return A_DIM;
    case TopStyle::selected:
      return A_BOLD;
  }
  return A_NORMAL;
}

}  // namespace

Result<std::unique_ptr<TopTerminal>> TopTerminal::open() {
  std::setlocale(LC_CTYPE, "");
  SCREEN* terminal = newterm(nullptr, stdout, stdin);
  if (terminal == nullptr)
    return usage_error("top: the terminal type is not known",
                       "set TERM, for example TERM=xterm, or use 'noisectl report'");
  return std::unique_ptr<TopTerminal>(new TopTerminal(terminal));
}

TopTerminal::TopTerminal(screen* terminal) : terminal_(terminal) {
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapeMs);
  curs_set(0);
  if (!has_colors()) return;
  start_color();
  use_default_colors();
  init_pair(kGood, COLOR_GREEN, -1);
  init_pair(kAlarm, COLOR_RED, -1);
}

TopTerminal::~TopTerminal() {
  endwin();
  delscreen(terminal_);
}

std::size_t TopTerminal::width() const { return static_cast<std::size_t>(std::max(0, getmaxx(stdscr))); }
std::size_t TopTerminal::height() const { return static_cast<std::size_t>(std::max(0, getmaxy(stdscr))); }

void TopTerminal::draw(const std::vector<TopLine>& lines) const {
  erase();
  int row = 0;
  for (const TopLine& line : lines) {
    const attr_t style = attribute(line.style);
    attr_on(style, nullptr);
    // The last cell of the screen cannot be written without an error that means nothing.
    mvaddnstr(row++, 0, line.text.c_str(), static_cast<int>(line.text.size()));
    attr_off(style, nullptr);
  }
  refresh();
}

std::optional<TopInput> TopTerminal::input() const {
  const int key = getch();
  switch (key) {
    case ERR:
      return std::nullopt;
    case KEY_UP:
      return TopInput{.rows = -1};
    case KEY_DOWN:
      return TopInput{.rows = 1};
    case KEY_PPAGE:
      return TopInput{.pages = -1};
    case KEY_NPAGE:
      return TopInput{.pages = 1};
    case KEY_HOME:
      return TopInput{.rows = -kEverything};
    case KEY_END:
      return TopInput{.rows = kEverything};
    case KEY_ENTER:
      return TopInput{.character = '\r'};
    case KEY_BACKSPACE:
    case '\b':
    case 127:
      return TopInput{.character = TopModel::kBack};
    default:
      // KEY_RESIZE needs nothing: every drawing asks for the size anew.
      return TopInput{.character = static_cast<char>(key > 0 && key < 127 ? key : 0)};
  }
}

}  // namespace noised::client
