// SPDX-License-Identifier: Apache-2.0
// Reading /proc/kallsyms and /proc/modules. The first, of 122,000 symbols, takes some 110 ms on a busy virtual machine,
// three quarters of them in the kernel. The pipeline stands still meanwhile: a ring of 2 MiB holds what comes at
// 500,000 records a second. So it is read at the start, and when the second, which takes 30 us, has changed.
#include "system/kallsyms.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace noised::system {
namespace {

// Farther from the symbol before it than this, an address lies in no known function.
constexpr std::uint64_t kLongestFunction = 64U << 10U;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10U;  // the longest line: of a module that hundreds use

// Calls `take` for each line of the file.
template <typename Take>
void for_each_line(const Descriptor& file, std::vector<char>& buffer, const Take& take) {
  std::size_t kept = 0;
  off_t offset = 0;
  while (true) {
    const ssize_t got = ::pread(file.get(), buffer.data() + kept, buffer.size() - kept, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    offset += got;
    std::string_view text(buffer.data(), kept + static_cast<std::size_t>(got));
    while (text.find('\n') != std::string_view::npos) take(take_line(text));
    if (text.size() == buffer.size()) text = {};  // no line of the kernel's
    std::memmove(buffer.data(), text.data(), text.size());
    kept = text.size();
  }
  take(std::string_view(buffer.data(), kept));
}

// "null_blk 98304 1 nvme,other, Live 0xffffffffc0a00000 (E)"
struct ModuleLine {
  explicit ModuleLine(std::string_view line) : name(take_word(line)), size(take_word(line)) {
    (void)take_word(line);  // how often it is in use, and by whom: both change all the time
    (void)take_word(line);
    state = take_word(line);
    address = take_word(line);
  }
  std::string_view name;
  std::string_view size;   // it falls when what only the start needs is given back
  std::string_view state;  // while it is loaded, symbols are shown that go when it is
  std::string_view address;
};

}  // namespace

void Kallsyms::clear() {
  entries_.clear();
  names_.clear();
  modules_.clear();
}

// Its text is all or, since Linux 6.4, the first part of what begins at the address.
void Kallsyms::add_module(std::string_view line) {
  const ModuleLine module(line);
  const auto size = to_number<std::uint64_t>(module.size);
  if (!size || !module.address.starts_with("0x") || modules_.size() == kUnlisted) return;
  std::uint64_t begin = 0;
  std::from_chars(module.address.data() + 2, module.address.data() + module.address.size(), begin, 16);
  modules_.push_back({std::string(module.name), begin, begin + std::min(*size, UINT64_MAX - begin)});
}

// The symbols of a module follow one another.
Kallsyms::ModuleNumber Kallsyms::module_named(std::string_view name) {
  if (last_module_ < modules_.size() && modules_[last_module_].name == name) return last_module_;
  const auto found = std::ranges::find(modules_, name, &Module::name);
  if (found == modules_.end()) return kUnlisted;
  return last_module_ = static_cast<ModuleNumber>(found - modules_.begin());
}

// "ffffffffc0000100 t nvme_irq\t[nvme]"
void Kallsyms::add_symbol(std::string_view line) {
  std::uint64_t address = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  const auto type_at = static_cast<std::size_t>(end - line.data()) + 1;
  if (error != std::errc{} || address == 0 || type_at + 2 >= line.size()) return;
  const char type = line[type_at];
  if (type != 't' && type != 'T' && type != 'w' && type != 'W') return;
  std::string_view rest = line.substr(type_at + 2);
  const std::string_view name = rest.substr(0, rest.find_first_of("\t "));
  rest.remove_prefix(name.size());
  std::string_view module = take_word(rest);
  ModuleNumber number = kKernel;
  if (module.starts_with('[') && module.ends_with(']')) number = module_named(module.substr(1, module.size() - 2));
  entries_.push_back({address, static_cast<std::uint32_t>(names_.size()), number});
  names_.append(name).push_back('\0');
}

void Kallsyms::sort() {
  std::ranges::sort(entries_, {}, [](const Entry& entry) { return std::pair(entry.address, entry.name); });
}

Kallsyms Kallsyms::parse(std::string_view symbols, std::string_view modules) {
  Kallsyms table;
  while (!modules.empty()) table.add_module(take_line(modules));
  while (!symbols.empty()) table.add_symbol(take_line(symbols));
  table.sort();
  return table;
}

Kallsyms Kallsyms::open(const std::string& proc) {
  Kallsyms table;
  table.symbols_file_.reset(::open((proc + "/kallsyms").c_str(), O_RDONLY | O_CLOEXEC));
  table.modules_file_.reset(::open((proc + "/modules").c_str(), O_RDONLY | O_CLOEXEC));
  table.buffer_.resize(kBufferBytes);
  table.modules_hash_ = table.hash_modules();
  table.read();
  table.entries_.shrink_to_fit();
  table.names_.shrink_to_fit();
  return table;
}

// A module that comes or goes meanwhile shows at the next look: its hash is older.
void Kallsyms::read() {
  clear();
  for_each_line(modules_file_, buffer_, [this](std::string_view line) { add_module(line); });
  for_each_line(symbols_file_, buffer_, [this](std::string_view line) { add_symbol(line); });
  sort();
}

std::uint64_t Kallsyms::hash_modules() {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = 0;
  for_each_line(modules_file_, buffer_, [&](std::string_view line) {
    const ModuleLine module(line);
    for (const std::string_view word : {module.name, module.size, module.state, module.address})
      hash = hash * kPrime ^ std::hash<std::string_view>{}(word);
  });
  return hash;
}

bool Kallsyms::refresh() {
  if (!follows_modules()) return false;
  const std::uint64_t hash = hash_modules();
  if (std::exchange(modules_hash_, hash) == hash) return false;
  read();
  return true;
}

// Of several names at one address, the first that the kernel lists.
const Kallsyms::Entry* Kallsyms::at_or_before(std::uint64_t address) const {
  const auto next = std::ranges::upper_bound(entries_, address, {}, &Entry::address);
  if (next == entries_.begin()) return nullptr;
  return &*std::ranges::lower_bound(entries_, (next - 1)->address, {}, &Entry::address);
}

std::optional<std::string_view> Kallsyms::at(std::uint64_t address) const {
  const Entry* const entry = at_or_before(address);
  if (entry == nullptr || entry->address != address) return std::nullopt;
  return name_of(*entry);
}

std::uint64_t Kallsyms::address_of(std::string_view name) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& each) { return name_of(each) == name; });
  return found != entries_.end() ? found->address : 0;
}

// A function of a module does not reach beyond it. Where that ends is not known of what /proc/modules does not list.
std::optional<std::string> Kallsyms::around(std::uint64_t address) const {
  const Entry* const entry = at_or_before(address);
  if (entry == nullptr) return std::nullopt;
  const std::uint64_t offset = address - entry->address;
  if (offset == 0) return std::string(name_of(*entry));
  if (offset >= kLongestFunction || entry->module == kUnlisted) return std::nullopt;
  if (entry->module != kKernel && address >= modules_[entry->module].end) return std::nullopt;
  return fmt::format("{}+{:#x}", name_of(*entry), offset);
}

// tick_nohz_handler since 6.8.
std::uint64_t tick_function(const Kallsyms& symbols) {
  const std::uint64_t before = symbols.address_of("tick_sched_timer");
  return before != 0 ? before : symbols.address_of("tick_nohz_handler");
}

}  // namespace noised::system
