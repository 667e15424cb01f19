// SPDX-License-Identifier: Apache-2.0
// What the template's comments stand for, and what is no table.
#include "page/tasks_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "page/cells.h"
#include "page/fill_template.h"
#include "page/html_text.h"
#include "page/templates.h"
#include "views/watch.h"

namespace noised::page {
namespace {

constexpr double kStackWidth = 1000;

std::string title(const TasksPageInput& input) {
  return escape_html(fmt::format("Tasks of {}, {}", input.report.host, input.report.start));
}

std::string part(std::string_view name, const TasksPageInput& input) {
  struct Part {
    std::string_view name;
    std::string (*make)(const TasksPageInput&);
  };
  static constexpr std::array<Part, 10> kParts{{{"title", title},
                                                {"summary", tasks_summary},
                                                {"stack", tasks_stack},
                                                {"categories", tasks_category_table},
                                                {"sources", tasks_source_table},
                                                {"tasks", task_table},
                                                {"durations", task_duration_tables},
                                                {"losses", loss_table},
                                                {"combinations", tasks_combination_table},
                                                {"about", tasks_about_table}}};
  const auto found = std::find_if(kParts.begin(), kParts.end(), [&](const Part& it) { return it.name == name; });
  assert(found != kParts.end());
  return found->make(input);
}

}  // namespace

std::string render_tasks(const TasksPageInput& input) {
  return fill_template(kTasksTemplate, [&](std::string_view name) { return part(name, input); });
}

std::string tasks_summary(const TasksPageInput& input) {
  const WatchReport& watched = input.watched;
  return fmt::format(
      "Watched {} for {}: {} tasks ran. They were runnable for {} and lost {} of it, {}, in {} interruptions and "
      "waits; "
      "the longest took {}.",
      escape_html(watched.selection), duration_html(watched.elapsed_ns), grouped(watched.tasks_seen),
      duration_html(watched.runnable_ns), duration_html(watched.stolen_ns),
      share_html(watched.stolen_ns, watched.runnable_ns), grouped(watched.interruptions),
      duration_html(watched.max_interruption_ns));
}

std::string tasks_stack(const TasksPageInput& input) {
  std::string html = fmt::format(
      R"(<svg viewBox="0 0 {:.0f} 28" width="{:.0f}" height="28" role="img" aria-label="Stolen time by category">)",
      kStackWidth, kStackWidth);
  double at = 0;
  for (const auto& [name, ns] : views::category_times(input.watched)) {
    const double width = input.watched.stolen_ns == 0
                             ? 0
                             : kStackWidth * static_cast<double>(ns) / static_cast<double>(input.watched.stolen_ns);
    const auto category = category_named(name);
    if (!category) continue;
    html += fmt::format(R"(<rect class="part c-{}" x="{:.2f}" width="{:.2f}" height="28"><title>{} {}</title></rect>)",
                        to_string(*category), at, width, escape_html(name), share_html(ns, input.watched.stolen_ns));
    at += width;
  }
  return html + "</svg>";
}

}  // namespace noised::page
