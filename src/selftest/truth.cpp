// SPDX-License-Identifier: Apache-2.0
// The truth as JSON, and what stands in its place.
#include "selftest/truth.h"

#include <array>
#include <cerrno>

#include "base/quote.h"
#include "views/json_fields.h"

namespace noised::selftest {
namespace {

using views::Fields;
using views::Json;

constexpr std::string_view kSchema = "noised.noise/1";
constexpr std::array<std::string_view, 3> kShapes = {"events", "activations", "absence"};

Json identities_json(const std::vector<Identity>& identities) {
  Json json = Json::array();
  for (const Identity& each : identities) json.push_back({{"kind", each.kind}, {"name", each.name}});
  return json;
}

Json occurrence_json(const Occurrence& each) {
  return Json{
      {"start_ns", each.start_ns},  {"end_ns", each.end_ns}, {"cpu_ns", each.cpu_ns}, {"charged_ns", each.charged_ns},
      {"count", each.count},        {"source", each.source}, {"pid", each.pid},       {"slept", each.slept},
      {"preempted", each.preempted}};
}

void read_identities(const Fields& fields, const char* key, std::vector<Identity>& out) {
  fields.each(key, [&](const Fields& item) {
    Identity& identity = out.emplace_back();
    item.read("kind", identity.kind);
    item.read("name", identity.name);
  });
}

void read_occurrence(const Fields& fields, Occurrence& occurrence) {
  fields.read("start_ns", occurrence.start_ns);
  fields.read("end_ns", occurrence.end_ns);
  fields.read("cpu_ns", occurrence.cpu_ns);
  fields.read("charged_ns", occurrence.charged_ns);
  fields.read("count", occurrence.count);
  fields.read("source", occurrence.source);
  fields.read("pid", occurrence.pid);
  fields.read("slept", occurrence.slept);
  fields.read("preempted", occurrence.preempted);
}

void read_shape(const Fields& fields, Shape& shape) {
  std::string name;
  fields.read("shape", name);
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    if (name == kShapes[i]) {
      shape = static_cast<Shape>(i);
      return;
    }
  }
  fields.fail("shape", "not a shape");
}

void read_truth(const Fields& fields, Truth& truth) {
  views::expect_schema(fields, kSchema);
  fields.read("mode", truth.mode);
  fields.read("cpu", truth.cpu);
  fields.read("how", truth.how);
  fields.read_nullable("unsupported", truth.unsupported);
  read_shape(fields, truth.shape);
  fields.read("first_ns", truth.first_ns);
  fields.read("last_ns", truth.last_ns);
  read_identities(fields, "sources", truth.sources);
  read_identities(fields, "fallback", truth.fallback);
  fields.read("shared", truth.shared);
  fields.read("inside", truth.inside);
  fields.read("waker", truth.waker);
  if (const Json* kernel = fields.optional("kernel"); kernel != nullptr && !kernel->is_null()) {
    fields.object("kernel", [&](const Fields& inner) {
      inner.read("counter", truth.kernel.emplace().counter);
      inner.read("count", truth.kernel->count);
    });
  }
  fields.each("occurrences", [&](const Fields& item) { read_occurrence(item, truth.occurrences.emplace_back()); });
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

std::string to_json(const Truth& truth) {
  Json json{{"schema", kSchema}, {"mode", truth.mode}, {"cpu", truth.cpu}, {"how", truth.how}};
  json["unsupported"] = truth.unsupported.empty() ? Json() : Json(truth.unsupported);
  json["shape"] = kShapes[static_cast<std::size_t>(truth.shape)];
  json["first_ns"] = truth.first_ns;
  json["last_ns"] = truth.last_ns;
  json["sources"] = identities_json(truth.sources);
  json["fallback"] = identities_json(truth.fallback);
  json["shared"] = truth.shared;
  json["inside"] = truth.inside;
  json["waker"] = truth.waker;
  json["kernel"] = Json();
  if (truth.kernel) json["kernel"] = {{"counter", truth.kernel->counter}, {"count", truth.kernel->count}};
  json["injected"] = truth.injected();
  json["occurrences"] = Json::array();
  for (const Occurrence& each : truth.occurrences) json["occurrences"].push_back(occurrence_json(each));
  return views::dump(json);
}

Result<Truth> parse_truth(std::string_view json) { return views::parse_as<Truth>(json, "noise", read_truth); }

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
