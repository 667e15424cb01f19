// SPDX-License-Identifier: Apache-2.0
#include "recording/names_out.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "account/detour_feed.h"
#include "model/sources.h"
#include "recording/records.h"

namespace noised::recording {
namespace {

// Followed by nothing but numbers, of CPUs, nodes and workers.
constexpr std::array<std::string_view, 22> kKernelThreads = {
    "ksoftirqd/",  "migration/",      "cpuhp/",  "idle_inject/", "watchdog/",  "rcuc/",    "rcuop/", "rcuog/",
    "kworker/",    "kworker/u",       "kswapd",  "kcompactd",    "khugepaged", "kthreadd", "ksmd",   "rcu_sched",
    "rcu_preempt", "rcu_tasks_kthre", "kauditd", "oom_reaper",   "khungtaskd", "kdevtmpfs"};
constexpr std::string_view kNumber = "0123456789*:H";
constexpr std::string_view kOther = "other";

bool is_name(account::DetailKey key) { return account::is_name_of_task(key) || key == account::DetailKey::service; }

}  // namespace

bool is_nobodys(std::string_view name) {
  if (name == kOther || name == kLeavingIdle || is_own(Kind::task, name)) return true;
  return std::ranges::any_of(kKernelThreads, [name](std::string_view known) {
    return name.starts_with(known) && name.find_first_not_of(kNumber, known.size()) == std::string_view::npos;
  });
}

std::string without_names(std::string_view details) {
  std::string left(details.size(), '\0');
  ByteWriter writer(left);
  ByteReader reader(details);
  std::string text;
  for (EntryDetails each; next_details(reader, each);) {
    text.clear();
    for (std::string_view packed = each.text; packed.size() >= 2;) {
      const std::string_view one = packed.substr(0, std::size_t{2} + static_cast<unsigned char>(packed[1]));
      packed.remove_prefix(one.size());
      if (!is_name(static_cast<account::DetailKey>(one[0]))) text += one;
    }
    each.text = text;
    write_details(each, writer);
  }
  left.resize(writer.size());
  return left;
}

}  // namespace noised::recording
