// SPDX-License-Identifier: Apache-2.0
// A ring of blocks between two threads.
#include "recording/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clocks.h"

namespace noised::recording {
namespace {

// A reader sees what happened after a second at most.
constexpr std::uint64_t kOldEnoughNs = 1'000'000'000;
// The end waits 2 s for a reader that is still there.
constexpr unsigned kLastWaits = 200;
constexpr useconds_t kLastWaitUs = 10'000;
// Of a CPU with every reason of loss, as text, about.
constexpr std::size_t kLongestCounts = 1152;

// What was counted before anything was measured belongs to the run that is to be measured.
void forget(Counts& counts) {
  for (CpuCounts& cpu : counts.cpus) {
    cpu.iterations = cpu.blind_ns = cpu.steal_ns = 0;
    if (cpu.switches) cpu.switches = 0;
  }
  counts.containment = {};
  for (CpuCounts& cpu : counts.cpus) cpu.containment.reset();
  counts.status.uptime_ns = counts.status.orphan_intervals = 0;
  counts.status.lost = {};
  for (ProgramView& program : counts.status.programs) program.missed = program.runs = program.run_ns = 0;
}

// Phases take the place of the loop, and of its samples.
Description described(Description description, const PhaseRecording& phases) {
  description.quantum_ns = 0;
  description.work = 0;
  description.grain_ns = phases.grain_ns;
  description.footprint_bytes = phases.footprint_bytes;
  description.policy = phases.policy;
  description.priority = phases.priority;
  return description;
}

RecordedDetour recorded(const account::DetourLedger& ledger, std::uint64_t tolerance_ns) {
  RecordedDetour recorded;
  recorded.start_ns = ledger.detour.start_ns;
  recorded.end_ns = ledger.detour.end_ns;
  recorded.tolerance_ns = tolerance_ns;
  recorded.parts = ledger;
  recorded.in_doubt = ledger.detour.in_doubt;
  return recorded;
}

// Copies the details but for names that are not told; how many bytes.
std::size_t copy_told(std::string_view packed, const decltype(Disclosure::name)& told, char* to) {
  std::size_t size = 0;
  while (!packed.empty()) {
    const std::size_t length = std::size_t{2} + static_cast<unsigned char>(packed[1]);
    const std::string_view one = packed.substr(0, length);
    packed.remove_prefix(length);
    if (account::is_name_of_task(static_cast<account::DetailKey>(one[0])) && !told(one.substr(2), 0)) continue;
    size += one.copy(to + size, length);
  }
  return size;
}

}  // namespace

Recorder::Recorder(const SourceTable& sources, StatusView settings, Description machine, std::size_t full_enough)
    : sources_(sources),
      settings_(std::move(settings)),
      description_(std::move(machine)),
      full_enough_(full_enough),
      numbers_(sources),
      writer_(&numbers_) {
  snapshot_.detail = account::SnapshotDetail::counts;
}

bool Recorder::open(Disclosure told) { return take(State::asked, std::move(told)); }
bool Recorder::hold(Disclosure told) { return take(State::held, std::move(told)); }

void Recorder::begin(std::optional<PhaseRecording> phases) {
  phases_ = std::move(phases);
  State was = State::held;
  (void)state_.compare_exchange_strong(was, State::asked);
}

bool Recorder::is_held_or_recording() const {
  const State state = state_.load(std::memory_order_acquire);
  return state == State::held || state == State::asked || state == State::recording;
}

bool Recorder::take(State state, Disclosure told) {
  if (state_.load(std::memory_order_acquire) != State::idle) return false;
  told_ = std::move(told);
  for (Slot& slot : slots_) {
    if (slot.bytes == nullptr) slot.bytes = std::make_unique<char[]>(kBlockBytes);
  }
  taken_.store(sealed_.load(std::memory_order_acquire), std::memory_order_release);  // what nobody took the last time
  has_reader_.store(true, std::memory_order_release);
  state_.store(state, std::memory_order_release);
  return true;
}

std::optional<Recorder::Block> Recorder::front() const {
  const std::uint64_t at = taken_.load(std::memory_order_relaxed);
  if (at == sealed_.load(std::memory_order_acquire)) return std::nullopt;
  const Slot& slot = slots_[at % kBlocks];
  return Block{slot.kind, {slot.bytes.get(), slot.size}};
}

void Recorder::pop() { taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

void Recorder::close() {
  has_reader_.store(false, std::memory_order_release);
  // The pipeline may have it begin meanwhile.
  for (State was = state_.load(); was == State::held || was == State::asked || was == State::recording;) {
    if (state_.compare_exchange_weak(was, was == State::recording ? State::closing : State::idle)) return;
  }
}

void Recorder::after_drain(account::Recordable& pipeline) {
  switch (state_.load(std::memory_order_acquire)) {
    case State::asked:
      return start(pipeline);
    case State::recording:
      return give_away_old(pipeline);
    case State::closing:
      pipeline.record_to(nullptr);
      writing_ = false;
      phases_.reset();
      state_.store(State::idle, std::memory_order_release);
      return;
    case State::idle:
      phases_.reset();  // of a recording that was closed before it began
      return;
    default:
      return;
  }
}

void Recorder::start(account::Recordable& pipeline) {
  State was = State::asked;
  if (!state_.compare_exchange_strong(was, State::recording)) return;  // closed before it began
  numbers_.clear();
  hidden_.clear();
  lost_intervals_ = lost_detours_ = 0;
  if (!describe(pipeline)) {
    state_.store(State::ended, std::memory_order_release);
    return;
  }
  losses_.assign(cpus_, {});
  begin_part(pipeline);
}

// The counts of many CPUs are long. The reader holds no block yet.
bool Recorder::make_blocks(std::size_t description) {
  block_bytes_ = std::clamp(kBlockBytes / 4 + cpus_ * kLongestCounts, kBlockBytes, kLongestBlock);
  if (description > block_bytes_) return false;
  if (block_bytes_ == kBlockBytes) return true;
  for (Slot& slot : slots_) slot.bytes = std::make_unique<char[]>(block_bytes_);
  return true;
}

bool Recorder::describe(account::Recordable& pipeline) {
  pipeline.fill(snapshot_);
  cpus_ = snapshot_.cpus.size();
  description_.base = counts(snapshot_);
  // From before the first CPU was read to after the last was, at the end: no CPU is observed for longer than it lasts.
  description_.base.status.uptime_ns = snapshot_.drained_ns;
  description_.base.clock = read_clocks();
  // Nothing was measured yet: then the recording is of the whole run.
  const bool whole = std::all_of(snapshot_.cpus.begin(), snapshot_.cpus.end(),
                                 [](const account::CpuSnapshot& cpu) { return cpu.observed_ns == 0; });
  if (whole) {
    forget(description_.base);
  } else {
    description_.start = utc_now();
  }
  const std::string text = to_json(phases_ ? described(description_, *phases_) : description_);
  if (!make_blocks(text.size()) || !begin_block()) return false;
  std::memcpy(slots_[sealed_.load(std::memory_order_relaxed) % kBlocks].bytes.get(), text.data(), text.size());
  seal(BlockKind::description, text.size());
  return true;
}

void Recorder::begin_part(account::Recordable& pipeline) {
  part_broken_ = false;
  sealed_ns_ = monotonic_ns();
  if (!have_room()) return;
  // What was not kept and still waits for its detour is not lost: it is kept now. First it is counted.
  taken_back_ = losses_;
  counting_ = true;
  pipeline.record_to(this);
  counting_ = false;
  writer_.part(lost_intervals_, lost_detours_);
  lost_intervals_ = lost_detours_ = 0;
  taken_back_.swap(losses_);
  losses_.assign(cpus_, {});
  pipeline.record_to(this);
}

void Recorder::lose(std::size_t cpu, const Interval& interval) {
  ++lost_intervals_;
  if (losses_[cpu].intervals++ == 0) losses_[cpu].first_end_ns = interval.end_ns;
}

bool Recorder::take_back(std::size_t cpu, const Interval& interval) {
  CpuLoss& loss = taken_back_[cpu];
  if (loss.intervals == 0 || interval.end_ns < loss.first_end_ns) return false;
  --loss.intervals;
  return true;
}

// The block after the sealed ones, if the reader has given it back.
bool Recorder::begin_block() {
  const std::uint64_t at = sealed_.load(std::memory_order_relaxed);
  if (at - taken_.load(std::memory_order_acquire) >= kBlocks) return false;
  writer_.begin({slots_[at % kBlocks].bytes.get(), block_bytes_}, cpus_);
  return writing_ = true;
}

void Recorder::seal(BlockKind kind, std::size_t size) {
  const std::uint64_t at = sealed_.load(std::memory_order_relaxed);
  slots_[at % kBlocks].kind = kind;
  slots_[at % kBlocks].size = size;
  writing_ = false;
  sealed_.store(at + 1, std::memory_order_release);
}

// Room for a record with a text of so many bytes, in this block or the next.
bool Recorder::have_room(std::size_t bytes) {
  if (part_broken_) return false;
  if (writing_ && writer_.left() < RecordWriter::kLongestRecord + bytes) seal(BlockKind::events, writer_.size());
  if (!writing_ && !begin_block()) part_broken_ = true;
  return !part_broken_;
}

// A source is written before the first record that has it, of a task with the pid that is its id. False: there was no
// room.
bool Recorder::name(SourceId source, std::uint64_t id) {
  if (numbers_.has(source)) return true;
  const Source& named = sources_.at(source);
  const bool is_told =
      named.kind != Kind::task || !told_.name || told_.name(named.name, static_cast<std::uint32_t>(id));
  std::string hidden;
  if (!is_told) hidden = "hidden-" + std::to_string(hidden_.try_emplace(named.name, hidden_.size() + 1).first->second);
  const std::string& name = is_told ? named.name : hidden;
  if (!have_room(name.size())) return false;
  writer_.source(named.kind, named.category, name);
  numbers_.add(source);
  return true;
}

std::span<const EntryDetails> Recorder::details_of(const account::FeedDetour& shown) {
  std::size_t count = 0;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < shown.size && shown.text_size != 0; ++i) {
    const account::FeedDetour::Entry& entry = shown.entries[i];
    if (entry.text_size == 0 && !entry.cut) continue;
    if (!told_.faults && sources_.at(entry.source).kind == Kind::page_fault) continue;
    std::string_view text(shown.text.data() + entry.text_at, entry.text_size);
    if (told_.name) {
      char* const to = details_text_.data() + copied;
      text = {to, copy_told(text, told_.name, to)};
      copied += text.size();
    }
    details_[count++] = {i, entry.cut, text};
  }
  return std::span(details_).first(count);
}

void Recorder::begins(std::size_t cpu, std::uint64_t first_ns) {
  if (!counting_ && have_room()) writer_.begins(cpu, first_ns);
}

void Recorder::interval(std::size_t cpu, const Interval& interval) {
  if (!name(interval.source, interval.id) || !have_room()) return lose(cpu, interval);
  writer_.interval(cpu, interval);
}

void Recorder::waits(std::size_t cpu, const Interval& interval) {
  const bool taken_back = take_back(cpu, interval);
  if (counting_) {
    lost_intervals_ -= taken_back ? 1 : 0;
    return;
  }
  if (name(interval.source, interval.id) && have_room()) {
    writer_.interval(cpu, interval, !taken_back);
  } else if (taken_back) {
    lose(cpu, interval);
  }
}

void Recorder::detour(std::size_t cpu, const account::DetourLedger& ledger, std::uint64_t tolerance_ns,
                      const account::FeedDetour& shown) {
  if (!have_room(2 * account::FeedDetour::kText)) {
    ++lost_detours_;
    return;
  }
  writer_.detour(cpu, recorded(ledger, tolerance_ns), details_of(shown));
}

bool Recorder::write_entries(std::size_t cpu, std::span<const account::LedgerEntry> entries) {
  if (!std::ranges::all_of(entries, [this](const auto& entry) { return name(entry.source, entry.id); })) return false;
  while (!entries.empty()) {
    if (!have_room(RecordWriter::kLongestEntries)) return false;
    const std::size_t count = std::min(entries.size(), RecordWriter::kMostEntries);
    writer_.entries(cpu, entries.first(count));
    entries = entries.subspan(count);
  }
  return have_room(2 * account::FeedDetour::kText);
}

// Of one whose last entries had no room, the first are forgotten by who reads them: a new part begins there.
void Recorder::loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
                    const account::FeedDetour& shown) {
  if (!name(loss.name, loss.pid) || !write_entries(cpu, ledger.entries)) {
    ++lost_detours_;
    return;
  }
  writer_.loss(cpu, recorded(ledger, 0), loss, details_of(shown));
}

