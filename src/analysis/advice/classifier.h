// SPDX-License-Identifier: Apache-2.0
// Which rule each entry of a detour falls under: one, so that nothing is counted twice. Pure.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "account/attributor.h"
#include "account/detour_feed.h"
#include "analysis/advice/rules.h"
#include "model/sources.h"

namespace noised::analysis {

/// A unit that systemd would know, out of the path of a cgroup: the first service or scope, else the last slice; empty
/// if there is none.
std::string_view unit_of(std::string_view cgroup);

class Classifier {
 public:
  /// Views are valid until the next classify(), and as long as the details are.
  struct Entry {
    RuleId rule = RuleId::no_remedy;
    std::string_view object;  ///< what the remedy must name; one rule has a group of noise for each
    std::string_view task;    ///< the task whose noise it is
    std::string_view sender;  ///< the task, or what ran, that sent an interrupt here
  };

  /// `sources` must outlive this.
  explicit Classifier(const SourceTable& sources) : sources_(sources) {}

  /// For each entry of the ledger; `details` are those of the recording (records.h).
  const std::vector<Entry>& classify(const account::DetourLedger& ledger, std::string_view details);

 private:
  using Details = std::string_view;

  void read_details(std::string_view details, std::size_t entries);
  void find_tasks(const account::DetourLedger& ledger);
  [[nodiscard]] std::string_view detail(std::size_t index, account::DetailKey key) const;
  [[nodiscard]] std::string_view name(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_task(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_work(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_callback(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_call(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_vector(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_softirq(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_fault(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] Entry of_timer_interrupt(const account::DetourLedger& ledger, std::size_t index) const;
  [[nodiscard]] const Entry* woken_by(const account::DetourLedger& ledger, std::size_t index) const;

  const SourceTable& sources_;
  std::vector<Entry> entries_;
  std::vector<Details> details_;          // by entry, as the next
  std::vector<std::size_t> task_around_;  // the number of entries: none
  std::vector<std::size_t> around_;
};

}  // namespace noised::analysis
