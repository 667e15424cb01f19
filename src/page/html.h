// SPDX-License-Identifier: Apache-2.0
// The pages without their data: what stands for it are comments such as <!--data-->. Made at build time (embed.cmake).
#pragma once

#include <cassert>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/types.h"
#include "model/views.h"

namespace noised::page {

// Texts and figures as they stand in HTML. What comes from a recording may be anything.

/// The text with nothing in it that HTML gives a meaning, in content or in a quoted attribute. Control characters,
/// which HTML does not allow, and bytes that are no UTF-8 become \xNN.
std::string escape_html(std::string_view text);

/// JSON that can neither end the script element it stands in nor begin a comment there.
std::string escape_script(std::string_view json);

/// "12.4 µs", as HTML, with the exact nanoseconds as its title.
std::string duration_html(std::uint64_t ns);

/// The same, with a sign if it is negative: a cost may be.
std::string signed_duration_html(double ns);

/// A name as it is in the kernel, or something to type, out of anything.
std::string code_html(std::string_view text);

/// An exact count, in groups of three digits.
std::string grouped(std::uint64_t number);

// What stands in the cells of several tables, as HTML.

/// "63.1%"; of nothing, "0%".
std::string share_html(std::uint64_t part, std::uint64_t whole);
/// The category with its colour.
std::string category_html(Category category);
/// The same of its name, which may be anything.
std::string category_html(std::string_view name);
/// Sources that came together.
std::string sources_html(const std::vector<std::string>& sources);
/// The entries of a detour with their self times; `untimed`: "kind:name" of those that were only counted.
std::string entries_html(const DetourView& detour, const std::set<std::string>& untimed);

// An HTML table, row by row.

class TableWriter {
 public:
  /// Headers that begin with '>' are of columns of figures. Caption and headers are plain text.
  TableWriter(std::string_view caption, const std::vector<std::string>& headers);

  /// One cell for each header, as HTML: what is not ours is to be escaped (escape_html).
  void row(const std::vector<std::string>& cells);
  /// A last row, which sums the others.
  void sum(const std::vector<std::string>& cells);
  /// The table, and below it a remark (plain text), if there is any.
  std::string finish(std::string_view remark = {});

 private:
  void write(const std::vector<std::string>& cells, const char* before, const char* after);

  std::vector<bool> figures_;
  std::string html_;
};

// A page out of a template: its comments name what takes their place.

/// The template with part(name) for each <!--name-->, in one pass: what is put in is never looked at again.
template <typename Part>
std::string fill_template(std::string_view rest, Part&& part) {
  constexpr std::string_view kOpen = "<!--";
  constexpr std::string_view kClose = "-->";
  std::string page;
  for (std::size_t at = rest.find(kOpen); at != std::string_view::npos; at = rest.find(kOpen)) {
    page += rest.substr(0, at);
    rest.remove_prefix(at + kOpen.size());
    const std::size_t end = rest.find(kClose);
    assert(end != std::string_view::npos);
    page += part(rest.substr(0, end));
    rest.remove_prefix(end + kClose.size());
  }
  return page += rest;
}

extern const char* const kTemplate;       ///< page.html
extern const char* const kTasksTemplate;  ///< tasks.html

}  // namespace noised::page
