// SPDX-License-Identifier: Apache-2.0
// Where the tree is that the tests were built from. The path is not in the text of the tests, so that these are
// compiled once for all clones.
#pragma once

#include <string>

namespace noised::test {

/// Absolute path of a file of the repository, such as "noised.conf"; a std::string for whoever opens it.
std::string in_tree(const std::string& path);

}  // namespace noised::test
