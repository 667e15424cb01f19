// SPDX-License-Identifier: Apache-2.0
// What libbpf's error numbers mean; some are its own and unknown to strerror(3).
#pragma once

#include <bpf/libbpf.h>

#include <array>
#include <string>

namespace noised {

/// The text of an errno or libbpf error, of either sign.
inline std::string libbpf_text(int error) {
  std::array<char, 128> text{};
  libbpf_strerror(error, text.data(), text.size());
  return text.data();
}

}  // namespace noised
