// SPDX-License-Identifier: Apache-2.0
// Which BPF programs run on this kernel, and how they are attached.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/features.h"
#include "model/types.h"
#include "model/views.h"
#include "system/kernel_events.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;

namespace noised::kernel {

// What is to be seen of the watched CPUs.

/// What loops suffer there, or tasks; or both, in turns.
struct Watching {
  bool loops = true;
  bool tasks = false;
  bool callback_ends = false;  ///< else a callback lasts until the next, or as long as what it is in
};

// The tracepoints that noised knows, and what each pair of them tells.

/// What is told of a traced source.
enum class Role : std::uint8_t {
  interval,  ///< of an interval on a watched CPU
  callback,  ///< the same; the program on its exit can be done without
  instant,   ///< the same without a duration; only where a loop measures
  origin,    ///< of what another CPU does to a watched one
  task,      ///< of a task; only where tasks are watched
  arrival,   ///< of a task for which a loop steps aside; only where both are watched
};

/// Whether a traced source of this role is wanted.
bool is_wanted(Role role, const Watching& watching);

/// One thing that can be seen: its tracepoints and the kind of source that they feed.
struct TracedSource {
  Kind kind;
  std::string_view source;  ///< "local_timer", or empty where the kind says it all
  std::string_view entry;   ///< tracepoint
  std::string_view exit;    ///< tracepoint; empty where one event tells everything
  bool essential = false;   ///< without it, attributions would be wrong rather than incomplete
  Role role = Role::interval;
};

/// True if this tracepoint can be hit while its program runs on the same CPU: the kernel then refuses the second run.
bool may_recur(std::string_view tracepoint);

/// True if its program tells nothing of what happens on a watched CPU, only who brings it about, or is to have it.
bool only_tells_origins(std::string_view tracepoint);

/// All of them; every program of bpf/ on a tracepoint appears exactly once.
std::span<const TracedSource> traced_sources();

/// The function whose entry and exit time the handling of page faults, where the kernel lets functions be traced.
inline constexpr std::string_view kFaultHandler = "handle_mm_fault";

/// A program that this kernel did not load, and why.
struct Refusal {
  std::string program;  ///< as in bpf/: "btf_sched_switch"
  std::string reason;
};

class Programs {
 public:
  /// Chooses among the programs of `object`, which is open, not loaded, and outlives this. `prefer_btf`: programs that
  /// follow pointers directly, which need the kernel's own BTF.
  Programs(bpf_object* object, bool prefer_btf) : object_(object), prefer_btf_(prefer_btf) {}

  /// Before the object is loaded: leaves on only the programs that are wanted, whose tracepoints this kernel has, and
  /// that it did not refuse. Fails if one of the others is one without which no attribution is true.
  Status choose(const KernelBtf& btf, const Watching& watching, std::span<const Refusal> refused);
  /// For tests, after that: no verifier lets the program on this tracepoint pass.
  void spoil(std::string_view tracepoint);
  /// After it: attaches all that were left on. Fails if one could not be attached without which no attribution is true.
  Status attach();
  /// After choose(): programs run at the ends of callbacks. They do where what those are in cannot be seen.
  [[nodiscard]] bool callback_ends() const { return watching_.callback_ends; }
  /// Detaches all, so that attach() may be called again.
  void detach();

  /// Every program known, attached or not, with what the kernel counts for it; a system call each.
  [[nodiscard]] std::vector<ProgramView> views() const;
  /// Adds up the runs that the kernel refused (recursion), of the programs that may recur; a system call of about 1 us
  /// for each of them, allocates nothing.
  [[nodiscard]] system::MissedRuns missed_runs() const;
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
  [[nodiscard]] std::string_view exit_of(const TracedSource& traced) const;
  [[nodiscard]] const Refusal* refusal_of(const TracedSource& traced, std::span<const Refusal> refused) const;
  void choose_fault_handler(const KernelBtf& btf, std::span<const Refusal> refused);
  Status attach(const TracedSource& traced);
  void attach_fault_handler();

  bpf_object* object_;
  bool prefer_btf_;
  Watching watching_;
  std::vector<Attached> programs_;
  struct Recurring {
    int descriptor;
    bool tells_origins;
  };
  std::vector<Recurring> may_recur_;
  std::vector<Link> links_;
  std::vector<std::string> left_out_;
};

}  // namespace noised::kernel
