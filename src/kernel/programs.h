// SPDX-License-Identifier: Apache-2.0
// Which BPF programs run on this kernel, and how they are attached.
#pragma once

#include <noised/result.h>
#include <noised/types.h>
#include <noised/views.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/kernel_btf.h"
#include "trace/tracepoints.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;

namespace noised {

class Programs {
 public:
  /// Chooses among the programs of `object`, which is open, not loaded, and outlives this. `prefer_btf`: programs that
  /// follow pointers directly, which need the kernel's own BTF.
  Programs(bpf_object* object, bool prefer_btf) : object_(object), prefer_btf_(prefer_btf) {}

  /// Before the object is loaded: leaves on only the programs that are wanted and whose tracepoints this kernel has.
  void choose(const KernelBtf& btf, const Watching& watching);
  /// After it: attaches all that were left on. Fails if one could not be attached without which no attribution is true.
  Status attach();

  /// Every program known, attached or not, with what the kernel counts for it; a system call each.
  [[nodiscard]] std::vector<ProgramView> views() const;
  /// Adds up the runs that the kernel refused (recursion), of the programs that may recur; a system call of about 1 us
  /// for each of them, allocates nothing.
  [[nodiscard]] std::uint64_t missed_runs() const;
  /// Fails where the kernel does not tell missed runs to this process: before 5.19, without CAP_BPF.
  [[nodiscard]] Status check_missed_runs() const;
  /// True if the program on this tracepoint is attached.
  [[nodiscard]] bool attached(std::string_view tracepoint) const;
  /// One sentence for each thing that cannot be seen here, and why.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  struct Attached {
    Kind kind;
    std::string hook;
    const char* how;  // "tp_btf", "raw_tp", "fentry" or "fexit"; null: not attached
    bpf_program* program;
  };
  struct DestroyLink {
    void operator()(bpf_link* link) const;
  };
  using Link = std::unique_ptr<bpf_link, DestroyLink>;

  [[nodiscard]] bpf_program* find(std::string_view tracepoint) const;
  Status attach(const Probe& probe);
  void attach_fault_handler();

  bpf_object* object_;
  bool prefer_btf_;
  Watching watching_;
  std::vector<Attached> programs_;
  std::vector<int> may_recur_;  // descriptors
  std::vector<Link> links_;
  std::vector<std::string> left_out_;
};

}  // namespace noised
