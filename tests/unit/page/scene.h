// SPDX-License-Identifier: Apache-2.0
// The page of a recorded run, made as noisectl makes it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "noisectl/commands/page_maker.h"
#include "unit/recording/scene.h"

namespace noised::test {

inline std::string record(RecordedRun& run, const TemporaryDirectory& directory, int drains) {
  record_drains(run, directory.path("run"), drains);
  return directory.path("run");
}

inline std::unique_ptr<client::PageParts> page_parts(const std::string& path) {
  client::MeasureOptions options;
  options.needs_loop = false;
  options.replay = path;
  const auto measured = client::Measured::get(options);
  REQUIRE(measured);
  auto parts = client::collect_page(measured.value(), {100'000, {1, 10, 1'000'000}, false});
  REQUIRE(parts);
  return std::move(parts).value();
}

/// What a page is made of.
struct Made {
  explicit Made(const std::string& path)
      : parts(page_parts(path)), report(parts->report), collector(*parts->collector), merged(parts->merged) {}
  [[nodiscard]] page::PageInput input() const { return parts->input(); }

  std::unique_ptr<client::PageParts> parts;
  const Report& report;
  const page::Collector& collector;
  page::Merged& merged;
};

inline nlohmann::json data_of(const std::string& page) {
  const std::string_view open = R"(<script type="application/json" id="data">)";
  const std::size_t at = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace noised::test
