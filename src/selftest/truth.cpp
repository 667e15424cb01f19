// SPDX-License-Identifier: Apache-2.0
// The truth as JSON, and what stands in its place.
#include "selftest/truth.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "model/json_fields.h"

namespace noised::selftest {
namespace {

constexpr std::array<std::string_view, 3> kShapes = {"events", "activations", "absence"};

constexpr auto kIdentityFields = [](auto& identity, const auto& field) {
  field("kind", identity.kind);
  field("name", identity.name);
};

constexpr auto kKernelCountFields = [](auto& kernel, const auto& field) {
  field("counter", kernel.counter);
  field("count", kernel.count);
};

constexpr auto kOccurrenceFields = [](auto& occurrence, const auto& field) {
  field("start_ns", occurrence.start_ns);
  field("end_ns", occurrence.end_ns);
  field("cpu_ns", occurrence.cpu_ns);
  field("charged_ns", occurrence.charged_ns);
  field("count", occurrence.count);
  field("source", occurrence.source);
  field("pid", occurrence.pid);
  field("slept", occurrence.slept);
  field("preempted", occurrence.preempted);
};

std::string_view shape_name(Shape shape) { return kShapes[static_cast<std::size_t>(shape)]; }

void read_shape(const Fields& fields, Shape& shape) {
  std::string name;
  fields("shape", name);
  const auto found = std::find(kShapes.begin(), kShapes.end(), name);
  if (found == kShapes.end()) return fields.fail("shape", "not a shape");
  shape = static_cast<Shape>(found - kShapes.begin());
}

constexpr auto kTruthFields = [](auto& truth, const auto& field) {
  field.schema("noised.noise/1");
  field("mode", truth.mode);
  field("cpu", truth.cpu);
  field("how", truth.how);
  field.nullable("unsupported", truth.unsupported);
  field.custom("shape", truth.shape, shape_name, read_shape);
  field("first_ns", truth.first_ns);
  field("last_ns", truth.last_ns);
  field("sources", truth.sources, kIdentityFields);
  field("fallback", truth.fallback, kIdentityFields);
  field("shared", truth.shared);
  field("inside", truth.inside);
  if (field.has("victim", truth.victim)) field("victim", truth.victim);  // older captures have none
  field("waker", truth.waker);
  field.later("kernel", truth.kernel, kKernelCountFields);
  field.later("fallback_kernel", truth.fallback_kernel, kKernelCountFields);
  field.derived("injected", truth.injected());
  field("occurrences", truth.occurrences, kOccurrenceFields);
};

void read_truth(Truth& truth, const Fields& fields) {
  kTruthFields(truth, fields);
  for (const Occurrence& each : truth.occurrences) {
    if (each.source >= truth.sources.size()) fields.fail("occurrences", "one points at no source");
  }
}

}  // namespace

std::uint64_t Truth::injected() const {
  std::uint64_t sum = 0;
  for (const Occurrence& each : occurrences) sum += each.count;
  return sum;
}

std::string to_json(const Truth& truth) { return dump(fields_json(truth, kTruthFields)); }

Result<Truth> parse_truth(std::string_view json) { return parse_as<Truth>(json, "noise", read_truth); }

Truth unsupported(std::string reason) {
  Truth truth;
  truth.unsupported = std::move(reason);
  return truth;
}

Result<Truth> refused(const std::string& what, int error) {
  const std::string reason = what + ": " + errno_text(error);
  switch (error) {
    case EPERM:
    case EACCES:
    case ENOENT:
    case ENOSYS:
    case EOPNOTSUPP:
      return unsupported(reason);
    default:
      return failure(reason);
  }
}

}  // namespace noised::selftest