void Recorder::ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) {
  if (name(run.name, run.pid) && have_room()) {
    writer_.run(cpu, run, facts);
  } else {
    ++lost_intervals_;
  }
}

void Recorder::gap(std::size_t cpu, probe::GapKind kind, const Detour& gap) {
  if (!have_room()) return;
  writer_.gap(cpu, kind == probe::GapKind::rested ? RecordTag::rested : RecordTag::moved, gap.start_ns, gap.end_ns);
}

void Recorder::stolen(std::size_t cpu, const account::StealWindow& window) {
  if (have_room()) writer_.stolen(cpu, window);
}

void Recorder::sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) {
  if (have_room()) writer_.sample(cpu, end_ns, iterations);
}

Counts Recorder::counts(const account::Snapshot& snapshot) const {
  Counts counts = counts_of(snapshot, settings_);
  if (!phases_) return counts;
  std::vector<std::string>& unsupported = counts.status.unsupported;
  unsupported.insert(unsupported.end(), phases_->remarks.begin(), phases_->remarks.end());
  counts.status.policy = phases_->policy;
  return counts;
}

// Not where it has no room in this block: it tells of what lies before it. A recording without one says so.
void Recorder::write_checkpoint(const account::Snapshot& snapshot) {
  Counts last = counts(snapshot);
  last.clock = read_clocks();
  const std::string text = to_json(last);
  if (text.size() + RecordWriter::kLongestRecord > block_bytes_) return;
  for (std::size_t cpu = 0; cpu < snapshot.cpus.size(); ++cpu) {
    const account::CpuSnapshot& of = snapshot.cpus[cpu];
    if (of.current && have_room()) writer_.current(cpu, *of.current, of.current_until_ns);
  }
  if (have_room(text.size())) writer_.checkpoint(text);
}

