// SPDX-License-Identifier: Apache-2.0
// Tasks by service.
#include "pipeline/public_names.h"

#include <fmt/format.h>

namespace noised::pipeline {
namespace {

// What is forgotten is asked again: a kernel thread costs the reading of a file, a path its folding.
constexpr std::size_t kRemembered = 16384;
constexpr std::string_view kNoised = "noised";
constexpr std::string_view kNoisectl = "noisectl";

}  // namespace

PublicNames::PublicNames(const SourceTable& sources, Chains& chains, system::Services& services)
    : sources_(sources),
      chains_(chains),
      services_(services),
      names_(sources.chosen()),
      no_service_(names_.intern(Kind::task, kNoService)),
      noised_(names_.intern(Kind::task, kNoised)),
      noisectl_(names_.intern(Kind::task, kNoisectl)) {}

SourceId PublicNames::service(std::string_view path) {
  if (const auto known = by_path_.find(path); known != by_path_.end()) return known->second;
  if (by_path_.size() >= kRemembered) by_path_.clear();
  const SourceId id = names_.intern(Kind::task, system::service_of_path(path));
  by_path_.emplace(path, id);
  return id;
}

SourceId PublicNames::of(const account::LedgerEntry& entry, const account::CauseMatcher& causes, std::uint64_t now_ns) {
  const SourceId id = sources_.live(entry.source);
  const auto pid = static_cast<std::uint32_t>(entry.id);
  const std::uint64_t pid_and_source = std::uint64_t{pid} << 32U | id;
  if (const auto known = by_own_name_.find(pid_and_source); known != by_own_name_.end()) return known->second;
  const Source& source = sources_.at(id);
  // Anybody may call his task noised/...: of noised's own, no more is told than that they are.
  if (is_own(source.kind, source.name)) return source.name == kNoisectl ? noisectl_ : noised_;
  // The idle task's, and what an administrator has named: mostly nothing, and then nothing is allocated here.
  const CategoryChoices& chosen = sources_.chosen();
  const bool is_chosen = !chosen.empty() && chosen.contains(fmt::format("task:{}", source.name));
  if (pid != 0 && !is_chosen) {
    const std::string_view path = chains_.service_of(entry, causes, now_ns);
    if (!path.empty()) return service(path);
    if (!services_.is_kernel_thread(pid, now_ns).value_or(false)) return no_service_;
  }
  if (by_own_name_.size() >= kRemembered) by_own_name_.clear();
  return by_own_name_.emplace(pid_and_source, names_.intern(Kind::task, source.name)).first->second;
}

void PublicNames::count(const account::DetourLedger& ledger, const account::CauseMatcher& causes, std::uint64_t now_ns,
                        account::LedgerCounter& counter) {
  for (const account::LedgerEntry& entry : ledger.entries) {
    if (entry.kind == Kind::task) counter.count_public(of(entry, causes, now_ns), entry.self_ns);
  }
}

}  // namespace noised::pipeline
