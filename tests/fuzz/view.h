// SPDX-License-Identifier: Apache-2.0
// What holds for every view: what parses can be shown, and written as JSON it parses to the same.
#pragma once

#include "fuzz.h"
#include "views/views.h"
#include "views/watch.h"

namespace noised::fuzz {

/// Checks what `parse` says about the text.
template <typename Parse>
void check_view(std::string_view text, Parse parse) {
  const auto view = parse(text);
  if (!view) return check_error(view.error(), ExitCode::failed);
  const std::string json = views::to_json(view.value());
  check(json.find('\n') == std::string::npos, "JSON is one line", json);
  const auto again = parse(json);
  check(again.ok(), "what was accepted is accepted again", again.ok() ? json : again.error().line() + "\n" + json);
  check(views::to_json(again.value()) == json, "what was accepted means the same again", json);
  std::string shown = views::to_text(view.value());
  std::erase(shown, '\n');
  check(is_one_line(shown), "the text does not drive the terminal", shown);
}

}  // namespace noised::fuzz
