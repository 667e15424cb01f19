// SPDX-License-Identifier: Apache-2.0
// Through libbpf, before anything is loaded.
#include "trace/atomic_claim.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <array>
#include <vector>

#include "base/descriptor.h"

namespace noised {
namespace {

constexpr __u8 kAtomic = BPF_STX | BPF_ATOMIC;
constexpr __s16 kOnStack = -8;

constexpr bpf_insn instruction(int code, unsigned to, unsigned from, __s16 offset, __s32 immediate) {
  bpf_insn made{};
  made.code = static_cast<__u8>(code);
  made.dst_reg = static_cast<__u8>(to & 0xFU);
  made.src_reg = static_cast<__u8>(from & 0xFU);
  made.off = offset;
  made.imm = immediate;
  return made;
}

bool is_claim(const bpf_insn& each) {
  return (each.code & ~(BPF_DW | BPF_W)) == (kAtomic & ~(BPF_DW | BPF_W)) && each.imm == (BPF_ADD | BPF_FETCH);
}

}  // namespace

bool kernel_has_atomic_claim() {
  const std::array program{
      instruction(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, kOnStack, 0),
      instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1),
      instruction(kAtomic | BPF_W, BPF_REG_10, BPF_REG_1, kOnStack, BPF_ADD | BPF_FETCH),
      instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  return static_cast<bool>(Descriptor(
      bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "noised_claim", "GPL", program.data(), program.size(), nullptr)));
}

void take_out_atomic_claims(bpf_object* object) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    const bpf_insn* const first = bpf_program__insns(program);
    std::vector<bpf_insn> instructions(first, first + bpf_program__insn_cnt(program));
    for (bpf_insn& each : instructions) {
      if (is_claim(each)) each.imm = BPF_ADD;
    }
    (void)bpf_program__set_insns(program, instructions.data(), instructions.size());
  }
}

}  // namespace noised
