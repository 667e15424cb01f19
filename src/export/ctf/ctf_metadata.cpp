// SPDX-License-Identifier: Apache-2.0
#include "export/ctf/ctf_metadata.h"

#include <fmt/format.h>

#include <iterator>

#include "base/text.h"

namespace noised::exports {
namespace {

// Every field begins on a byte.
constexpr std::string_view kTypes = R"(/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;

trace {
  major = 1;
  minor = 8;
  byte_order = le;
  packet.header := struct {
    uint32_t magic;
    uint32_t stream_id;
  };
};
)";

constexpr std::string_view kStreams = R"(
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;

stream {
  id = 0;
  packet.context := struct {
    time_t timestamp_begin;
    time_t timestamp_end;
    uint64_t content_size;
    uint64_t packet_size;
    uint64_t packet_seq_num;
    uint64_t events_discarded;
    uint32_t cpu_id;
  };
  event.header := struct {
    uint16_t id;
    time_t timestamp;
  };
};
)";

constexpr std::string_view kLedgerFields =
    "uint64_t duration_ns; uint64_t explained_ns; uint64_t overhead_ns; uint64_t hypervisor_ns; uint64_t hardware_ns; "
    "uint64_t unexplained_ns; uint8_t incomplete; uint32_t entries_length; "
    "struct { source_t source; uint8_t depth; uint64_t self_ns; } entries[entries_length];";

// Those whose id is an address (abi.h).
bool has_address(Kind kind) {
  switch (kind) {
    case Kind::irq:
    case Kind::vector:
    case Kind::softirq:
    case Kind::task:
      return false;
    default:
      return true;
  }
}

void add_event(std::string& text, std::uint16_t id, std::string_view name, std::string_view fields) {
  fmt::format_to(std::back_inserter(text), "\nevent {{\n  id = {};\n  name = \"{}\";\n  stream_id = 0;\n", id, name);
  fmt::format_to(std::back_inserter(text), "  fields := struct {{ {} }};\n}};\n", fields);
}

template <typename Add>
void each_kind(const Add& add) {
  for (auto number = static_cast<unsigned>(Kind::nmi); number < static_cast<unsigned>(Kind::hypervisor); ++number) {
    const auto kind = static_cast<Kind>(number);
    add(kind, fmt::format("source_t source; {} id;", has_address(kind) ? "address_t" : "uint64_t"));
  }
}

void add_events_of_loops(std::string& text) {
  add_event(text, kCtfObservedSince, "observed_since", "uint64_t first_ns;");
  add_event(text, kCtfNotObservedEntry, "not_observed_entry", "");
  add_event(text, kCtfNotObservedExit, "not_observed_exit", "uint64_t duration_ns;");
  add_event(text, kCtfDetourEntry, "detour_entry", "");
  add_event(text, kCtfDetourExit, "detour_exit", kLedgerFields);
  each_kind([&text](Kind kind, const std::string& fields) {
    add_event(text, ctf_entry(kind), fmt::format("{}_entry", to_string(kind)), fields + " uint8_t flags;");
    add_event(text, ctf_exit(kind), fmt::format("{}_exit", to_string(kind)), fields + " uint64_t duration_ns;");
  });
}

// Each is told when it ended: it began its duration_ns before.
void add_events_of_tasks(std::string& text) {
  add_event(text, kCtfRun, "run",
            "uint32_t pid; uint32_t tgid; source_t task; uint64_t duration_ns; uint8_t preempted; uint8_t ended; "
            "uint8_t migrated; uint32_t voluntary; uint32_t involuntary; uint32_t minor_faults; uint32_t major_faults; "
            "uint32_t unseen_runs; uint64_t unseen_wait_ns;");
  add_event(text, kCtfRunning, "running", "uint32_t pid; uint64_t duration_ns;");
  for (const account::LossKind kind :
       {account::LossKind::interrupted, account::LossKind::preempted, account::LossKind::queued})
    add_event(text, ctf_loss(kind), to_string(kind),
              fmt::format("uint32_t pid; source_t task; uint64_t waited_ns; {}", kLedgerFields));
  each_kind([&text](Kind kind, const std::string& fields) {
    add_event(text, ctf_whole(kind), to_string(kind), fields + " uint8_t flags; uint64_t duration_ns;");
  });
}

