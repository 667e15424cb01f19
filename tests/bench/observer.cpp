// SPDX-License-Identifier: Apache-2.0
// noised's tracing of one CPU where another process's loop is, as if it were a probe's: put there and taken away again
// as often as standard input says. Or programs that do nothing, on the same tracepoints: no tracing is cheaper.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cpus.h"
#include "base/files.h"
#include "kernel/tracer.h"
#include "noised/low_noise.h"
#include "system/kallsyms.h"
#include "system/steal_clock.h"

using namespace noised;
using namespace noised::daemon;
using namespace noised::kernel;

namespace {

constexpr int kDrainIntervalMs = 25;

[[noreturn]] void fail(const Error& error) {
  fmt::print(stderr, "bench_observer: {}\n", error.line());
  std::exit(1);
}

std::unique_ptr<Tracer> load(unsigned cpu) {
  const Result<std::vector<unsigned>> possible = possible_cpus();
  if (!possible) fail(possible.error());
  TracerOptions options;
  options.cpus = {cpu};
  options.possible_cpus = possible.value().back() + 1U;
  options.buffer_bytes = std::uint64_t{2} << 20U;
  options.reads_steal = system::is_virtual_machine();
  options.tick_function = system::tick_function(system::Kallsyms::open());
  Result<std::unique_ptr<Tracer>> tracer = Tracer::load(options);
  if (!tracer) fail(tracer.error());
  return std::move(tracer).value();
}

// As a probe does, but not from the CPU itself: an interval that is open when programs are attached makes an exit
// without its entry.
void begin(noised_cpu& of, noised_u32 loop) {
  auto* const state = static_cast<volatile noised_cpu*>(&of);
  state->depth = 0;
  state->split = 0;
  state->task_start_ns = 0;
  state->probe_pid = loop;
  state->current_pid = loop;
  state->watched = NOISED_WATCH_LOOP;
}

// One program that ends at once, on each of these tracepoints: attached by the same call as ours.
std::vector<Descriptor> attach_nothing(const std::vector<std::string>& tracepoints) {
  constexpr std::array<bpf_insn, 2> kNothing{
      {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
       {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}}};
  const Descriptor program(
      bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "bench_nothing", "GPL", kNothing.data(), kNothing.size(), nullptr));
  std::vector<Descriptor> links;
  for (const std::string& name : tracepoints) {
    links.emplace_back(bpf_raw_tracepoint_open(name.c_str(), program.get()));
    if (!links.back()) fail({.what = name + ": " + std::strerror(errno), .remedy = {}});
  }
  return links;
}

}  // namespace

// CPU: whom to watch. LOOP: the thread of the loop there. Prints the names of the tracepoints. Each byte on standard
// input attaches, or detaches; answered by the number of records that came. With a third argument the programs that are
// attached do nothing; answered by how many there are.
int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const bool nothing = argc == 4;
  const auto cpu = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  const auto loop = static_cast<noised_u32>(std::strtoul(argv[2], nullptr, 10));
  std::vector<unsigned> others;
  const Result<std::vector<unsigned>> online = online_cpus();
  if (!online) fail(online.error());
  for (const unsigned other : online.value()) {
    if (other != cpu) others.push_back(other);
  }
  if (const Status confined = confine_to(others); !confined) fail(confined.error());
  const std::unique_ptr<Tracer> tracer = load(cpu);
  std::vector<std::string> tracepoints;
  for (const ProgramView& program : tracer->programs()) {
    if (program.attached.empty()) continue;
    fmt::print("{} ", program.name);
    if (program.attached == "tp_btf" || program.attached == "raw_tp") tracepoints.push_back(program.name);
  }
  tracer->detach();
  fmt::print("\n");
  std::fflush(stdout);
  bool attached = false;
  std::size_t records = 0;
  std::vector<Descriptor> links;
  for (;;) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    // As often while detached: what this does on its CPU is to be in both turns.
    const bool asked = poll(&input, 1, kDrainIntervalMs) > 0;
    records += tracer->drain(0, SIZE_MAX, [](const noised_record&, const char*, const noised_run_record*) {});
    (void)tracer->drain_origins([](const noised_origin&) {});
    if (!asked) continue;
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) != 1) return 0;
    attached = !attached;
    if (nothing) {
      records = tracepoints.size();
      links = attached ? attach_nothing(tracepoints) : std::vector<Descriptor>();
    } else if (attached) {
      begin(tracer->state(cpu), loop);
      if (const Status done = tracer->attach(); !done) fail(done.error());
    } else {
      tracer->detach();
    }
    fmt::print("{}\n", std::exchange(records, 0));
    std::fflush(stdout);
  }
}
