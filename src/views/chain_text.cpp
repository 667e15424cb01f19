// SPDX-License-Identifier: Apache-2.0
// One phrase for each link of the chain.
#include "views/chain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "views/format.h"

namespace noised::views {
namespace {

using Details = std::vector<std::pair<std::string, std::string>>;

// Takes a detail out, so that what remains at the end is what nobody had a phrase for.
std::string take(Details& details, std::string_view key) {
  const auto found = std::find_if(details.begin(), details.end(), [&](const auto& each) { return each.first == key; });
  if (found == details.end()) return {};
  std::string value = printable(found->second);
  details.erase(found);
  return value;
}

// "woken by systemd[1] on CPU 0", "sent by softirq NET_RX on CPU 0", "woken here".
std::string actor(Details& details, const std::string& role, std::string_view verb) {
  const std::string name = take(details, role);
  const std::string pid = take(details, role + "_pid");
  const std::string cpu = take(details, role + "_cpu");
  const std::string context = take(details, role + "_context");
  if (context == "this CPU") return fmt::format("{} here", verb);
  if (name.empty() && context.empty()) return {};
  std::string text = fmt::format("{} by ", verb);
  if (name.empty()) {
    text += context;
  } else {
    text += pid.empty() ? name : fmt::format("{}[{}]", name, pid);
    if (!context.empty()) text += fmt::format(" ({})", context);
  }
  return cpu.empty() ? text : fmt::format("{} on CPU {}", text, cpu);
}

std::string phrase(Details& details, std::string_view key, std::string_view before, std::string_view after = {}) {
  const std::string value = take(details, key);
  return value.empty() ? value : fmt::format("{}{}{}", before, value, after);
}

}  // namespace

std::string chain_text(const DetourEntryView& entry) {
  Details details = entry.detail;
  std::vector<std::string> phrases = {
      phrase(details, "pid", "pid "),
      actor(details, "waker", "woken"),
      actor(details, "mover", "moved"),
      phrase(details, "service", "of "),
      phrase(details, "work", "runs "),
      actor(details, "sender", "sent"),
      phrase(details, "function", "to run "),
      phrase(details, "sender_code", "in "),
      phrase(details, "sends", "", " sends"),
      phrase(details, "ip", "at "),
      phrase(details, "address", "", " address"),
  };
  for (const auto& [key, value] : details) {
    phrases.push_back(printable(value == "true" ? key : fmt::format("{} {}", key, value)));
  }
  std::erase_if(phrases, [](const std::string& each) { return each.empty(); });
  return fmt::format("{}", fmt::join(phrases, ", "));
}

}  // namespace noised::views
