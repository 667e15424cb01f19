// SPDX-License-Identifier: Apache-2.0
// Reading /proc/interrupts: a header with the CPUs that are online, then a line for each kind of interrupt.
#include "system/interrupt_counts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace noised::system {
namespace {

constexpr std::size_t kMostCpus = 8192;
constexpr std::size_t kFirstBytes = std::size_t{64} << 10U;
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;  // 8,192 CPUs and 2,000 interrupts

// "CPU0 CPU2": the CPU of the next column. Read again for each row: nothing is allocated here while noised measures.
std::optional<std::size_t> take_cpu(std::string_view& header) {
  const std::string_view word = take_word(header);
  if (!word.starts_with("CPU")) return std::nullopt;
  const auto cpu = to_number<std::size_t>(word.substr(3));
  return cpu && *cpu < kMostCpus ? cpu : std::nullopt;
}

}  // namespace

std::vector<InterruptRow> seen_rows(const KernelEvents& kernel) {
  const auto seen = [&](const char* entry) { return kernel.attached(entry); };
  std::vector<InterruptRow> rows;
  if (seen("local_timer_entry")) rows.push_back({"LOC", 1U << NOISED_VECTOR_LOCAL_TIMER});
  if (seen("reschedule_entry")) rows.push_back({"RES", 1U << NOISED_VECTOR_RESCHEDULE});
  if (seen("call_function_entry") && seen("call_function_single_entry")) {
    rows.push_back({"CAL", 1U << NOISED_VECTOR_CALL_FUNCTION | 1U << NOISED_VECTOR_CALL_FUNCTION_SINGLE});
  }
  return rows;
}

void parse_interrupts(std::string_view text, const std::vector<InterruptRow>& rows,
                      std::vector<std::uint64_t>& counts) {
  const std::string_view header = take_line(text);
  std::size_t size = 0;
  std::string_view columns = header;
  while (const auto cpu = take_cpu(columns)) size = std::max(size, *cpu + 1);
  counts.assign(size, 0);
  while (!text.empty()) {
    std::string_view line = take_line(text);
    std::string_view label = take_word(line);
    if (!label.ends_with(':')) continue;
    label.remove_suffix(1);
    if (std::ranges::none_of(rows, [&](const InterruptRow& row) { return row.label == label; })) continue;
    columns = header;
    while (const auto cpu = take_cpu(columns)) {
      const auto count = to_number<std::uint64_t>(take_word(line));
      if (!count) break;
      counts[*cpu] += *count;
    }
  }
}

Result<InterruptCounts> InterruptCounts::open(std::vector<InterruptRow> rows, const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure(path + ": " + std::strerror(errno));
  InterruptCounts counts(std::move(file), std::move(rows));
  counts.text_.resize(kFirstBytes);
  counts.read();
  return counts;
}

const std::vector<std::uint64_t>& InterruptCounts::read() {
  std::size_t length = 0;
  while (true) {
    const ssize_t more = ::pread(file_.get(), text_.data() + length, text_.size() - length, static_cast<off_t>(length));
    if (more < 0) return counts_;
    if (more == 0) break;
    length += static_cast<std::size_t>(more);
    if (length == text_.size() && text_.size() < kMostBytes) text_.resize(2 * text_.size());  // on the first reads only
  }
  parse_interrupts({text_.data(), length}, rows_, counts_);
  return counts_;
}

std::uint32_t InterruptCounts::vectors() const {
  std::uint32_t vectors = 0;
  for (const InterruptRow& row : rows_) vectors |= row.vectors;
  return vectors;
}

}  // namespace noised::system
