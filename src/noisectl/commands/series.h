// SPDX-License-Identifier: Apache-2.0
// What ftq, fwq, selfish and latencytest share: they print what was measured on one CPU, as other benchmarks do. A CPU
// is told by its place in the description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/fixed_work/quanta.h"
#include "base/result.h"
#include "model/json_fields.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/options.h"
#include "noisectl/commands/options.h"
#include "recording/player.h"

namespace noised::client {

struct SeriesOptions : MeasureOptions {
  std::optional<unsigned> cpu;  ///< of this CPU; nothing: of the only one
  bool json = false;
};

/// Gets what was measured, and gives it to `print` with a player at its begin and the CPU's place.
Status run_series(const SeriesOptions& options,
                  const std::function<Status(const Measured&, recording::Player&, std::size_t place)>& print);

/// A command that shows a series, with --duration, --cpu and --json.
template <typename Options>
class SeriesCommand : public MeasuredCommand<Options> {
 public:
  using MeasuredCommand<Options>::MeasuredCommand;
  void describe(CLI::App& sub) override {
    MeasuredCommand<Options>::describe(sub);
    add_cpu(sub, this->options.cpu, "of this CPU");
    add_json(sub, this->options.json);
  }
};

/// Plays all, and gives `use` the detours of one CPU.
void play_detours(recording::Player& player, std::size_t place, std::function<void(const account::DetourLedger&)> use);

/// Gives every quantum of a CPU, in order; false ends it.
class Quanta : public recording::PlayerVisitor {
 public:
  /// `whole`: quanta of time, without those that a series began in.
  Quanta(std::size_t place, bool whole, std::function<bool(const analysis::Quantum&)> use)
      : place_(place), leave_fragments_(whole), use_(std::move(use)) {}

  void interval(std::size_t cpu, const Interval& interval) override {
    if (cpu == place_) series_.add(interval);
  }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    if (cpu == place_) series_.add(ledger.detour);
  }
  void begins(std::size_t cpu, std::uint64_t /*first_ns*/) override {
    if (cpu == place_) series_.interrupt();
  }
  void gap(std::size_t cpu, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override {
    if (cpu == place_) series_.interrupt();
  }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    if (cpu != place_) return;
    const auto quantum = series_.sample(end_ns, iterations);
    if (!quantum || !more_) return;
    if (leave_fragments_ && quantum->fragment) return;
    any_ = true;
    more_ = use_(*quantum);
  }

  /// There was a quantum.
  [[nodiscard]] bool any() const { return any_; }
  /// Plays until the end, or until nobody wants more.
  void play(recording::Player& player) {
    while (more_ && player.step(this)) {
    }
  }

 private:
  std::size_t place_;
  bool leave_fragments_;
  bool any_ = false;
  std::function<bool(const analysis::Quantum&)> use_;
  analysis::QuantumSeries series_;
  bool more_ = true;
};

/// What is wrong with a series that was played to its end: damage, or that it has not `any` quantum.
Status whole_series(const recording::Player& player, bool any);

/// How a series is written as text.
struct SeriesText {
  std::string head;
  std::function<std::string(const analysis::Quantum&)> lines;        ///< for each quantum
  std::function<std::string()> tail = [] { return std::string(); };  ///< after the last
};

/// Prints text, or noised.samples/1, then says what is damaged, and what was lost where its lines cannot. `whole` is
/// that of Quanta.
Status print_quanta(recording::Player& player, std::size_t place, bool whole, bool json, const SeriesText& text);

/// JSON that is written as it comes: the begin of an object with an array as its last member, so far open; that member,
/// with a comma before each but the first; and the end, with one member more.
std::string open_array(const Json& head, const char* name);
std::string next_item(const Json& item, bool& first);
std::string close_array(const char* name, const Json& last);

}  // namespace noised::client
