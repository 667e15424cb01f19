// SPDX-License-Identifier: Apache-2.0
// Typed access to the fields of a JSON object, with the path of the first that does not fit.
#include "model/json_fields.h"

#include <limits>
#include <utility>

#include "base/text.h"

namespace noised {

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

const Json* Fields::array(const char* key) const {
  const Json* found = find(key);
  if (found == nullptr || found->is_array()) return found;
  fail(key, "not an array");
  return nullptr;
}

void Fields::schema(std::string_view schema) const {
  std::string found;
  (*this)("schema", found);
  if (found != schema) fail("schema", "'" + found + "' is not '" + std::string(schema) + "'");
}

void Fields::nullable(const char* key, std::string& out) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  if (found->is_null()) return out.clear();
  read(key, *found, out);
}

void Fields::read(const std::string& key, const Json& found, std::uint64_t& out) const {
  if (!found.is_number_unsigned()) return fail(key, "not an unsigned integer");
  out = found.get<std::uint64_t>();
}

void Fields::read(const std::string& key, const Json& found, unsigned& out) const {
  std::uint64_t wide = out;
  read(key, found, wide);
  if (wide > std::numeric_limits<unsigned>::max()) return fail(key, "out of range");
  out = static_cast<unsigned>(wide);
}

void Fields::read(const std::string& key, const Json& found, std::int64_t& out) const {
  if (!found.is_number_integer()) return fail(key, "not an integer");
  if (found.is_number_unsigned() && !std::in_range<std::int64_t>(found.get<std::uint64_t>()))
    return fail(key, "out of range");
  out = found.get<std::int64_t>();
}

void Fields::read(const std::string& key, const Json& found, double& out) const {
  if (!found.is_number()) return fail(key, "not a number");
  out = found.get<double>();
}

void Fields::read(const std::string& key, const Json& found, bool& out) const {
  if (!found.is_boolean()) return fail(key, "not true or false");
  out = found.get<bool>();
}

void Fields::read(const std::string& key, const Json& found, std::string& out) const {
  if (!found.is_string()) return fail(key, "not a string");
  out = found.get<std::string>();
}

void Fields::read(const std::string& key, const Json& found, std::vector<std::string>& out) const {
  if (!found.is_array()) return fail(key, "not an array");
  out.clear();
  for (const Json& item : found) {
    if (!item.is_string()) return fail(key, "not an array of strings");
    out.push_back(item.get<std::string>());
  }
}

}  // namespace noised
