// SPDX-License-Identifier: Apache-2.0
// Reading JSON without exceptions: the first missing or mistyped field is remembered by its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <noised/result.h>

namespace noised::views {

/// JSON whose objects keep the order in which keys were added: the contract's order.
using Json = nlohmann::ordered_json;

/// The value on one line; bytes that are not UTF-8 (a task may call itself anything) become U+FFFD.
std::string dump(const Json& value);

/// The fields of one JSON object, read one by one. After the first problem the outputs are left alone.
class Fields {
 public:
  /// Fields of `object`, which is at `path` of the document; `problem` must outlive this.
  Fields(const Json& object, std::string path, std::string& problem);

  void read(const char* key, std::uint64_t& out) const;
  void read(const char* key, unsigned& out) const;
  void read(const char* key, double& out) const;
  void read(const char* key, bool& out) const;
  void read(const char* key, std::string& out) const;
  void read(const char* key, std::vector<std::string>& out) const;
  /// Null is absent.
  void read(const char* key, std::optional<double>& out) const;
  void read(const char* key, std::optional<std::uint64_t>& out) const;
  /// Null is the empty text.
  void read_nullable(const char* key, std::string& out) const;

  /// The field if it is an array, or null with the problem noted.
  [[nodiscard]] const Json* array(const char* key) const;
  /// The field if it is there at all.
  [[nodiscard]] const Json* optional(const char* key) const;
  /// Notes what is wrong with a field, unless an earlier problem is known.
  void fail(const std::string& key, std::string_view what) const;

  /// Visits the fields of an object inside this one.
  template <typename Visit>
  void object(const char* key, Visit visit) const {
    if (const Json* found = find(key)) visit(Fields(*found, path_of(key), *problem_));
  }

  /// Visits the fields of each object of an array, in order.
  template <typename Visit>
  void each(const char* key, Visit visit) const {
    const Json* items = array(key);
    if (items == nullptr) return;
    for (std::size_t i = 0; i < items->size(); ++i)
      visit(Fields((*items)[i], path_of(key) + "[" + std::to_string(i) + "]", *problem_));
  }

 private:
  [[nodiscard]] const Json* find(const char* key) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;

  const Json* object_;
  std::string path_;
  std::string* problem_;
};

/// Adds what `members` names to an object: members(value, field) calls field("name", value.name) for each, in order.
template <typename Members, typename T>
void add_members(const Members& members, const T& value, Json& json) {
  members(value, [&json](const char* key, const auto& member) { json[key] = member; });
}

/// The same as an object of its own.
template <typename Members, typename T>
Json members_json(const Members& members, const T& value) {
  Json json = Json::object();
  add_members(members, value, json);
  return json;
}

/// Reads what add_members wrote.
template <typename Members, typename T>
void read_members(const Fields& fields, const Members& members, T& value) {
  members(value, [&fields](const char* key, auto& member) { fields.read(key, member); });
}

/// Parses `text` as the object called `name` and lets `read_fields(const Fields&, T&)` fill a T.
template <typename T, typename ReadFields>
Result<T> parse_as(std::string_view text, const std::string& name, ReadFields read_fields) {
  const Json document = Json::parse(text, nullptr, false);
  const std::string remedy = "are noised and noisectl of the same version?";
  if (document.is_discarded()) return failure(name + ": not JSON", remedy);
  std::string problem;
  T value;
  read_fields(Fields(document, name, problem), value);
  if (!problem.empty()) return failure(std::move(problem), remedy);
  return value;
}

/// Checks that "schema" is the one this program knows.
void expect_schema(const Fields& fields, std::string_view schema);

}  // namespace noised::views
