// SPDX-License-Identifier: Apache-2.0
// Typed access to the fields of a JSON object, with the path of the first that does not fit.
#include "views/json_fields.h"

#include <limits>

#include "views/format.h"

namespace noised::views {

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Fields::Fields(const Json& object, std::string path, std::string& problem)
    : object_(&object), path_(std::move(path)), problem_(&problem) {
  if (!object.is_object() && problem_->empty()) *problem_ = path_ + ": not an object";
}

std::string Fields::path_of(std::string_view key) const { return path_ + "." + std::string(key); }

void Fields::fail(const std::string& key, std::string_view what) const {
  if (problem_->empty()) *problem_ = printable(path_of(key) + ": " + std::string(what));
}

const Json* Fields::optional(const char* key) const {
  if (!problem_->empty()) return nullptr;
  const auto found = object_->find(key);
  return found == object_->end() ? nullptr : &*found;
}

const Json* Fields::find(const char* key) const {
  const Json* found = optional(key);
  if (found == nullptr) fail(key, "missing");
  return found;
}

void Fields::read(const char* key, std::uint64_t& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_number_unsigned()) return fail(key, "not an unsigned integer");
  out = found->get<std::uint64_t>();
}

void Fields::read(const char* key, unsigned& out) const {
  std::uint64_t wide = out;
  read(key, wide);
  if (wide > std::numeric_limits<unsigned>::max()) return fail(key, "out of range");
  out = static_cast<unsigned>(wide);
}

void Fields::read(const char* key, double& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_number()) return fail(key, "not a number");
  out = found->get<double>();
}

void Fields::read(const char* key, std::optional<double>& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  out.reset();
  if (found->is_null()) return;
  double value = 0;
  read(key, value);
  out = value;
}

void Fields::read(const char* key, std::optional<std::uint64_t>& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  out.reset();
  if (found->is_null()) return;
  std::uint64_t value = 0;
  read(key, value);
  out = value;
}

void Fields::read(const char* key, bool& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_boolean()) return fail(key, "not true or false");
  out = found->get<bool>();
}

void Fields::read(const char* key, std::string& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (!found->is_string()) return fail(key, "not a string");
  out = found->get<std::string>();
}

void Fields::read_nullable(const char* key, std::string& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (found->is_null()) {
    out.clear();
    return;
  }
  read(key, out);
}

void Fields::read(const char* key, std::vector<std::string>& out) const {
  const Json* items = array(key);
  if (items == nullptr) return;
  out.clear();
  for (const Json& item : *items) {
    if (!item.is_string()) return fail(key, "not an array of strings");
    out.push_back(item.get<std::string>());
  }
}

const Json* Fields::array(const char* key) const {
  const Json* found = find(key);
  if (found == nullptr) return nullptr;
  if (found->is_array()) return found;
  fail(key, "not an array");
  return nullptr;
}

void expect_schema(const Fields& fields, std::string_view schema) {
  std::string found;
  fields.read("schema", found);
  if (found != schema) fields.fail("schema", "'" + found + "' is not '" + std::string(schema) + "'");
}

}  // namespace noised::views
