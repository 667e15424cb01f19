// SPDX-License-Identifier: Apache-2.0
// Every setting once: its key, and how its value is checked; the configuration file and the flags both end here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

#include "noised/config.h"

namespace noised::daemon {

struct Setting {
  std::string_view section;
  std::string_view key;
  bool is_integer;  ///< written as a number in the file, not as text in quotes
  /// Checks a value and stores it; the usage error tells what is wrong with the value, not where it stands.
  Status (*apply)(Config& config, const std::string& value);
};

/// All settings, section by section.
std::span<const Setting> settings();

/// The setting with this section and key, or null.
const Setting* find_setting(std::string_view section, std::string_view key);

}  // namespace noised::daemon
