// Pieces of HTML: escaped texts, tables, sections, and the page around them. One self-contained
// file: the style is inline, there are no scripts and nothing is loaded.
#pragma once

#include <string>
#include <vector>

namespace fuseflow {

/// Escaped for content and for attributes in double quotes; control characters become blanks, bytes
/// that are no UTF-8 `?`.
std::string html_text(const std::string& text);

/// The first `left` columns are texts, the others numbers. Cells are escaped here.
std::string html_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows, size_t left = 1);

/// `body` is HTML. Empty bodies give no section.
std::string html_section(const std::string& title, const std::string& explanation,
                         const std::string& body);

std::string html_page(const std::string& title, const std::string& body);

}  // namespace fuseflow
