// SPDX-License-Identifier: Apache-2.0
// Probing by BTF: a tracepoint NAME has a type btf_trace_NAME.
#include "trace/kernel_btf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <array>
#include <cerrno>

#include "base/descriptor.h"
#include "base/quote.h"
#include "trace/libbpf_error.h"

namespace noised {

void KernelBtf::Free::operator()(btf* types) const { btf__free(types); }

Result<KernelBtf> KernelBtf::load(const std::string& path) {
  btf* types = btf__parse(path.c_str(), nullptr);
  if (types == nullptr) {
    const std::string reason = libbpf_text(errno);
    if (path == kRunningKernel) {
      return failure("this kernel gives no BTF (" + path + ": " + reason + ")",
                     "boot one built with CONFIG_DEBUG_INFO_BTF=y, or give this kernel's BTF with --btf FILE");
    }
    return usage_error("--btf " + in_quotes(path) + ": cannot read BTF: " + reason,
                       "give a BTF or ELF file made for the running kernel");
  }
  return KernelBtf(types);
}

bool KernelBtf::has_tracepoint(std::string_view name) const {
  const std::string type = "btf_trace_" + std::string(name);
  return btf__find_by_name_kind(types_.get(), type.c_str(), BTF_KIND_TYPEDEF) > 0;
}

// An empty program tells more than any flag of the kernel's: configuration, lockdown and sandboxes all have a say.
Status KernelBtf::can_trace_function(std::string_view name) const {
  const std::string function(name);
  const int id = btf__find_by_name_kind(types_.get(), function.c_str(), BTF_KIND_FUNC);
  if (id <= 0) return failure("this kernel has no function " + function);
  constexpr std::array kReturnZero = {
      bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      bpf_insn{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  };
  bpf_prog_load_opts options{};
  options.sz = sizeof(options);
  options.expected_attach_type = BPF_TRACE_FEXIT;
  options.attach_btf_id = static_cast<__u32>(id);
  const Descriptor program(
      bpf_prog_load(BPF_PROG_TYPE_TRACING, "noised_test", "GPL", kReturnZero.data(), kReturnZero.size(), &options));
  if (!program) return failure("fexit refused by kernel: " + libbpf_text(errno));
  return success();
}

}  // namespace noised
