// SPDX-License-Identifier: Apache-2.0
// What was measured as one HTML page that needs nothing else: figures, tables, and the scripts that draw them.
#pragma once

#include "model/report.h"
#include "model/views.h"

#include <string>
#include <vector>

#include "analysis/advice/advise.h"
#include "page/charts.h"
#include "page/collector.h"
#include "recording/description.h"
#include "views/phases.h"
#include "views/projection.h"

namespace noised::page {

/// Phases of fixed work.
struct Phases {
  std::vector<views::CpuPhases> cpus;  ///< none: nothing was measured so
  views::PhaseSetting setting;
};

/// Everything that the page is made of, all of the same recording.
struct PageInput {
  const Report& report;
  const StatusView& status;
  const recording::Description& description;
  const Collector& collector;
  const Merged& merged;
  const DensityChart& density;
  const views::ProjectionView& projection;  ///< its report is not looked at
  const analysis::Advice& advice;
  const Phases& phases;
};

// What the page shows at most; it says what it leaves out. The totals are of everything in any case.
inline constexpr std::size_t kMostCpus = 512;  ///< those with the most stolen time
inline constexpr std::size_t kMostSources = 150;
inline constexpr std::size_t kMostCombinations = 40;
inline constexpr std::size_t kMostListedDetours = 25;  ///< in the table; the chart has all of the longest
inline constexpr std::size_t kMostAdvice = 60;         ///< those with the largest gain, then the most noise
inline constexpr std::size_t kMostPhaseCpus = 8;       ///< the first ones
inline constexpr std::size_t kMostPhaseSources = 40;

/// The page, as UTF-8.
std::string render(const PageInput& input);

/// What the scripts draw, as JSON that may stand in a script element.
std::string to_json(const PageInput& input);
/// The tables, as HTML: they are there without scripts too.
std::string about_table(const PageInput& input);
std::string category_table(const PageInput& input);
std::string cpu_table(const PageInput& input);
std::string source_table(const PageInput& input);
std::string tail_table(const PageInput& input);
std::string combination_table(const PageInput& input);
std::string detour_table(const PageInput& input);
/// Sections: remarks and tables. A section for which nothing was measured is a line that says so.
std::string projection_head(const PageInput& input);
std::string projection_tables(const PageInput& input);
std::string phase_tables(const PageInput& input);
std::string advice_tables(const PageInput& input);

/// The places in the report of the CPUs that the page shows, rising.
std::vector<std::size_t> shown_cpus(const Report& report);

}  // namespace noised::page
