// The sections of the page (page.h), each from what it shows; HTML, empty where there is nothing to
// show.
#pragma once

#include <string>
#include <vector>

#include "report/page.h"

namespace fuseflow {

std::string setting_section(const PageInput& input);  ///< what ran, on what
std::string runs_section(const PageInput& input);
std::string inputs_section(const PageInput& input);
std::string regions_section(const PageInput& input);
std::string layers_section(const PageInput& input);
std::string roofline_section(const PageInput& input);
std::string verdict_section(const PageInput& input);  ///< what limits each region
std::string nodes_section(const PageInput& input);
std::string streams_section(const PageInput& input);
std::string graph_section(const PageInput& input);
std::string search_section(const PageInput& input);

/// What limits the longest regions and how far they are from their roofs, a text each; none without
/// the program's graphs and the nodes.
std::vector<std::string> verdict_texts(const PageInput& input);

}  // namespace fuseflow
