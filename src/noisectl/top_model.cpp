// SPDX-License-Identifier: Apache-2.0
// Keys and samples change the model; the screen only reads it.
#include "noisectl/top_model.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace noised::client {
namespace {

constexpr std::array<std::string_view, 5> kSortNames{"stolen", "rate", "mean", "max", "name"};

bool before(TopSort sort, const TopSource& a, const TopSource& b) {
  switch (sort) {
    case TopSort::stolen:
      return a.stolen_share > b.stolen_share;
    case TopSort::rate:
      return a.per_second > b.per_second;
    case TopSort::mean:
      return a.mean_ns > b.mean_ns;
    case TopSort::max:
      return a.max_ns > b.max_ns;
    case TopSort::name:
      return std::tie(a.label, a.cpu) < std::tie(b.label, b.cpu);
  }
  return false;
}

}  // namespace

std::string_view to_string(TopSort sort) { return kSortNames[static_cast<std::size_t>(sort)]; }

void TopModel::add(TopSample sample) {
  problem_.clear();
  since_start_ = !sample_ || restarted(sample_->report, sample.report);
  delta_ = difference(since_start_ ? TopSample{} : *sample_, sample);
  sample_ = std::move(sample);
}

void TopModel::unreachable(std::string line) { problem_ = std::move(line); }

bool TopModel::press(char key) {
  switch (key) {
    case 'q':
      return false;
    case 's':
      sort_ = static_cast<TopSort>((static_cast<std::size_t>(sort_) + 1) % kSortNames.size());
      break;
    case 't':
      sort_ = TopSort::stolen;
      break;
    case 'r':
      sort_ = TopSort::rate;
      break;
    case 'm':
      sort_ = TopSort::mean;
      break;
    case 'x':
      sort_ = TopSort::max;
      break;
    case 'n':
      sort_ = TopSort::name;
      break;
    case 'p':
      paused_ = !paused_;
      break;
    case 'c':
      cycle_cpu();
      break;
    case 'f':
      cycle_category();
      break;
    case '?':
      help_ = !help_;
      break;
    default:
      break;
  }
  return true;
}

void TopModel::scroll(long rows, std::size_t visible_rows) {
  const auto count = static_cast<long>(sources().size());
  const long last = std::max(0L, count - static_cast<long>(visible_rows));
  scroll_ = static_cast<std::size_t>(std::clamp(static_cast<long>(scroll_) + rows, 0L, last));
}

void TopModel::cycle_cpu() {
  scroll_ = 0;
  std::set<unsigned> cpus;
  for (const TopCpu& cpu : delta_.cpus) cpus.insert(cpu.cpu);
  const auto next = cpu_filter_ ? cpus.upper_bound(*cpu_filter_) : cpus.begin();
  cpu_filter_ = next == cpus.end() ? std::nullopt : std::optional(*next);
}

void TopModel::cycle_category() {
  scroll_ = 0;
  std::set<std::string> categories;
  for (const TopSource& source : delta_.sources) categories.insert(source.category);
  // The empty filter sorts before every category, so after it comes the first.
  const auto next = categories.upper_bound(category_filter_);
  category_filter_ = next == categories.end() ? "" : *next;
}

std::vector<TopCpu> TopModel::cpus() const {
  std::vector<TopCpu> shown = delta_.cpus;
  std::erase_if(shown, [this](const TopCpu& cpu) { return cpu_filter_ && cpu.cpu != *cpu_filter_; });
  return shown;
}

std::vector<TopSource> TopModel::sources() const {
  std::vector<TopSource> shown = delta_.sources;
  std::erase_if(shown, [this](const TopSource& source) {
    return (cpu_filter_ && source.cpu != *cpu_filter_) ||
           (!category_filter_.empty() && source.category != category_filter_);
  });
  // Stable: what is equal, often zero, keeps the report's order, which is that of all stolen time.
  std::stable_sort(shown.begin(), shown.end(),
                   [this](const TopSource& a, const TopSource& b) { return before(sort_, a, b); });
  return shown;
}

}  // namespace noised::client
