// SPDX-License-Identifier: Apache-2.0
#include "export/ctf/ctf_stream.h"

#include <algorithm>
#include <cstdint>

namespace noised::exports {

void put(std::string& to, const account::DetourLedger& ledger) {
  put(to, ledger.detour.end_ns - ledger.detour.start_ns);
  put(to, ledger.explained_ns);
  put(to, ledger.overhead_ns);
  put(to, ledger.hypervisor_ns);
  put(to, ledger.hardware_ns);
  put(to, ledger.unexplained_ns);
  put(to, static_cast<std::uint8_t>(ledger.detour.in_doubt ? 1 : 0));
  put(to, static_cast<std::uint32_t>(ledger.entries.size()));
  for (const account::LedgerEntry& entry : ledger.entries) {
    put(to, entry.source);
    put(to, entry.depth);
    put(to, entry.self_ns);
  }
}

namespace {

// A packet has room for any event, however many entries a detour has: it ends once it is this large.
constexpr std::size_t kPacketBytes = std::size_t{64} << 10U;
constexpr std::uint32_t kMagic = 0xc1fc1fc1;
constexpr std::size_t kHeadBytes = 2 * sizeof(std::uint32_t) + 6 * sizeof(std::uint64_t) + sizeof(std::uint32_t);

}  // namespace

void CtfStream::event(std::uint16_t id, std::uint64_t time_ns, std::string_view fields) {
  if (time_ns < last_ns_) ++moved_;
  last_ns_ = std::max(last_ns_, time_ns);
  if (events_.empty()) first_ns_ = last_ns_;
  put(events_, id);
  put(events_, last_ns_);
  events_ += fields;
  if (events_.size() >= kPacketBytes) packet();
}

void CtfStream::write_packet(std::uint64_t first_ns, std::uint64_t last_ns, std::string_view events,
                             std::uint64_t lost) {
  const std::uint64_t bits = 8 * (kHeadBytes + events.size());
  std::string head;
  put(head, kMagic);
  put(head, std::uint32_t{0});  // class of streams: there is one
  put(head, first_ns);
  put(head, last_ns);
  put(head, bits);  // of the content, and of the packet
  put(head, bits);
  put(head, sequence_++);
  put(head, lost);
  put(head, std::uint32_t{cpu_});
  file_.write(head);
  file_.write(events);
}

// Readers take losses from one packet to the next: for them to know how many came before the first, there is an empty
// one before it.
void CtfStream::packet() {
  if (events_.empty()) first_ns_ = last_ns_;
  if (sequence_ == 0 && lost_ > 0) write_packet(first_ns_, first_ns_, {}, 0);
  write_packet(first_ns_, last_ns_, events_, lost_);
  lost_told_ = lost_;
  events_.clear();
}

Status CtfStream::finish() {
  // Of a CPU without events the stream is empty: a packet would have to say when.
  if (!events_.empty() || (sequence_ > 0 && lost_told_ != lost_)) packet();
  return file_.finish();
}

}  // namespace noised::exports
