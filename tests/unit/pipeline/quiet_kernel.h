// SPDX-License-Identifier: Apache-2.0
// A kernel of one CPU from which nothing comes, for tests that have something of their own come from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "system/kernel_events.h"

namespace noised::test {

class QuietKernel : public system::KernelEvents {
 public:
  [[nodiscard]] noised_cpu& state(unsigned /*cpu*/) override { return state_; }
  [[nodiscard]] std::span<volatile std::uint8_t> groups() override { return {}; }
  std::size_t drain(std::size_t /*index*/, std::size_t /*limit*/, const system::RecordSink& /*sink*/) override {
    return 0;
  }
  [[nodiscard]] bool drain_origins(const system::OriginSink& /*sink*/) override { return true; }
  [[nodiscard]] double take_fullness() override { return 0; }
  [[nodiscard]] system::LostCounters lost(unsigned /*cpu*/) const override { return {}; }
  [[nodiscard]] std::uint64_t lost_origins() const override { return 0; }
  [[nodiscard]] bool attached(std::string_view /*tracepoint*/) const override { return true; }
  [[nodiscard]] system::MissedRuns missed_runs() const override { return {}; }
  [[nodiscard]] std::vector<ProgramView> programs() const override { return {}; }

 protected:
  noised_cpu state_{};
};

}  // namespace noised::test
