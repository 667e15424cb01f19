// SPDX-License-Identifier: Apache-2.0
// A recording of any bytes, as a file or, past the checksums that no fuzzer guesses, as the records of a block: it is
// played as far as it makes sense, every detour adds up, and so does the report.
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "fuzz.h"
#include "recording/player.h"
#include "views/views.h"

using namespace noised;
using fuzz::check;

namespace {

class Detours : public PlayerVisitor {
 public:
  explicit Detours(const Playback& playback) : playback_(playback) {}
  void detour(std::size_t cpu, const Ledger& ledger, std::string_view details) override {
    const DetourView view = to_view(playback_, cpu, ledger, details);
    std::uint64_t sum_ns = view.overhead_ns;
    for (const DetourEntryView& entry : view.entries) sum_ns += entry.self_ns;
    check(sum_ns == view.duration_ns, "a detour adds up", views::to_json(view));
    ++count;
  }
  std::uint64_t count = 0;

 private:
  const Playback& playback_;
};

// Sums of many played detours may pass 2^64, which those of a measurement cannot: then they stop there.
void check_report(const Playback& playback, std::uint64_t detours) {
  Snapshot snapshot;
  playback.fill(snapshot);
  std::uint64_t counted = 0;
  for (const CpuSnapshot& cpu : snapshot.cpus) {
    const DetourTotals& all = cpu.statistics.totals();
    counted += all.detours;
    const std::uint64_t parts_ns =
        all.explained_ns + all.overhead_ns + all.hypervisor_ns + all.hardware_ns + all.unexplained_ns;
    check(all.detour_ns == UINT64_MAX || parts_ns == all.detour_ns, "the ledger of a CPU adds up");
  }
  check(counted == detours, "every detour is counted");
  const Report report = build_report(snapshot, playback.sources(), {});
  check(views::parse_report(views::to_json(report)).ok(), "the report can be read back", views::to_json(report));
}

std::string description() {
  Description two;
  two.start = "2026-01-01T00:00:00Z";
  two.base.cpus.resize(2);
  two.base.cpus[1].cpu = 3;
  return to_json(two);
}

void play_block(std::string_view block) {
  static const std::string kDescription = description();
  auto playback = Playback::begin(kDescription);
  check(playback.ok(), "the description can be read back", kDescription);
  Detours detours(*playback.value());
  const auto problem = playback.value()->play(block, &detours);
  check(!problem || !problem->empty(), "a problem has a name");
  check_report(*playback.value(), detours.count);
}

void play_file(std::string_view bytes) {
  Descriptor file(::memfd_create("recording", MFD_CLOEXEC));
  check(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "the file is written");
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  auto player = Player::open(path);
  if (!player) {
    check(player.error().line().find(path) != std::string::npos, "an error names the file", player.error().line());
    return;
  }
  Detours detours(player.value().playback());
  while (player.value().step(&detours)) {
  }
  check_report(player.value().playback(), detours.count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text(data + 1, size - 1);
  data[0] % 2 == 0 ? play_block(bytes) : play_file(bytes);
  return 0;
}
