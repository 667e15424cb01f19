// SPDX-License-Identifier: Apache-2.0
// What a page is made of, collected from what was measured.
#pragma once

#include "base/result.h"
#include "model/report.h"
#include "model/views.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/advice/advise.h"
#include "noisectl/client/measured.h"
#include "noisectl/commands/phases.h"
#include "page/page.h"
#include "views/projection.h"

namespace noised::client {

struct PageOptions {
  std::uint64_t grain_ns = 0;        ///< of the job that noise is projected to
  std::vector<std::uint64_t> nodes;  ///< its sizes
  bool here = false;                 ///< this machine was measured: its settings are those of now
};

/// Everything that a page shows, all of one recording.
struct PageParts {
  Report report;
  StatusView status;
  recording::Description description;
  std::unique_ptr<page::Collector> collector;
  page::Merged merged;
  page::DensityChart density;
  views::ProjectionView projection;
  analysis::Advice advice;
  std::unique_ptr<FixedPhases> fixed;  ///< null: nothing was measured in phases; page::Phases point into it
  page::Phases phases;
  Status whole = success();  ///< or what is wrong with the end of the recording

  [[nodiscard]] page::PageInput input() const;
};

/// Plays what was measured twice. Memory is that of the tables of each CPU and source; those for the projection, which
/// are the largest, have a bound.
Result<std::unique_ptr<PageParts>> collect_page(const Measured& measured, const PageOptions& options);

}  // namespace noised::client
