// SPDX-License-Identifier: Apache-2.0
// The one question that only a version answers: a defect leaves no trace in BTF.
#include "kernel/features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace noised::kernel {

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

bool KernelBtf::has_helper(std::string_view name) const {
  const int id = btf__find_by_name_kind(types_.get(), "bpf_func_id", BTF_KIND_ENUM);
  if (id <= 0) return false;
  const btf_type* const helpers = btf__type_by_id(types_.get(), static_cast<__u32>(id));
  const std::span<const struct btf_enum> values(btf_enum(helpers), btf_vlen(helpers));
  return std::ranges::any_of(
      values, [&](const auto& each) { return btf__name_by_offset(types_.get(), each.name_off) == name; });
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

namespace {

using Version = std::tuple<unsigned, unsigned, unsigned>;

Version parse_release(std::string_view release) {
  std::array<unsigned, 3> parts{};
  const char* at = release.data();
  const char* const end = at + release.size();
  for (unsigned& part : parts) {
    const auto [next, error] = std::from_chars(at, end, part);
    if (error != std::errc{} || next == end || *next != '.') break;
    at = next + 1;
  }
  return {parts[0], parts[1], parts[2]};
}

bool is_mended(const Version& version) {
  if (version >= Version{6, 11, 5}) return true;
  return version >= Version{6, 6, 83} && version < Version{6, 7, 0};
}

bool is_real_time(std::string_view version) { return version.find("PREEMPT_RT") != std::string_view::npos; }

}  // namespace

Status check_ringbuf(std::string_view release, std::string_view version) {
  if (!is_real_time(version) || is_mended(parse_release(release))) return success();
  return failure("kernel " + std::string(release) +
                     " is PREEMPT_RT and may sleep in BPF ring buffers where it must not (CVE-2024-50138)",
                 "boot 6.6.83, 6.11.5 or later; if this one has the fix, insist with --force-ringbuf");
}

// A CPU that is offline has no device.
std::optional<std::string> why_callback_ends_are_needed(std::string_view version, const std::string& directory) {
  if (is_real_time(version)) return "on PREEMPT_RT callbacks sleep";
  bool any = false;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(directory, error)) {
    if (!each.path().filename().string().starts_with("clockevent")) continue;
    const auto text = read_file(each.path() / "current_device");
    if (!text) return text.error().what;
    const std::string device = text.value().substr(0, text.value().find('\n'));
    if (device.empty()) continue;
    if (!device.starts_with("lapic")) return "the clock event device is " + in_quotes(device);
    any = true;
  }
  if (!any) return directory + " names no clock event device";
  return std::nullopt;
}

}  // namespace noised::kernel
