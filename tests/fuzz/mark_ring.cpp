// SPDX-License-Identifier: Apache-2.0
// Rings of marks of any bytes, read while they change, and losses beside them: what is shown adds up.
#define NOISED_MARK_LAYOUT_ONLY
#include <noised/mark.h>

#include <cstring>
#include <optional>
#include <vector>

#include "fuzz.h"
#include "input.h"
#include "marks/phase_join.h"
#include "marks/ring_reader.h"
#include "view.h"

using namespace noised;
using namespace noised::marks;
using fuzz::Input;

namespace {

constexpr std::uint32_t kThread = 8;

class Scene {
 public:
  Scene() : file_(NOISED_MARK_FILE_SIZE) {
    noised_mark_file header{};
    header.magic = NOISED_MARK_MAGIC;
    header.version = NOISED_MARK_VERSION;
    header.pid = kThread;
    header.tid = kThread;
    header.capacity = NOISED_MARK_CAPACITY;
    header.names = 3;
    std::memcpy(file_.data(), &header, sizeof header);
  }

  void step(Input& input) {
    switch (input.take<std::uint8_t>() % 8) {
      case 0:
        return change(input.take<std::uint16_t>(), input.take<std::uint64_t>());
      case 1:
        return change(offsetof(noised_mark_file, written), input.take<std::uint64_t>());
      case 2:
      case 3:
      case 4:
        return put(now_ns_ += input.take<std::uint8_t>(), input.take<std::uint8_t>() % 8);
      case 5:
        return put(input.take<std::uint64_t>(), input.take<std::uint32_t>());
      case 6:
        return read(input.take<std::uint8_t>() % 16 == 0);
      default:
        return tell(input);
    }
  }

  void finish() {
    read(false);
    losses_.settled_ns = UINT64_MAX;
    losses_.watched = {kThread};
    join_.add(losses_);
    join_.finish();
    WatchReport report;
    report.marks = join_.losses();
    report.phases = join_.view();
    for (const MarkedPhase& phase : report.phases) check_phase(phase);
    std::string json = views::to_json(report);
    fuzz::check_view(json, views::parse_watch);
  }

 private:
  void change(std::size_t offset, std::uint64_t value) {
    std::memcpy(file_.data() + offset % (file_.size() - sizeof value), &value, sizeof value);
  }

  void put(std::uint64_t time, std::uint32_t phase) {
    std::uint64_t written = 0;
    std::memcpy(&written, file_.data() + offsetof(noised_mark_file, written), sizeof written);
    const noised_mark mark{time, phase, 0};
    std::memcpy(file_.data() + NOISED_MARK_MARKS_AT + written % NOISED_MARK_CAPACITY * sizeof mark, &mark, sizeof mark);
    change(offsetof(noised_mark_file, written), written + 1);
  }

  // A cut file has less than it should.
  void read(bool cut) {
    cut_ = cut;
    if (!reader_) {
      Result<RingReader> opened = RingReader::open([this](std::uint64_t offset, void* to, std::size_t size) {
        const std::size_t have = cut_ ? NOISED_MARK_MARKS_AT + 64 : file_.size();
        if (offset > have || size > have - offset) return false;
        std::memcpy(to, file_.data() + offset, size);
        return true;
      });
      if (!opened) return fuzz::check_error(opened.error(), ExitCode::failed);
      reader_.emplace(std::move(opened).value());
    }
    std::vector<Mark> marks;
    std::uint64_t lost = 0;
    if (!reader_->read(marks, lost)) return;
    fuzz::check(marks.size() <= NOISED_MARK_CAPACITY, "no more marks than a ring holds");
    std::vector<TimedMark> timed;
    timed.reserve(marks.size());
    for (const Mark& mark : marks) timed.push_back({mark.time, join_.phase(reader_->name(mark.phase)), mark.end});
    join_.add(kThread, timed, lost);
  }

  void tell(Input& input) {
    LossView loss;
    loss.pid = kThread;
    loss.start_ns = now_ns_ - std::min<std::uint64_t>(now_ns_, input.take<std::uint8_t>());
    const std::uint8_t first = input.take<std::uint8_t>();
    loss.parts = {{1, first}, {2, input.take<std::uint8_t>()}};
    loss.duration_ns = loss.parts[0].second + loss.parts[1].second;
    losses_.settled_ns = now_ns_ - std::min<std::uint64_t>(now_ns_, input.take<std::uint8_t>());
    losses_.losses = {loss};
    join_.add(losses_);
    losses_.losses.clear();
  }

  static void check_phase(const MarkedPhase& phase) {
    std::uint64_t sources_ns = 0;
    for (const MarkedSource& source : phase.sources) sources_ns += source.total_ns;
    fuzz::check(sources_ns == phase.all.stolen_ns, "the sources of a phase sum to what was stolen from it");
    fuzz::check(phase.late.count >= 1 && phase.late.count <= phase.all.count, "some phases are late, at most all");
    fuzz::check(phase.delayed <= phase.all.count, "no more phases are delayed than there are");
    fuzz::check(phase.min_ns <= phase.max_ns, "the shortest phase is not longer than the longest");
  }

  std::vector<unsigned char> file_;
  std::optional<RingReader> reader_;
  PhaseJoin join_;
  LossesView losses_;
  std::uint64_t now_ns_ = 1000;
  bool cut_ = false;
};

}  // namespace

extern "C" int fuzz_mark_ring(const std::uint8_t* data, std::size_t size) {
  Scene scene;
  Input input(data, size);
  while (!input.over()) scene.step(input);
  scene.finish();
  return 0;
}
