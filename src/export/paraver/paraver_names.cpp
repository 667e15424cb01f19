// SPDX-License-Identifier: Apache-2.0
#include "export/paraver/paraver_names.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <iterator>

#include "base/text.h"
#include "export/paraver/paraver_timeline.h"

namespace noised::exports {
namespace {

struct EventName {
  std::uint32_t type;
  const char* name;
};
constexpr std::array kEventNames = {
    EventName{kEventDetour, "Detour: duration in ns, 0 where it ends"},
    EventName{kEventExplained, "Detour: ns in intervals"},
    EventName{kEventOverhead, "Detour: ns of overhead"},
    EventName{kEventHypervisor, "Detour: ns of the hypervisor"},
    EventName{kEventHardware, "Detour: ns of the hardware"},
    EventName{kEventUnexplained, "Detour: ns unexplained"},
    EventName{kEventIncomplete, "Detour: incomplete, something was lost"},
    EventName{kEventOverlap, "Detour: ns that overlap with the one before, not in states"},
    EventName{kEventLost, "Lost on this CPU in the whole recording: events and detours"},
    EventName{kEventLostAnywhere, "Lost in the whole recording, CPU not known"},
    EventName{kEventTimeZero, "CLOCK_MONOTONIC at time 0 in ns"},
};

// White as in Morari's figures where nothing happens; one colour a category, in the order of Category.
constexpr const char* kNotObservedColor = "{190,190,190}";
constexpr const char* kUndisturbed = "{255,255,255}";
constexpr const char* kOutside = "{110,110,110}";
constexpr std::array<const char*, kCategoryCount> kColours = {
    "{0,0,0}",     "{220,0,0}",   "{255,140,0}", "{0,150,0}",     "{0,90,220}",  "{130,0,200}",
    "{255,0,200}", "{120,70,20}", "{0,190,190}", "{200,180,120}", "{240,220,0}",
};

std::string label(std::string_view text) { return on_one_line(as_utf8(text)); }

// A name that a recording left empty would end the list in some readers: the kind stands before it.
std::string source_name(const Source& source) {
  return fmt::format("{}:{}", to_string(source.kind), label(source.name));
}

void add_states(const SourceTable& sources, bool tasks, std::string& text) {
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "STATES\n{}    {}\n{}    {}\n", +kStateNotObserved, tasks ? "Does not run" : "Not observed",
                 +kStateUndisturbed, tasks ? "Runs" : "Loop, undisturbed");
  fmt::format_to(to, "{}    Detour, in no interval: several causes\n", +kStateOutside);
  for (SourceId id = 0; id < sources.size(); ++id) {
    fmt::format_to(to, "{}    {}\n", kStateOfSource + id, source_name(sources.at(id)));
  }
  fmt::format_to(to, "\n\nSTATES_COLOR\n{}    {}\n{}    {}\n{}    {}\n", +kStateNotObserved, kNotObservedColor,
                 +kStateUndisturbed, kUndisturbed, +kStateOutside, kOutside);
  for (SourceId id = 0; id < sources.size(); ++id) {
    const auto category = static_cast<std::size_t>(sources.at(id).category);
    fmt::format_to(to, "{}    {}\n", kStateOfSource + id, kColours[category]);
  }
}

void add_events(const SourceTable& sources, bool tasks, std::string& text) {
  const auto to = std::back_inserter(text);
  for (const EventName& event : kEventNames) {
    fmt::format_to(to, "\n\nEVENT_TYPE\n0    {}    {}\n", event.type, event.name);
  }
  if (tasks) {
    fmt::format_to(to, "\n\nEVENT_TYPE\n0    {}    A task loses the time of a detour\nVALUES\n", +kEventLoss);
    for (const account::LossKind kind :
         {account::LossKind::interrupted, account::LossKind::preempted, account::LossKind::queued})
      fmt::format_to(to, "{}    {}\n", static_cast<unsigned>(kind) + 1, to_string(kind));
    fmt::format_to(to, "\n\nEVENT_TYPE\n0    {}    A task lost time: ns that the kernel counts as its wait\n",
                   +kEventWaited);
  }
  fmt::format_to(to, "\n\nEVENT_TYPE\n0    {}    An interval of a source begins\nVALUES\n", +kEventInterval);
  for (SourceId id = 0; id < sources.size(); ++id) {
    fmt::format_to(to, "{}    {}\n", kStateOfSource + id, source_name(sources.at(id)));
  }
}

// The format has no comments: names of values are where its readers show text.
void add_unsupported(const std::vector<std::string>& unsupported, std::string& text) {
  if (unsupported.empty()) return;
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "\n\nEVENT_TYPE\n0    {}    What could not be seen at all\nVALUES\n", +kEventUnsupported);
  std::size_t value = 0;
  for (const std::string& what : unsupported) fmt::format_to(to, "{}    {}\n", ++value, label(what));
}

}  // namespace

std::string paraver_date(const std::string& start) {
  unsigned year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  if (std::sscanf(start.c_str(), "%4u-%2u-%2uT%2u:%2u", &year, &month, &day, &hour, &minute) != 5) return "unknown";
  return fmt::format("{:02}/{:02}/{} at {:02}:{:02}", day, month, year, hour, minute);
}

std::string paraver_config(const recording::Playback& playback, const std::vector<std::string>& unsupported) {
  std::string text =
      "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\nLOOK_BACK           100\n"
      "SPEED               1\nFLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\nYMAX_SCALE          20\n\n\n"
      "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n\n";
  add_states(playback.sources(), playback.watches_tasks(), text);
  add_events(playback.sources(), playback.watches_tasks(), text);
  add_unsupported(unsupported, text);
  return text + "\n";
}

std::string paraver_rows(const recording::Playback& playback) {
  const recording::Description& description = playback.description();
  const std::size_t cpus = description.base.cpus.size();
  std::string text;
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "LEVEL CPU SIZE {}\n", cpus);
  for (std::size_t i = 0; i < cpus; ++i) fmt::format_to(to, "CPU {}\n", playback.cpu_number(i));
  fmt::format_to(to, "\nLEVEL NODE SIZE 1\n{}\n\nLEVEL THREAD SIZE {}\n", label(description.base.status.host), cpus);
  for (std::size_t i = 0; i < cpus; ++i) fmt::format_to(to, "CPU {}\n", playback.cpu_number(i));
  return text;
}

}  // namespace noised::exports