void add_sources(const SourceTable& sources, std::string& text) {
  text += "\ntypealias enum : uint32_t {\n";
  for (SourceId id = 0; id < sources.size(); ++id) {
    const Source& source = sources.at(id);
    fmt::format_to(std::back_inserter(text), "  {} = {},\n",
                   ctf_literal(fmt::format("{}:{}", to_string(source.kind), source.name)), id);
  }
  text += "} := source_t;\n";
}

class Environment {
 public:
  explicit Environment(std::string& text) : text_(text) { text_ += "\nenv {\n"; }
  void add(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "  {} = {};\n", name, ctf_literal(value));
  }
  // Readers take numbers for signed ones.
  void add(std::string_view name, std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return add(name, fmt::format("{}", value));
    fmt::format_to(std::back_inserter(text_), "  {} = {};\n", name, value);
  }
  void end() { text_ += "};\n"; }

 private:
  std::string& text_;
};

// The time of day as it was when the recording began: readers show it, the events' own times stay what they are.
void add_clock(const recording::ClockReading& clock, std::string& text) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const bool known = clock.realtime_ns > clock.monotonic_ns;
  const std::uint64_t offset_ns = known ? clock.realtime_ns - clock.monotonic_ns : 0;
  fmt::format_to(std::back_inserter(text),
                 "\nclock {{\n  name = \"monotonic\";\n  description = \"CLOCK_MONOTONIC\";\n  freq = 1000000000;\n"
                 "  offset_s = {};\n  offset = {};\n  absolute = {};\n}};\n",
                 offset_ns / kSecond, offset_ns % kSecond, known);
}

void add_environment(const recording::Player& player, std::uint64_t moved, std::string& text) {
  const StatusView status = player.status();
  const recording::Description& description = player.playback().description();
  Environment environment(text);
  environment.add("hostname", status.host);
  environment.add("sysname", "Linux");
  environment.add("kernel_release", status.kernel);
  environment.add("tracer_name", "noised");
  environment.add("tracer_version", status.version);
  environment.add("started", description.start);
  environment.add("threshold_ns", status.threshold_ns);
  environment.add("clock_uncertainty_ns", status.clock.uncertainty_ns);
  environment.add("lost_events", status.lost.events);
  environment.add("lost_detours", status.lost.detours);
  environment.add("lost_unpaired", status.lost.unpaired);
  environment.add("lost_missed_runs", status.lost.missed_runs);
  environment.add("incomplete_detours", status.lost.incomplete_detours);
  environment.add("intervals_outside_detours", status.orphan_intervals);
  environment.add("events_with_later_time", moved);
  std::size_t number = 0;
  for (const ReportLoss& loss : status.lost.by) {
    const std::string cpu = loss.cpu ? fmt::format(" on CPU {}", *loss.cpu) : std::string();
    environment.add(fmt::format("lost_{}", number++), fmt::format("{}{}: {}", loss.reason, cpu, loss.count));
  }
  number = 0;
  for (const std::string& what : status.unsupported) environment.add(fmt::format("unsupported_{}", number++), what);
  environment.end();
}

}  // namespace

std::string ctf_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : as_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      literal += fmt::format("\\\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') literal += '\\';
      literal += c;
    }
  }
  return literal + '"';
}

std::string ctf_metadata(const recording::Player& player, std::uint64_t moved) {
  std::string text(kTypes);
  add_environment(player, moved, text);
  add_clock(player.playback().description().base.clock, text);
  text += kStreams;
  add_sources(player.playback().sources(), text);
  player.playback().watches_tasks() ? add_events_of_tasks(text) : add_events_of_loops(text);
  return text;
}

}  // namespace noised::exports
