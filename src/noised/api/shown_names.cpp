// SPDX-License-Identifier: Apache-2.0
// From names to what is shown for them.
#include "noised/api/shown_names.h"

#include <string_view>

#include <fmt/format.h>

#include "account/detour_feed.h"
#include "model/types.h"
#include "system/proc_tasks.h"

namespace noised::daemon {
namespace {

// Forgotten ones get other numbers.
constexpr std::size_t kRemembered = 16384;
// As they are in combinations: "task:crond".
constexpr std::string_view kTaskPrefix = "task:";

}  // namespace

std::uint64_t NameRule::number_of(const std::string& name) {
  if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
  if (numbers_.size() >= kRemembered) numbers_.clear();
  return numbers_.emplace(name, ++last_).first->second;
}

// Who cannot be told from root by his uid alone, being in another PID namespace, is nobody.
ShownNames NameRule::for_client(const HttpRequest& request) {
  if (owners_ == nullptr || request.is_root()) return {};
  const uid_t user = request.user();
  return {*this, user == 0 ? static_cast<uid_t>(-1) : user};
}

std::string ShownNames::of_task(const std::string& name) const {
  if (rule_ == nullptr || rule_->owners().may_know(name, user_)) return name;
  return fmt::format("hidden-{}", rule_->number_of(name));
}

void ShownNames::apply(const std::string& kind, std::string& name) const {
  if (kind == to_string(Kind::task)) name = of_task(name);
}

void ShownNames::apply(std::vector<ReportCombination>& combinations) const {
  for (ReportCombination& combination : combinations) {
    for (std::string& source : combination.sources) {
      if (!source.starts_with(kTaskPrefix)) continue;
      source = fmt::format("{}{}", kTaskPrefix, of_task(source.substr(kTaskPrefix.size())));
    }
  }
}

void ShownNames::apply(Report& report) const {
  if (rule_ == nullptr) return;
  for (ReportCpu& cpu : report.cpus) {
    for (ReportPart& part : cpu.longest) apply(part.kind, part.name);
  }
  for (ReportSource& source : report.sources) apply(source.kind, source.name);
  apply(report.combinations);
}

void ShownNames::apply(HistogramView& histograms) const {
  if (rule_ == nullptr) return;
  for (HistogramSeriesView& series : histograms.series) apply(series.kind, series.name);
}

// Of wakers and senders nothing is shown: their pids are.
void ShownNames::apply(DetourView& detour) const {
  if (rule_ == nullptr) return;
  if (detour.pid != 0) detour.task = of_task(detour.task);
  for (DetourEntryView& entry : detour.entries) {
    apply(entry.kind, entry.name);
    std::erase_if(entry.detail, [this](const auto& each) {
      return account::is_name_of_task(each.first) && !rule_->owners().may_know(each.second, user_);
    });
  }
}

void ShownNames::apply(WatchReport& report) const {
  if (rule_ == nullptr) return;
  for (ReportSource& source : report.sources) apply(source.kind, source.name);
  apply(report.combinations);
  for (WatchTask& task : report.tasks) task.name = of_task(task.name);
}

void ShownNames::apply(LossesView& losses) const {
  if (rule_ == nullptr) return;
  for (LossSource& source : losses.sources) apply(source.kind, source.name);
}

void ShownNames::own_tasks(const WatchReport& report) const {
  if (rule_ == nullptr) return;
  const system::ProcTasks tasks("/proc");
  for (const WatchTask& task : report.tasks) {
    // One that became another user's, by sudo or the like, may have any name by now.
    const auto owned = tasks.owned(task.pid);
    if (!owned || owned->user == user_) rule_->owners().add(task.name, user_);
  }
}

recording::Disclosure ShownNames::disclosure() const {
  recording::Disclosure told;
  if (rule_ == nullptr) return told;
  told.name = [owners = &rule_->owners(), user = user_](std::string_view name, std::uint32_t pid) {
    owners->note(name, pid);  // it may be new: its detour is not attributed yet
    return owners->may_know_now(name, user);
  };
  return told;
}

}  // namespace noised::daemon
