// The sections of the page (page.h), each from what it shows; without a body where there is nothing
// to show.
#pragma once

#include <string>
#include <vector>

#include "report/html.h"
#include "report/page.h"
#include "report/short_names.h"

namespace fuseflow {

/// What sections are made of.
struct PageView {
  const PageInput& input;
  ShortNames names;  ///< of regions, statements and tensors

  explicit PageView(const PageInput& page_input);
  /// A name that is shown short, with the whole one where the pointer rests.
  HtmlCell cell(const std::string& name) const { return {names.of(name), name}; }
};

HtmlSection setting_section(const PageView& view);  ///< what ran, on what
HtmlSection runs_section(const PageView& view);
HtmlSection inputs_section(const PageView& view);
HtmlSection regions_section(const PageView& view);
HtmlSection layers_section(const PageView& view);
HtmlSection roofline_section(const PageView& view);
HtmlSection verdict_section(const PageView& view);  ///< what limits each region
HtmlSection nodes_section(const PageView& view);
HtmlSection streams_section(const PageView& view);
HtmlSection graph_section(const PageView& view);
HtmlSection search_section(const PageView& view);

/// What limits the longest regions and how far they are from their roofs, a text each; none without
/// the program's graphs and the nodes.
std::vector<std::string> verdict_texts(const PageInput& input);

}  // namespace fuseflow
