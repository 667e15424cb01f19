// SPDX-License-Identifier: Apache-2.0
// Each result's fields are listed once, for writing and for reading. Reading throws nothing: the first missing or
// mistyped field is remembered by its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace noised {

/// JSON whose objects keep the order in which keys were added: the contract's order.
using Json = nlohmann::ordered_json;

/// The value on one line; bytes that are not UTF-8 (a task may call itself anything) become U+FFFD.
std::string dump(const Json& value);

/// Writes the fields that a list names into an object. A list is `list(value, field)`: it calls field("name",
/// value.name) for each, in the contract's order, and is the only place that names them: Fields reads by the same list.
class FieldWriter {
 public:
  /// Adds to `json`, which must outlive this.
  explicit FieldWriter(Json& json) : json_(&json) {}

  /// A number, a truth value, a text, texts; an optional one is null where it is nothing.
  template <typename T>
  void operator()(const char* key, const T& value) const {
    (*json_)[key] = value;
  }
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) const {
    (*json_)[key] = value ? Json(*value) : Json();
  }
  /// An object whose keys are names: "preemption": 98000000, and so on.
  template <typename T>
  void operator()(const char* key, const std::vector<std::pair<std::string, T>>& values) const {
    Json& json = (*json_)[key] = Json::object();
    for (const auto& [name, value] : values) json[name] = value;
  }
  /// An object with a list of its own, an optional one (or null), or an array of them.
  template <typename T, typename List>
  void operator()(const char* key, const T& value, const List& list) const;

  /// The name of the document's contract.
  void schema(std::string_view schema) const { (*json_)["schema"] = schema; }
  /// A field that old documents lack.
  template <typename T, typename... List>
  void later(const char* key, const T& value, const List&... list) const {
    (*this)(key, value, list...);
  }
  /// A text that is null where it is empty.
  void nullable(const char* key, const std::string& value) const {
    (*json_)[key] = value.empty() ? Json() : Json(value);
  }
  /// A field that is written only: it follows from others.
  template <typename T>
  void derived(const char* key, const T& value) const {
    (*json_)[key] = value;
  }
  /// A field of another form: what write(value) is, and read(fields, value) reads.
  template <typename T, typename Write, typename Read>
  void custom(const char* key, const T& value, const Write& write, const Read& /*read*/) const {
    (*json_)[key] = write(value);
  }
  /// Whether to write a field that is left out where its value is nothing, empty or 0, and those that come with it.
  template <typename T>
  [[nodiscard]] bool has(const char* /*key*/, const T& value) const {
    if constexpr (requires { value.has_value(); }) {
      return value.has_value();
    } else if constexpr (requires { value.empty(); }) {
      return !value.empty();
    } else {
      return value != 0;
    }
  }

 private:
  Json* json_;
};

/// An object of the fields that `list` names.
template <typename T, typename List>
Json fields_json(const T& value, const List& list) {
  Json json = Json::object();
  list(value, FieldWriter(json));
  return json;
}
/// An array of such objects.
template <typename T, typename List>
Json fields_json(const std::vector<T>& values, const List& list) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(fields_json(value, list));
  return json;
}
/// Such an object, or null.
template <typename T, typename List>
Json fields_json(const std::optional<T>& value, const List& list) {
  return value ? fields_json(*value, list) : Json();
}

template <typename T, typename List>
void FieldWriter::operator()(const char* key, const T& value, const List& list) const {
  (*json_)[key] = fields_json(value, list);
}

/// The fields of one JSON object, read one by one, or by the list that wrote them: its calls mean what FieldWriter
/// says. After the first problem the outputs are left alone.
class Fields {
 public:
  /// Fields of `object`, which is at `path` of the document; `problem` must outlive this.
  Fields(const Json& object, std::string path, std::string& problem);

  template <typename T>
  void operator()(const char* key, T& out) const {
    if (const Json* found = find(key)) read(key, *found, out);
  }
  template <typename T, typename List>
  void operator()(const char* key, T& out, const List& list) const {
    if (const Json* found = find(key)) list(out, Fields(*found, path_of(key), *problem_));
  }
  template <typename T, typename List>
  void operator()(const char* key, std::optional<T>& out, const List& list) const {
    const Json* found = find(key);
    if (found == nullptr) return;
    out.reset();
    if (!found->is_null()) list(out.emplace(), Fields(*found, path_of(key), *problem_));
  }
  template <typename T, typename List>
  void operator()(const char* key, std::vector<T>& out, const List& list) const {
    const Json* items = array(key);
    if (items == nullptr) return;
    for (std::size_t i = 0; i < items->size() && problem_->empty(); ++i)
      list(out.emplace_back(), Fields((*items)[i], path_of(key) + "[" + std::to_string(i) + "]", *problem_));
  }

  void schema(std::string_view schema) const;
  template <typename T, typename... List>
  void later(const char* key, T& out, const List&... list) const {
    if (optional(key) != nullptr) (*this)(key, out, list...);
  }
  void nullable(const char* key, std::string& out) const;
  template <typename T>
  void derived(const char* /*key*/, const T& /*value*/) const {}
  template <typename T, typename Write, typename Read>
  void custom(const char* /*key*/, T& out, const Write& /*write*/, const Read& read) const {
    read(*this, out);
  }
  /// Whether the field is there; an optional output has a value then.
  template <typename T>
  [[nodiscard]] bool has(const char* key, T& out) const {
    if (optional(key) == nullptr) return false;
    if constexpr (requires { out.has_value(); }) out.emplace();
    return true;
  }

  /// The field if it is an array, or null with the problem noted.
  [[nodiscard]] const Json* array(const char* key) const;
  /// Notes what is wrong with a field, unless an earlier problem is known.
  void fail(const std::string& key, std::string_view what) const;

 private:
  void read(const std::string& key, const Json& found, std::uint64_t& out) const;
  void read(const std::string& key, const Json& found, unsigned& out) const;
  void read(const std::string& key, const Json& found, std::int64_t& out) const;
  void read(const std::string& key, const Json& found, double& out) const;
  void read(const std::string& key, const Json& found, bool& out) const;
  void read(const std::string& key, const Json& found, std::string& out) const;
  void read(const std::string& key, const Json& found, std::vector<std::string>& out) const;
  template <typename T>
  void read(const std::string& key, const Json& found, std::optional<T>& out) const {
    out.reset();
    if (!found.is_null()) read(key, found, out.emplace());
  }
  template <typename T>
  void read(const std::string& key, const Json& found, std::vector<std::pair<std::string, T>>& out) const {
    if (!found.is_object()) return fail(key, "not an object");
    for (const auto& [name, value] : found.items()) {
      std::string path = key;
      path.append(".").append(name);
      read(path, value, out.emplace_back(name, T()).second);
    }
  }

  /// The field if it is there at all.
  [[nodiscard]] const Json* optional(const char* key) const;
  /// The same, with the problem noted where it is not.
  [[nodiscard]] const Json* find(const char* key) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;

  const Json* object_;
  std::string path_;
  std::string* problem_;
};

/// Parses `text` as the object called `name` and reads a T by its list.
template <typename T, typename List>
Result<T> parse_as(std::string_view text, const std::string& name, const List& list) {
  const Json document = Json::parse(text, nullptr, false);
  const std::string remedy = "are noised and noisectl of the same version?";
  if (document.is_discarded()) return failure(name + ": not JSON", remedy);
  std::string problem;
  T value;
  list(value, Fields(document, name, problem));
  if (!problem.empty()) return failure(std::move(problem), remedy);
  return value;
}

}  // namespace noised
