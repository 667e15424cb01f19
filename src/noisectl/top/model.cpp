// SPDX-License-Identifier: Apache-2.0
// Keys and samples change the model; the screen only reads it.
#include "noisectl/top/model.h"

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
      return std::tie(a.key.label, a.key.cpu) < std::tie(b.key.label, b.key.cpu);
  }
  return false;
}

// `at` moved by `rows`, within `count`.
std::size_t moved(std::size_t at, long rows, std::size_t count) {
  const long last = std::max(0L, static_cast<long>(count) - 1);
  return static_cast<std::size_t>(std::clamp(static_cast<long>(at) + rows, 0L, last));
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

void TopModel::add(TopChainsView chains) {
  // The first answer is shown even when paused: an empty page is nothing to look at.
  if (opened_ != chains.source || (paused_ && chains_)) return;
  chains_ = std::move(chains);
}

bool TopModel::press(char key) {
  switch (key) {
    case 'p':
      paused_ = !paused_;
      return true;
    case '?':
      help_ = !help_;
      return true;
    case 'j':
      move(1);
      return true;
    case 'k':
      move(-1);
      return true;
    default:
      break;
  }
  if (opened_) {
    if (key == 'q' || key == kBack) opened_.reset();
    return true;
  }
  press_in_list(key);
  return key != 'q';
}

void TopModel::press_in_list(char key) {
  switch (key) {
    case 's':
      return sort_by(static_cast<TopSort>((static_cast<std::size_t>(sort_) + 1) % kSortNames.size()));
    case 't':
      return sort_by(TopSort::stolen);
    case 'r':
      return sort_by(TopSort::rate);
    case 'm':
      return sort_by(TopSort::mean);
    case 'x':
      return sort_by(TopSort::max);
    case 'n':
      return sort_by(TopSort::name);
    case 'c':
      return cycle_cpu();
    case 'f':
      return cycle_category();
    case '\r':
    case '\n':
      return open();
    default:
      return;
  }
}

void TopModel::open() {
  const std::vector<TopSource> shown = sources();
  if (shown.empty()) return;
  // From now on it is this one, wherever the order takes it: back in the list it is still the selected one.
  selected_ = shown[selection()].key;
  opened_ = selected_;
  chains_.reset();
  chain_scroll_ = 0;
}

void TopModel::move(long rows) {
  if (opened_) {
    chain_scroll_ = moved(chain_scroll_, rows, chains_ ? chains_->chains.size() : 0);
    return;
  }
  const std::vector<TopSource> shown = sources();
  if (!shown.empty()) selected_ = shown[moved(selection(), rows, shown.size())].key;
}

void TopModel::fit(std::size_t visible_rows) {
  const std::size_t count = opened_ ? (chains_ ? chains_->chains.size() : 0) : sources().size();
  const std::size_t last = count - std::min(count, visible_rows);
  if (opened_) {
    chain_scroll_ = std::min(chain_scroll_, last);
    return;
  }
  const std::size_t at = selection();
  if (at < scroll_) scroll_ = at;
  if (visible_rows > 0 && at >= scroll_ + visible_rows) scroll_ = at - visible_rows + 1;
  scroll_ = std::min(scroll_, last);
}

std::size_t TopModel::selection() const {
  const std::vector<TopSource> shown = sources();
  const auto found =
      std::find_if(shown.begin(), shown.end(), [this](const TopSource& each) { return each.key == selected_; });
  return found == shown.end() ? 0 : static_cast<std::size_t>(found - shown.begin());
}

// Who asks for another order or filter wants to see its top.
void TopModel::select_first() {
  selected_.reset();
  scroll_ = 0;
}

void TopModel::sort_by(TopSort sort) {
  sort_ = sort;
  select_first();
}

void TopModel::cycle_cpu() {
  select_first();
  std::set<unsigned> cpus;
  for (const TopCpu& cpu : delta_.cpus) cpus.insert(cpu.cpu);
  const auto next = cpu_filter_ ? cpus.upper_bound(*cpu_filter_) : cpus.begin();
  cpu_filter_ = next == cpus.end() ? std::nullopt : std::optional(*next);
}

void TopModel::cycle_category() {
  select_first();
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
    return (cpu_filter_ && source.key.cpu != *cpu_filter_) ||
           (!category_filter_.empty() && source.category != category_filter_);
  });
  // Stable: what is equal, often zero, keeps the report's order, which is that of all stolen time.
  std::stable_sort(shown.begin(), shown.end(),
                   [this](const TopSource& a, const TopSource& b) { return before(sort_, a, b); });
  return shown;
}

}  // namespace noised::client
