// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/options.h"

#include "base/units.h"
#include "probe/footprint.h"

namespace noised::client {
namespace {

// Faster updates cost the daemon more than they show: a screen is read a few times a second.
constexpr std::uint64_t kShortestInterval = 100'000'000;

}  // namespace

CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& path) { return std::string(path.empty() ? "it is empty" : ""); }, "");
}

void add_delays(CLI::App& command, std::string& text) {
  command
      .add_option("--delay", text, "parts of the grain that a phase is delayed by to count in p, such as 1%,10%,50%")
      ->capture_default_str()
      ->type_name("LIST");
}

void add_json(CLI::App& sub, bool& json) { sub.add_flag("--json", json, "print JSON"); }

void add_cpu(CLI::App& sub, std::optional<unsigned>& cpu, const char* help) {
  sub.add_option("--cpu", cpu, help)->check(number_from<unsigned>(0))->type_name("N");
}

CLI::Option* add_duration(CLI::App& sub, std::string& text, const char* help) {
  return sub.add_option("--duration", text, help)->type_name("TIME");
}

Status read_time(const char* flag, const std::string& text, std::uint64_t& out) {
  if (text.empty()) return success();
  const Result<std::uint64_t> time = parse_time(text);
  if (!time) return usage_error(std::string(flag) + ": " + time.error().what, time.error().remedy);
  out = time.value();
  return success();
}

Status read_duration(const std::string& text, std::optional<std::uint64_t>& out) {
  if (text.empty()) return success();
  return read_time("--duration", text, out.emplace());
}

Status read_interval(const std::string& text, std::uint64_t& out) {
  if (Status read = read_time("--interval", text, out); !read) return read;
  if (out < kShortestInterval) return usage_error("--interval " + text + " is too short", "give 100ms or more");
  return success();
}

Status read_grain(const std::string& text, std::uint64_t& out) {
  const auto grain = probe::parse_grain(text);
  if (!grain) return usage_error("--grain: " + grain.error().what, grain.error().remedy);
  if (grain.value() == 0) return usage_error("--grain: phases of no time do no work", "write such as 1ms");
  out = grain.value();
  return success();
}

void PhaseFlags::describe(CLI::App& sub, PhaseChoice& phases) {
  CLI::Option* grain =
      sub.add_option("--grain", grain_, "have the daemon run phases of fixed work this long meanwhile, 1us to 1s")
          ->check(not_empty())
          ->type_name("TIME");
  sub.add_option("--footprint", footprint_, "memory that they walk through: 0, L1, L2 or a size (0)")
      ->check(not_empty())
      ->needs(grain)
      ->type_name("SIZE");
  sub.add_option("--policy", phases.policy, "their scheduling policy: other or fifo (the daemon's own)")
      ->check(CLI::IsMember({"other", "fifo"}).description(""))
      ->needs(grain)
      ->type_name("POLICY");
}

Status PhaseFlags::read(PhaseChoice& phases) const {
  if (grain_.empty()) return success();
  if (Status read = read_grain(grain_, phases.grain_ns); !read) return read;
  if (footprint_.empty()) return success();
  const auto footprint = probe::parse_footprint(footprint_);
  if (!footprint) return usage_error("--footprint: " + footprint.error().what, footprint.error().remedy);
  phases.footprint = footprint.value();
  return success();
}

Status needs_daemon() {
  return usage_error("--replay: this command needs a running daemon",
                     "a recording can be shown with every command but import, record, reload and selftest");
}

Status check_no_duration(const std::optional<std::uint64_t>& duration_ns) {
  if (!duration_ns) return success();
  return usage_error("--duration: a recording is as long as it is", "leave it out");
}

}  // namespace noised::client
