// SPDX-License-Identifier: Apache-2.0
// noisectl export: a recording in the formats of other tools.
#pragma once

#include <string>

#include "base/result.h"
#include "noisectl/client/options.h"

namespace noised::client {

enum class ExportFormat { perfetto, paraver, ctf, csv };

struct ExportOptions : MeasureOptions {
  ExportFormat format = ExportFormat::perfetto;
  std::string output;          ///< what to create
  std::string input;           ///< the recording; empty: as --replay says
  bool json = false;           ///< say what was created
  bool without_names = false;  ///< of tasks, services and jobs
};

/// Creates options.output from options.input, or from what Measured gives.
Status run_export(const ExportOptions& options);

}  // namespace noised::client
