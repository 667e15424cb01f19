// SPDX-License-Identifier: Apache-2.0
// Found noise and unseen CPUs in words.
#include "views/check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/text.h"
#include "model/json_fields.h"
#include "model/json_parts.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

constexpr std::size_t kFindings = 3;

std::string by_whom(const CheckExcess& excess) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kFindings, excess.by.size()); ++i) {
    const ReportPart& part = excess.by[i];
    text += fmt::format("{}{} {}", i == 0 ? ", by " : ", ", printable(short_label(part.kind, part.name)),
                        format_duration(part.self_ns));
  }
  return text + (excess.by.size() > kFindings ? ", ..." : "");
}

std::string excess_text(const CheckExcess& excess) {
  const std::string whose = excess.source.empty() ? "" : fmt::format(" ({})", printable(excess.source));
  if (excess.found_ns) {
    const std::string found = format_duration(*excess.found_ns);
    return fmt::format("CPU {}: {}, above {}{}{}", excess.cpu,
                       excess.source.empty() ? "a detour of " + found : found + " at once",
                       format_duration(excess.allowed_ns.value_or(0)), whose, by_whom(excess));
  }
  return fmt::format("CPU {}: {} of the time, above {}{}{}", excess.cpu, format_share(excess.found_share.value_or(0)),
                     format_share(excess.allowed_share.value_or(0)), whose, by_whom(excess));
}

// CPUs of which the same is to be said are told together.
std::vector<std::string> unseen_texts(const std::vector<CheckUnseen>& unseen) {
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<unsigned>> cpus;
  for (const CheckUnseen& each : unseen) {
    std::vector<unsigned>& of_reason = cpus[each.reason];
    if (of_reason.empty()) reasons.push_back(each.reason);
    of_reason.push_back(each.cpu);
  }
  std::vector<std::string> texts;
  for (const std::string& reason : reasons) {
    std::vector<unsigned>& of_reason = cpus[reason];
    std::ranges::sort(of_reason);
    texts.push_back(
        fmt::format("CPU{} {}: {}", of_reason.size() == 1 ? "" : "s", format_cpu_list(of_reason), printable(reason)));
  }
  return texts;
}

template <typename Item, typename Text>
std::string joined(const std::vector<Item>& items, Text text_of) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kFindings, items.size()); ++i) text += (i == 0 ? "" : "; ") + text_of(items[i]);
  return text + (items.size() > kFindings ? fmt::format("; and {} more", items.size() - kFindings) : "");
}

}  // namespace

std::string to_text(const CheckView& check) {
  const std::string over = fmt::format("over {}", format_duration(check.elapsed_ns));
  if (!check.noisy.empty()) return fmt::format("noisy: {} ({})", joined(check.noisy, excess_text), over);
  if (!check.blind.empty())
    return fmt::format("blind: {} ({})", joined(unseen_texts(check.blind), std::identity()), over);
  if (check.cpus.empty()) return "blind: no CPU is measured";
  return fmt::format("good: CPU{} {}: no detour above {}, at most {} of the time ({})",
                     check.cpus.find_first_of(",-") == std::string::npos ? "" : "s", check.cpus,
                     format_duration(check.max_detour_ns), format_share(check.max_share), over);
}

std::string to_json(const CheckView& check) { return dump(fields_json(check, kCheckFields)); }

}  // namespace noised::views
