// SPDX-License-Identifier: Apache-2.0
// Quoting. The RFC's TEXTDATA is what printable() leaves, so no field has a line end of its own.
#include "views/csv.h"

#include "views/format.h"

namespace noised::views {
namespace {

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string text = "\"";
  for (const char byte : field) {
    if (byte == '"') text += '"';
    text += byte;
  }
  return text + '"';
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += ',';
    line += quoted(printable(fields[i]));
  }
  return line + "\r\n";
}

}  // namespace noised::views
