// SPDX-License-Identifier: Apache-2.0
// What a client of the socket may read of tasks' names: root all, others those of their own tasks. The others' are
// "hidden-" and a number, so that what each of them took can still be told apart.
#pragma once

#include "model/losses.h"
#include "model/report.h"
#include "model/views.h"
#include "model/watch.h"

#include <cstdint>
#include <map>
#include <string>

#include "noised/http/http_server.h"
#include "pipeline/name_owners.h"
#include "recording/recorder.h"

namespace noised::daemon {

class NameRule;

/// The names as one client reads them; HTTP thread.
class ShownNames {
 public:
  /// All of them.
  ShownNames() = default;
  ShownNames(NameRule& rule, uid_t user) : rule_(&rule), user_(user) {}

  /// The name of a task, or what is shown for it.
  [[nodiscard]] std::string of_task(const std::string& name) const;
  void apply(Report& report) const;
  void apply(HistogramView& histograms) const;
  void apply(DetourView& detour) const;
  void apply(WatchReport& report) const;
  void apply(LossesView& losses) const;
  /// The tasks in it are the client's: so he may know their names.
  void own_tasks(const WatchReport& report) const;
  /// For a recording by him; the faults' addresses are root's.
  [[nodiscard]] recording::Disclosure disclosure() const;
  /// The user of whom a task must be for own_tasks(); null for who sees all names anyway.
  [[nodiscard]] const uid_t* user() const { return rule_ == nullptr ? nullptr : &user_; }

 private:
  void apply(std::vector<ReportCombination>& combinations) const;
  void apply(const std::string& kind, std::string& name) const;

  NameRule* rule_ = nullptr;
  uid_t user_ = 0;
};

/// Numbers of hidden names, the same for all clients as long as they are remembered; HTTP thread.
class NameRule {
 public:
  /// `owners`: null where every member may read all names; outlives this.
  explicit NameRule(pipeline::NameOwners* owners) : owners_(owners) {}

  [[nodiscard]] ShownNames for_client(const HttpRequest& request);
  [[nodiscard]] pipeline::NameOwners& owners() { return *owners_; }
  [[nodiscard]] std::uint64_t number_of(const std::string& name);

 private:
  pipeline::NameOwners* owners_;
  std::map<std::string, std::uint64_t> numbers_;
  std::uint64_t last_ = 0;
};

}  // namespace noised::daemon
