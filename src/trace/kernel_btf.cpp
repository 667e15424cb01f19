// SPDX-License-Identifier: Apache-2.0
// Probing by BTF: a tracepoint NAME has a type btf_trace_NAME.
#include "trace/kernel_btf.h"

#include <bpf/btf.h>

#include <cerrno>

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

}  // namespace noised
