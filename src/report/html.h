// Pieces of HTML: escaped texts, tables, sections, and the page around them. One self-contained
// file: the style is inline, there are no scripts and nothing is loaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fuseflow {

/// Escaped for content and for attributes in double quotes; control characters become blanks, bytes
/// that are no UTF-8 `?`.
std::string html_text(const std::string& text);

/// The same of a sentence; what stands between backticks is set as code.
std::string html_prose(const std::string& text);

/// A text, and what is shown where the pointer rests on it (empty: nothing).
struct HtmlCell {
  HtmlCell(std::string shown = {}, std::string whole = {})
      : text(std::move(shown)), hint(std::move(whole)) {}
  HtmlCell(const char* shown) : text(shown) {}
  std::string text;
  std::string hint;
};

/// The first `left` columns are texts, the others numbers. Cells are escaped here. Columns whose
/// cells are all empty are left out; so is a header without any text.
std::string html_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<HtmlCell>>& rows, size_t left = 1);

/// A part of the page that folds.
struct HtmlSection {
  std::string id;  ///< the page's contents lead there
  std::string title;
  std::string gist;  ///< a few words beside the title, also where it is folded
  std::string explanation;
  std::string body;   ///< HTML; empty: there is no section
  bool open = false;  ///< else it is folded at first
};

/// The sections that there are, below a list of them.
std::string html_page(const std::string& title, const std::vector<HtmlSection>& sections);

}  // namespace fuseflow
