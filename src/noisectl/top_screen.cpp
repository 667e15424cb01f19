// SPDX-License-Identifier: Apache-2.0
// ncurses and the loop around it: fetch, draw, wait for a key, a signal or the next update.
#include "noisectl/top_screen.h"

#include <clocale>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>

#define NCURSES_NOMACROS  // its macros take names such as scroll from everyone
#include <curses.h>

#include "noisectl/http_client.h"
#include "noisectl/stop_signals.h"
#include "noisectl/top_layout.h"
#include "noisectl/top_model.h"
#include "views/views.h"

namespace noised::client {
namespace {

using Clock = std::chrono::steady_clock;

// Keys wait while a request is under way: a daemon that hangs must not freeze the screen for long.
constexpr std::chrono::milliseconds kAnswerTime{1000};

/// The terminal in full-screen mode; given back as it was when this dies.
class Screen {
 public:
  static Result<std::unique_ptr<Screen>> open() {
    std::setlocale(LC_CTYPE, "");
    SCREEN* terminal = newterm(nullptr, stdout, stdin);
    if (terminal == nullptr)
      return usage_error("top: the terminal type is not known",
                         "set TERM, for example TERM=xterm, or use 'noisectl report'");
    return std::unique_ptr<Screen>(new Screen(terminal));
  }

  ~Screen() {
    endwin();
    delscreen(terminal_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(std::max(0, getmaxx(stdscr))); }
  [[nodiscard]] std::size_t height() const { return static_cast<std::size_t>(std::max(0, getmaxy(stdscr))); }

  void draw(const std::vector<TopLine>& lines) const {
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

  /// The next key, or ERR.
  [[nodiscard]] int key() const { return getch(); }

 private:
  explicit Screen(SCREEN* terminal) : terminal_(terminal) {
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    if (!has_colors()) return;
    start_color();
    use_default_colors();
    init_pair(kGood, COLOR_GREEN, -1);
    init_pair(kAlarm, COLOR_RED, -1);
  }

  [[nodiscard]] static attr_t attribute(TopStyle style) {
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
    }
    return A_NORMAL;
  }

  static constexpr short kGood = 1;
  static constexpr short kAlarm = 2;

  SCREEN* terminal_;
};

Result<TopSample> fetch(HttpClient& client) {
  const Result<std::string> report = client.get("/v1/report", kAnswerTime);
  if (!report) return report.error();
  Result<Report> parsed = views::parse_report(report.value());
  if (!parsed) return parsed.error();
  TopSample sample{std::move(parsed).value(), {}, {}};
  // The view is worth having without these two.
  if (const Result<std::string> body = client.get("/v1/histogram", kAnswerTime); body)
    if (Result<HistogramView> view = views::parse_histogram(body.value()); view) sample.histogram = view.value();
  if (const Result<std::string> body = client.get("/v1/status", kAnswerTime); body)
    if (Result<StatusView> view = views::parse_status(body.value()); view) sample.status = view.value();
  return sample;
}

/// False to quit.
bool handle_key(int key, TopModel& model, std::size_t height) {
  const std::size_t rows = source_rows(model, height);
  const long page = std::max<long>(1, static_cast<long>(rows));
  switch (key) {
    case KEY_UP:
      model.scroll(-1, rows);
      return true;
    case KEY_DOWN:
      model.scroll(1, rows);
      return true;
    case KEY_PPAGE:
      model.scroll(-page, rows);
      return true;
    case KEY_NPAGE:
      model.scroll(page, rows);
      return true;
    case KEY_HOME:
      model.scroll(-static_cast<long>(model.scroll_position()), rows);
      return true;
    default:
      // KEY_RESIZE needs nothing: every drawing asks for the size anew.
      return key < 0 || key > 127 || model.press(static_cast<char>(key));
  }
}

/// Milliseconds to wait, rounded up so as not to wake just before the moment.
int wait_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

void update(HttpClient& client, TopModel& model) {
  Result<TopSample> sample = fetch(client);
  if (sample)
    model.add(std::move(sample).value());
  else
    model.unreachable(sample.error().line());
}

// A clock's nanoseconds are signed; half of them, 146 years, never end either.
std::chrono::nanoseconds span(std::uint64_t ns) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(ns, std::uint64_t{1} << 62)));
}

Status loop(HttpClient& client, const Screen& screen, const StopSignals& stop, const Options& options) {
  const auto interval = span(options.interval_ns);
  const Clock::time_point start = Clock::now();
  const Clock::time_point end = options.duration_ns ? start + span(*options.duration_ns) : Clock::time_point::max();
  Clock::time_point next = start;
  TopModel model;
  for (;;) {
    if (const Clock::time_point now = Clock::now(); now >= next) {
      if (!model.paused()) update(client, model);
      next = std::max(next + interval, now);
    }
    model.scroll(0, source_rows(model, screen.height()));
    screen.draw(lay_out(model, screen.width(), screen.height()));
    std::array<pollfd, 2> wake{{{STDIN_FILENO, POLLIN, 0}, {stop.fd(), POLLIN, 0}}};
    poll(wake.data(), wake.size(), wait_ms(std::min(next, end)));
    // A terminal that hung up stays readable for ever.
    if (wake[1].revents != 0 || (wake[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return success();
    for (int key = screen.key(); key != ERR; key = screen.key())
      if (!handle_key(key, model, screen.height())) return success();
    if (Clock::now() >= end) return success();
  }
}

}  // namespace

Status run_top(const Options& options) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
    return usage_error("top needs a terminal", "use 'noisectl detours --follow' or 'noisectl report'");
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  const StopSignals stop;
  Result<std::unique_ptr<Screen>> screen = Screen::open();
  if (!screen) return screen.error();
  return loop(client.value(), *screen.value(), stop, options);
}

}  // namespace noised::client
