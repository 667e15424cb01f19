// SPDX-License-Identifier: Apache-2.0
// A mark is taken only if the writer cannot have been writing to its place before all of it was copied.
#include "marks/ring_reader.h"

#define NOISED_MARK_LAYOUT_ONLY
#include <noised/mark.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace noised::marks {
namespace {

constexpr std::uint64_t kCapacity = NOISED_MARK_CAPACITY;

bool read_written(const RingReader::ReadAt& read_at, std::uint64_t& written) {
  return read_at(offsetof(noised_mark_file, written), &written, sizeof written);
}

}  // namespace

bool RingReader::is_ready(const ReadAt& read_at) {
  std::uint64_t magic = 0;
  return !read_at(0, &magic, sizeof magic) || magic != 0;
}

Result<RingReader> RingReader::open(ReadAt read_at) {
  noised_mark_file file{};
  const std::string remedy = "is it of the same version of noised/mark.h?";
  if (!read_at(0, &file, sizeof file) || file.magic != NOISED_MARK_MAGIC) return failure("no file of marks", remedy);
  if (file.version != NOISED_MARK_VERSION || file.capacity != NOISED_MARK_CAPACITY ||
      file.clock > NOISED_MARK_MONOTONIC)
    return failure("a file of marks of another version", remedy);
  if (file.pid == 0 || file.tid == 0) return failure("a file of marks of no thread", remedy);
  RingReader reader(std::move(read_at));
  reader.pid_ = file.pid;
  reader.tid_ = file.tid;
  reader.in_ns_ = file.clock == NOISED_MARK_MONOTONIC;
  reader.start_time_ = file.start_time;
  reader.start_ns_ = file.start_ns;
  reader.names_ = {"other"};
  return reader;
}

// The marks from `from` to before `to`, at most a ring of them, in order.
bool RingReader::read_slots(std::uint64_t from, std::uint64_t to) {
  constexpr std::size_t kSize = sizeof(noised_mark);
  const std::uint64_t count = to - from;
  slots_.resize(count * kSize);
  const std::uint64_t place = from % kCapacity;
  const std::uint64_t first = std::min(count, kCapacity - place);
  if (first != 0 && !read_at_(NOISED_MARK_MARKS_AT + place * kSize, slots_.data(), first * kSize)) return false;
  if (first == count) return true;
  return read_at_(NOISED_MARK_MARKS_AT, slots_.data() + first * kSize, (count - first) * kSize);
}

bool RingReader::read_names() {
  std::uint32_t count = 0;
  std::array<std::array<char, NOISED_MARK_NAME_SIZE>, NOISED_MARK_NAMES> names{};
  if (!read_at_(offsetof(noised_mark_file, names), &count, sizeof count)) return false;
  if (!read_at_(offsetof(noised_mark_file, name), names.data(), sizeof names)) return false;
  const std::size_t known = std::min<std::size_t>(count, NOISED_MARK_NAMES);
  for (std::size_t at = names_.size(); at < known; ++at) {
    const std::string name(names.at(at).data(), strnlen(names.at(at).data(), NOISED_MARK_NAME_SIZE));
    names_.push_back(name.empty() ? names_.front() : name);
  }
  return true;
}

bool RingReader::read(std::vector<Mark>& marks, std::uint64_t& lost) {
  marks.clear();
  lost = 0;
  std::uint64_t before = 0;
  if (!read_written(read_at_, before) || before < next_) return false;
  const std::uint64_t begin = next_;
  if (before - next_ > kCapacity) next_ = before - kCapacity;
  if (!read_slots(next_, before)) return false;
  std::uint64_t after = 0;
  if (!read_written(read_at_, after) || after < before) return false;
  // The writer may be at mark `after` now, in the place of the one a ring before it.
  const std::uint64_t whole = after >= kCapacity ? after - kCapacity + 1 : 0;
  const std::uint64_t first = std::min(before, std::max(next_, whole));
  lost = first - begin;
  marks.reserve(before - first);
  unsigned highest = 0;
  for (std::uint64_t at = first; at < before; ++at) {
    noised_mark mark;
    std::memcpy(&mark, slots_.data() + (at - next_) * sizeof mark, sizeof mark);
    marks.push_back({mark.time, mark.phase / 2, mark.phase % 2 != 0});
    highest = std::max(highest, mark.phase / 2);
  }
  next_ = before;
  return highest < names_.size() || read_names();
}

const std::string& RingReader::name(unsigned phase) const { return names_[phase < names_.size() ? phase : 0]; }

}  // namespace noised::marks
