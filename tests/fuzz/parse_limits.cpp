// SPDX-License-Identifier: Apache-2.0
// Files of limits: an error names its line; what is accepted means the same when it is written again.
#include "base/cpus.h"
#include "noisectl/commands/check.h"
#include "toml_text.h"

namespace noised::fuzz {
namespace {

constexpr const char* kLimits = "fuzz.limits";

std::string percent(std::uint64_t billionths) {
  return fmt::format("{}.{:07}%", billionths / 10'000'000, billionths % 10'000'000);
}

std::string written_limits(const analysis::NoiseLimits& limits) {
  std::string text;
  if (limits.max_detour_ns) text += fmt::format("max_detour = \"{}ns\"\n", *limits.max_detour_ns);
  if (limits.max_share) text += fmt::format("max_share = \"{}\"\n", percent(*limits.max_share));
  if (limits.cpus) text += fmt::format("cpus = \"{}\"\n", format_cpu_list(*limits.cpus));
  text += "sources = [";
  for (const analysis::SourceLimit& limit : limits.sources) {
    const std::string most = limit.max_ns ? fmt::format("{}ns", *limit.max_ns) : percent(limit.share.value_or(0));
    text += quoted(limit.pattern + "=" + most) + ", ";
  }
  return text + "]\n";
}

}  // namespace
}  // namespace noised::fuzz

extern "C" int fuzz_parse_limits(const std::uint8_t* data, std::size_t size) {
  using namespace noised;
  const auto limits = client::parse_limits(std::string(fuzz::text(data, size)), fuzz::kLimits);
  if (!limits) {
    fuzz::check_error(limits.error(), ExitCode::usage);
    fuzz::check_place(limits.error(), fuzz::kLimits);
    return 0;
  }
  for (const analysis::SourceLimit& limit : limits.value().sources)
    fuzz::check(limit.max_ns.has_value() != limit.share.has_value(), "a source has one limit", limit.pattern);
  const std::string text = fuzz::written_limits(limits.value());
  const auto again = client::parse_limits(text, fuzz::kLimits);
  fuzz::check(again.ok(), "what was accepted is accepted again", again.ok() ? text : again.error().line());
  fuzz::check(fuzz::written_limits(again.value()) == text, "what was accepted means the same again", text);
  return 0;
}
