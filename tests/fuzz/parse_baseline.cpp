// SPDX-License-Identifier: Apache-2.0
// Baselines of any bytes: accepted, they mean the same when written again, and are not different from themselves.
#include "fuzz.h"
#include "views/baseline.h"
#include "views/baseline_file.h"

using namespace noised;
using namespace noised::analysis;
using fuzz::check;

extern "C" int fuzz_parse_baseline(const std::uint8_t* data, std::size_t size) {
  const auto run = views::parse_baseline(fuzz::text(data, size));
  if (!run) {
    fuzz::check_error(run.error(), ExitCode::failed);
    return 0;
  }
  const std::string json = views::to_json(run.value());
  const auto again = views::parse_baseline(json);
  check(again.ok(), "what was accepted is accepted again", json);
  check(views::to_json(again.value()) == json, "what was accepted means the same again", json);
  const auto diff = compare(run.value(), run.value());
  if (!diff) {
    fuzz::check_error(diff.error(), ExitCode::usage);
    return 0;
  }
  check(!diff.value().different(), "a run is not different from itself", json);
  std::string shown = views::to_text(diff.value(), run.value(), run.value());
  std::erase(shown, '\n');
  check(fuzz::is_one_line(shown), "the text does not drive the terminal", shown);
  check(views::to_json(diff.value(), run.value(), run.value()).find('\n') == std::string::npos, "JSON is one line");
  return 0;
}
