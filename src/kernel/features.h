// SPDX-License-Identifier: Apache-2.0
// Which tracepoints a kernel has, by its type information.
#pragma once

#include <noised/result.h>

#include <memory>
#include <string>
#include <string_view>

struct btf;

namespace noised {

/// The BTF of the running kernel, or of a file given for it.
class KernelBtf {
 public:
  static constexpr const char* kRunningKernel = "/sys/kernel/btf/vmlinux";

  /// Loads `path`; the error names it and the remedy.
  static Result<KernelBtf> load(const std::string& path = kRunningKernel);

  /// True if the kernel was built with this tracepoint.
  [[nodiscard]] bool has_tracepoint(std::string_view name) const;
  /// Fails, and says why, unless programs may run at the entry and the exit of this kernel function.
  [[nodiscard]] Status can_trace_function(std::string_view name) const;

 private:
  struct Free {
    void operator()(btf* types) const;
  };
  explicit KernelBtf(btf* types) : types_(types) {}

  std::unique_ptr<btf, Free> types_;
};

}  // namespace noised
