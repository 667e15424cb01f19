// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

namespace noised::test {

std::string in_tree(const std::string& path) { return NOISED_SOURCE "/" + path; }

}  // namespace noised::test
