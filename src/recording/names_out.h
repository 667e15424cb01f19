// SPDX-License-Identifier: Apache-2.0
// What is left of a recording's names where those of tasks are to stay with who made it.
#pragma once

#include <string>
#include <string_view>

namespace noised::recording {

/// True if the name says nothing of who runs what: noised's own, "other", and such of the kernel's threads as have the
/// same names everywhere ("ksoftirqd/3", "kworker/3:*", "kswapd0").
bool is_nobodys(std::string_view name);

/// The details of a detour (next_details()) without the names of wakers, movers and senders, and without services and
/// jobs.
std::string without_names(std::string_view details);

}  // namespace noised::recording