void Recorder::give_away_old(account::Recordable& pipeline) {
  if (part_broken_) {
    if (begin_block()) begin_part(pipeline);
    return;
  }
  if (writer_.size() < full_enough_ && monotonic_ns() - sealed_ns_ < kOldEnoughNs) return;
  pipeline.fill(snapshot_);
  write_checkpoint(snapshot_);
  if (writing_) seal(BlockKind::events, writer_.size());
  sealed_ns_ = monotonic_ns();
}

// There is no hurry any more, but no reader may be left either.
bool Recorder::wait_for_block() {
  for (unsigned waited = 0; !begin_block(); ++waited) {
    if (waited == kLastWaits || !has_reader_.load(std::memory_order_acquire)) return false;
    usleep(kLastWaitUs);
  }
  return true;
}

void Recorder::finish(const account::Snapshot& snapshot) {
  if (state_.load(std::memory_order_acquire) == State::recording) {
    if (writing_) seal(BlockKind::events, writer_.size());
    if (wait_for_block()) {
      if (part_broken_) writer_.part(lost_intervals_, lost_detours_);
      part_broken_ = false;
      write_checkpoint(snapshot);
      if (writing_) seal(BlockKind::events, writer_.size());
      if (!part_broken_ && wait_for_block()) seal(BlockKind::end, 0);
    }
  }
  state_.store(State::ended, std::memory_order_release);
}

}  // namespace noised::recording
