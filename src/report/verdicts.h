// What the last run's tables say of a region, as verdicts are made from (verdict/).
#pragma once

#include <string>

#include "report/page.h"
#include "verdict/figures.h"

namespace fuseflow {

/// Figures of the nodes and streams of a region with this graph; nodes without a row are not known.
RegionFigures region_figures(const PageInput& input, const std::string& region, const Graph& graph);

}  // namespace fuseflow
